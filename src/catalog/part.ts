import type { CacheHints, Item, Kind } from '../protocol/model.ts';

/** Something odd in what an upstream offers: shown by the check command and the status page, logged once. */
export interface Finding {
  /** Stable id such as `item.no-name`: what rules and filters name. */
  readonly id: string;
  readonly severity: 'notice' | 'warning' | 'error';
  readonly kind: Kind;
  /** Name, URI or template of the item; `#3` (0-based position) where it has none; '' for the list as a whole. */
  readonly item: string;
  readonly reason: string;
  readonly advice: string;
}

export interface CatalogFinding extends Finding {
  readonly upstream: string;
}

/** One complete list of one upstream: its items in its order, the malformed ones repaired or left out. */
export interface ListPart {
  readonly items: readonly Item[];
  readonly hints: CacheHints;
  /** When the walk ended, in ms since the epoch. */
  readonly readAt: number;
  /** Tools that the configuration calls otherwise: original name to new one. */
  readonly renamed?: ReadonlyMap<string, string>;
  /** As its server has it, where the configuration wants it otherwise: for the day when it wants that no longer. */
  readonly unshaped?: ListPart;
  readonly findings: readonly Finding[];
}

/** What one upstream offers right now. A kind it does not declare, or that was never read, is absent. */
export interface UpstreamPart {
  readonly upstream: string;
  /** Put before its names; '' exposes them bare. */
  readonly namespace: string;
  readonly lists: Readonly<Partial<Record<Kind, ListPart>>>;
  /** The upstream is lost or its last refresh failed: this is what it offered before. */
  readonly stale: boolean;
}

/**
 * Hints of several answers served as one: the least `ttlMs` and the most private scope. A ttl that one of them does not
 * give is unknown for all; an unknown scope outranks `public` (spec: server/utilities/caching).
 */
export function mergeHints(hints: readonly CacheHints[]): CacheHints {
  let ttlMs: number | undefined = hints.length === 0 ? undefined : Number.POSITIVE_INFINITY;
  let scope: CacheHints['scope'] = hints.length === 0 ? undefined : 'public';
  for (const hint of hints) {
    ttlMs = ttlMs === undefined || hint.ttlMs === undefined ? undefined : Math.min(ttlMs, hint.ttlMs);
    if (scope !== 'private' && hint.scope !== 'public') {
      scope = hint.scope;
    }
  }
  return { ttlMs, scope };
}
