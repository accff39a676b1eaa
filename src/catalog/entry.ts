import type { Item, Kind } from '../protocol/model.ts';
import { exposeNames, type NamingRule, type Original, STRICT } from './naming.ts';

/** One item with its names and its route: (upstream, original). */
export interface Entry {
  readonly kind: Kind;
  readonly upstream: string;
  /** Name, URI or URI template as the upstream calls it. */
  readonly original: string;
  /** What clients call it in each style. For resources and templates `dotted` and `strict` are the exposed URI. */
  readonly exposed: { readonly dotted: string; readonly strict: string; readonly bare: string };
  /** As the upstream sent it, repaired where it was malformed; names and URIs in it are the originals. */
  readonly item: Item;
}

export type Entries = Readonly<Record<Kind, readonly Entry[]>>;

/** What one tool would be called that no other one shares a name with. */
export function exposedFor(
  original: Original & { readonly shown: string },
  naming: NamingRule,
): Entry['exposed'] {
  const nameBy = (rule: NamingRule) => exposeNames([original], rule)[0]?.name ?? original.shown;
  return { dotted: nameBy(naming), strict: nameBy(STRICT), bare: original.shown };
}
