import { isForEverybody, type Scoped, type ScopeKey, scopeKey } from '../access/cache-scope.ts';
import { ANONYMOUS } from '../access/principal.ts';
import type { Budget } from '../base/budget.ts';
import type { Scoping } from '../catalog/scoping.ts';
import { KIND_FACTS } from '../protocol/model.ts';
import type { Fleet } from '../upstream/fleet.ts';

/** Whose an answer of an upstream is: by how it is reached now, and by the configuration. */
export function scopedBy(fleet: Pick<Fleet, 'reach' | 'settings'>): (upstream: string) => Scoped {
  return (upstream) => ({ ...fleet.reach(upstream), ...fleet.settings(upstream).cache });
}

/** Whose the lists of the upstreams are. */
export function listScoping(fleet: Pick<Fleet, 'reach' | 'settings'>, budget: Budget<ScopeKey>): Scoping {
  const scoped = scopedBy(fleet);
  return {
    everybody: ANONYMOUS,
    isOwn: (upstream) => fleet.reach(upstream).own,
    isForEverybody: (upstream, hinted) => isForEverybody(scoped(upstream), hinted),
    keyOf: (upstream, kind, owner) => scopeKey({ upstream, method: KIND_FACTS[kind].list }, owner),
    keyOfAll: (owner) => scopeKey({ upstream: '*', method: '*/list' }, owner),
    cacheOf: (upstream) => fleet.settings(upstream).cache,
    budget,
  };
}
