import type { ScopeKey } from './access/cache-scope.ts';
import { Budget } from './base/budget.ts';
import type { Log } from './base/log.ts';
import { changesMoved, changesSeen, type Look } from './catalog/changes-seen.ts';
import type { ListPart } from './catalog/part.ts';
import type { Catalog, Swap } from './catalog/snapshot.ts';
import { Store } from './catalog/store.ts';
import { Hub } from './changes/hub.ts';
import type { OwnerOf } from './changes/interest.ts';
import { TaskUpdates, Updates } from './changes/updates.ts';
import type { Settings } from './config/settings.ts';
import type { FrontOptions, Place } from './front/front.ts';
import { notifies } from './protocol/capabilities.ts';
import type { Envelope } from './protocol/era-codec.ts';
import { type Change, type Implementation, KINDS, type Kind } from './protocol/model.ts';
import { type Caller, sightOf } from './relay/context.ts';
import { readList } from './relay/read-list.ts';
import { ReplyCache } from './relay/reply-cache.ts';
import { partyOf } from './relay/reverse.ts';
import { listScoping, scopedBy } from './relay/scoping.ts';
import { Fleet } from './upstream/fleet.ts';
import type { Rebuilding } from './upstream/roster.ts';

/** What a change of an upstream passes through, and what is kept until one. */
export interface ChangeFlow
  extends Pick<FrontOptions, 'hub' | 'visibleChanges' | 'changesBetween'>,
    Pick<Rebuilding, 'prepare' | 'succeeded'> {
  readonly fleet: Fleet;
  readonly store: Store<Caller>;
  readonly updates: Updates;
  readonly taskUpdates: TaskUpdates;
  readonly replies: ReplyCache;
}

/** Change: upstream notice -> fleet -> store -> swap -> hub -> each listener that sees a difference. */
export function changeFlow(
  settings: () => Settings,
  clientInfo: Implementation,
  log: Log,
  watch: (swap: Swap) => void,
): ChangeFlow {
  const fleet = new Fleet({
    upstreams: settings().upstreams,
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
  const budget = new Budget<ScopeKey>(settings().limits.cacheBytes);
  const replies = new ReplyCache({ scoped: scopedBy(fleet), budget });
  const store: Store<Caller> = new Store({
    order: () => fleet.ids,
    namespaceOf: (id) => fleet.settings(id).namespace,
    naming: settings().naming,
    scoping: listScoping(fleet, budget),
    paged: () => settings().lists.pageSize > 0,
    read: async (upstream, kind, signal, caller) => {
      if (caller === undefined && fleet.statuses().get(upstream)?.state === 'idle') {
        // Stopped while nobody needs it: it is not started only to say the same again.
        return store.current.parts.get(upstream)?.lists[kind];
      }
      const party = caller && partyOf(caller, fleet.capabilities(upstream) ?? {});
      return readList(fleet, envelope, { upstream, kind, signal, party });
    },
    pollEvery: (id, kind, hints) => pollEvery(fleet, id, kind, hints.ttlMs),
    debounceMs: () => settings().changes.debounce,
    onSwap: (swap) => {
      watch(swap);
      hub.publish(swap);
    },
    log,
  });
  const ownerOf: OwnerOf = (upstream, user) => fleet.ownerOf(upstream, user);
  const updates = new Updates(ownerOf, ({ upstream, party }, uris) => fleet.watch(upstream, uris, party));
  const taskUpdates = new TaskUpdates(ownerOf, ({ upstream, party }, tasks) =>
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
    changesBetween: (before, now) =>
      changesMoved(lookOf(before, store.of(before.principal)), lookOf(now, store.of(now.principal))),
    ...succession({ fleet, store, replies, log }, envelope),
  };
}

/** Changed upstream: its lists are read beside -> it serves -> they are in place, and what was kept of the old one is gone. */
function succession(
  { fleet, store, replies, log }: Pick<ChangeFlow, 'fleet' | 'store' | 'replies'> & { readonly log: Log },
  envelope: Envelope,
): Pick<Rebuilding, 'prepare' | 'succeeded'> {
  const unread = (upstream: string) =>
    store.succeed(upstream, undefined, fleet.settings(upstream).cache.staleFor);
  return {
    prepare: async (upstream, beside) => {
      const { signal } = new AbortController();
      const lists = new Map<Kind, ListPart | undefined>();
      const read = async (kind: Kind) => {
        lists.set(kind, await readList(beside, envelope, { upstream, kind, signal, party: undefined }));
      };
      try {
        await Promise.all(KINDS.map(read));
        return () => store.succeed(upstream, lists, 0);
      } catch (thrown) {
        log.warn({ err: thrown, upstream }, 'the lists of a changed upstream could not be read');
        return () => {
          unread(upstream);
          void store.missed(upstream);
        };
      }
    },
    succeeded: (upstream, isRead) => {
      replies.forget(upstream);
      if (fleet.statuses().get(upstream)?.own === true) {
        // Single users sign in to it now: what was read for everybody is nobody's any more.
        store.rearrange(undefined, { gone: [upstream] });
        store.markTried(upstream);
      } else if (!isRead) {
        unread(upstream);
      }
    },
  };
}

function lookOf(where: Place, catalog: Catalog): Look {
  return { catalog, selection: where.entrance.selection, sight: sightOf(where) };
}

/** A shared catalog that was replaced is news for whoever has no other; a principal's own swap comes to it alone. */
function visibleChanges(store: Store<Caller>, where: Place, swap: Swap): readonly Change[] {
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
