import type { ScopeKey } from './access/cache-scope.ts';
import { Budget } from './base/budget.ts';
import type { Log } from './base/log.ts';
import { changesSeen } from './catalog/changes-seen.ts';
import type { Swap } from './catalog/snapshot.ts';
import { Store } from './catalog/store.ts';
import { Hub } from './changes/hub.ts';
import { TaskUpdates, Updates } from './changes/updates.ts';
import type { Settings } from './config/settings.ts';
import type { FrontOptions } from './front/front.ts';
import { notifies } from './protocol/capabilities.ts';
import type { Change, Implementation, Kind } from './protocol/model.ts';
import { type Caller, sightOf } from './relay/context.ts';
import { readList } from './relay/read-list.ts';
import { ReplyCache } from './relay/reply-cache.ts';
import { partyOf } from './relay/reverse.ts';
import { listScoping, scopedBy } from './relay/scoping.ts';
import { Fleet } from './upstream/fleet.ts';

/** What a change of an upstream passes through, and what is kept until one. */
export interface ChangeFlow extends Pick<FrontOptions, 'hub' | 'visibleChanges'> {
  readonly fleet: Fleet;
  readonly store: Store<Caller>;
  readonly updates: Updates;
  readonly taskUpdates: TaskUpdates;
  readonly replies: ReplyCache;
}

/** Change: upstream notice -> fleet -> store -> swap -> hub -> each listener that sees a difference. */
export function changeFlow(settings: Settings, clientInfo: Implementation, log: Log): ChangeFlow {
  const fleet = new Fleet({
    upstreams: settings.upstreams,
    clientInfo,
    log,
    events: {
      connected: (id, owner) => {
        replies.forget(id, owner);
        void store.missed(id, owner);
      },
      lost: (id, owner) => {
        replies.forget(id, owner);
        if (owner === undefined) {
          store.markStale(id, fleet.settings(id).cache.staleFor);
        } else {
          void store.missed(id, owner);
        }
      },
      failedFirst: (id) => store.markTried(id),
      changed: (id, change, owner) => {
        if (change === 'resources') {
          replies.forget(id, owner);
        }
        store.invalidate(id, change, owner);
      },
      updated: (id, uri, owner) => {
        replies.forgetUri(id, uri, owner);
        updates.updated(id, uri, owner);
      },
      task: (id, task, owner) => taskUpdates.updated(id, task, owner),
    },
  });
  const hub = new Hub(log);
  const envelope = { clientInfo, clientCapabilities: {} };
  const budget = new Budget<ScopeKey>(settings.limits.cacheBytes);
  const replies = new ReplyCache({ scoped: scopedBy(fleet), budget });
  const store = new Store<Caller>({
    order: () => fleet.ids,
    namespaceOf: (id) => fleet.settings(id).namespace,
    naming: settings.naming,
    scoping: listScoping(fleet, budget),
    paged: settings.lists.pageSize > 0,
    read: (upstream, kind, signal, caller) => {
      const party = caller && partyOf(caller, fleet.capabilities(upstream) ?? {});
      return readList(fleet, envelope, { upstream, kind, signal, party });
    },
    pollEvery: (id, kind, hints) => pollEvery(fleet, id, kind, hints.ttlMs),
    debounceMs: settings.changes.debounce,
    onSwap: (swap) => hub.publish(swap),
    log,
  });
  const updates = new Updates(({ upstream, party }, uris) => fleet.watch(upstream, uris, party));
  const taskUpdates = new TaskUpdates(({ upstream, party }, tasks) =>
    fleet.watchTasks(upstream, tasks, party),
  );
  return {
    fleet,
    store,
    hub,
    updates,
    taskUpdates,
    replies,
    visibleChanges: (where, swap) => visibleChanges(store, where, swap),
  };
}

/** A shared catalog that was replaced is news for whoever has no other; a principal's own swap comes to it alone. */
function visibleChanges(
  store: Store<Caller>,
  where: Parameters<FrontOptions['visibleChanges']>[0],
  swap: Swap,
): readonly Change[] {
  return swap.owner === undefined && !store.follows(where.principal)
    ? []
    : changesSeen(where.entrance.selection, sightOf(where), swap);
}

/** A list whose changes are announced is read when told; any other by its ttl (design, Catalog and cache). */
function pollEvery(fleet: Fleet, id: string, kind: Kind, ttlMs: number | undefined): number | undefined {
  if (notifies(fleet.capabilities(id) ?? {}, kind)) {
    return undefined;
  }
  return ttlMs !== undefined && ttlMs > 0 ? ttlMs : fleet.settings(id).cache.ttl;
}
