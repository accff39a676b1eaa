import type { Item, Kind } from '../protocol/model.ts';
import { FINDINGS, type FindingId, type Severity } from './finding-table.ts';

/** Something odd in what one server says of itself. */
export interface VettingFinding {
  readonly upstream: string;
  readonly id: FindingId;
  readonly severity: Severity;
  /** `server`: what it says of itself as a whole. */
  readonly kind: Kind | 'server';
  /** Name or URI template, as the server calls it; '' where it is about several or about the whole. */
  readonly item: string;
  /** JSON pointer to the text or keyword within the definition; '' is the definition itself. */
  readonly place: string;
  readonly reason: string;
  readonly advice: string;
}

/** What one server offers: all that the rules look at. Lists hold items that the catalog found fit to be served. */
export interface Offered {
  readonly upstream: string;
  readonly instructions?: string | undefined;
  readonly lists: Readonly<Partial<Record<Kind, readonly Item[]>>>;
}

/** Where a finding is. */
export interface About {
  readonly upstream: string;
  readonly kind: VettingFinding['kind'];
  readonly item: string;
  readonly place?: string;
}

export function finding(id: FindingId, about: About, reason: string): VettingFinding {
  const { severity, advice } = FINDINGS[id];
  return { id, severity, place: '', ...about, reason, advice };
}

/** A text of a server inside a reason: one line, nothing invisible left invisible, bounded. */
export function quoted(text: string, most = 80): string {
  const visible = text
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(
      /[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu,
      (sign) => `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
    );
  return visible.length <= most ? `"${visible}"` : `"${visible.slice(0, most - 1)}…"`;
}

/** `a, b, c and 4 more`. */
export function several(names: readonly string[], most = 5): string {
  const more = names.length - most;
  return more <= 0 ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${more} more`;
}
