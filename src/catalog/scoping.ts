import type { ScopeKey } from '../access/cache-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Budget } from '../base/budget.ts';
import type { CacheHints, Kind } from '../protocol/model.ts';

/** On whose behalf lists are read. What else a connection needs to know of it is the business of whoever reads. */
export interface Caller {
  readonly principal: Principal;
}

/** A list that is read for each principal by itself. */
export interface Duty {
  readonly upstream: string;
  readonly kind: Kind;
}

/** What decides whose a list is, and how long it is kept. */
export interface Scoping {
  /** The principal that is served what the gateway reads by itself: in mode none, everybody. */
  readonly everybody: Principal;
  /** Whether each user is known to this upstream, so that each is answered by itself. */
  readonly isOwn: (upstream: string) => boolean;
  readonly isForEverybody: (upstream: string, hinted: CacheHints['scope']) => boolean;
  readonly keyOf: (upstream: string, kind: Kind, owner: Principal | undefined) => ScopeKey;
  /** Of all lists of one principal together. */
  readonly keyOfAll: (owner: Principal) => ScopeKey;
  /** How long a list without hints is believed, and one that cannot be read again is served, in ms. */
  readonly cacheOf: (upstream: string) => { readonly ttl: number; readonly staleFor: number };
  readonly budget: Budget<ScopeKey>;
}
