import type { ScopeKey } from './access/cache-scope.ts';
import { ANONYMOUS } from './access/principal.ts';
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
import type { FlowObserver } from './observing.ts';
import { notifies } from './protocol/capabilities.ts';
import type { Envelope } from './protocol/era-codec.ts';
import { type CacheHints, type Change, type Implementation, KINDS, type Kind } from './protocol/model.ts';
import { type Caller, listedSightOf } from './relay/context.ts';
import { listingKey } from './relay/find-list.ts';
import { Gone } from './relay/gone.ts';
import { readList } from './relay/read-list.ts';
import { ReplyCache } from './relay/reply-cache.ts';
import { partyOf } from './relay/reverse.ts';
import { listScoping, scopedBy } from './relay/scoping.ts';
import { Fleet } from './upstream/fleet.ts';
import type { FleetEvents } from './upstream/fleet-events.ts';
import type { Replicas } from './upstream/replicas.ts';
import type { Rebuilding } from './upstream/roster.ts';
import { strictestOf } from './vetting/quarantine.ts';
import { Vetting, type VettingOptions } from './vetting/vetting.ts';

/** What a change of an upstream passes through, and what is kept until one. */
export interface ChangeFlow
  extends Pick<FrontOptions, 'hub' | 'visibleChanges' | 'changesBetween'>,
    Pick<Rebuilding, 'prepare' | 'succeeded'> {
  readonly fleet: Fleet;
  readonly store: Store<Caller>;
  readonly updates: Updates;
  readonly taskUpdates: TaskUpdates;
  readonly replies: ReplyCache;
  readonly vetting: Vetting;
  readonly gone: Gone;
  /** What is kept for single users and of resources. */
  readonly cacheBytes: () => number;
  /** When a list of everybody's is read again by itself, in ms; undefined: only when told. */
  readonly rereadEvery: (upstream: string, kind: Kind, hints: CacheHints) => number | undefined;
}

export interface FlowOptions {
  readonly settings: () => Settings;
  readonly clientInfo: Implementation;
  readonly log: Log;
  readonly approvals: Pick<VettingOptions, 'lock' | 'watches'>;
  readonly seen: FlowObserver;
  readonly shared: FlowShared;
}

/** What a change has to do with other replicas of the gateway. */
export interface FlowShared {
  readonly upstreams: Replicas | undefined;
  /** Tells them what an upstream has said. */
  readonly hint: (hint: Hint) => void;
}

/**
 * An upstream has said that a list changed, or a resource: what others keep of it is out of date as well. Neither: what it
 * lets this owner see may be another now.
 */
export interface Hint {
  readonly upstream: string;
  readonly owner: string | undefined;
  readonly change?: Change;
  readonly uri?: string;
}

/** Change: upstream notice -> fleet -> store -> swap -> hub -> each listener that sees a difference. */
export function changeFlow({ settings, clientInfo, log, approvals, seen, shared }: FlowOptions): ChangeFlow {
  const fleet: Fleet = new Fleet({
    upstreams: settings().upstreams,
    clientInfo,
    log,
    replicas: shared.upstreams,
    events: eventsFor(() => ({ fleet, store, replies, updates, taskUpdates, seen, shared })),
  });
  const hub = new Hub(log);
  const envelope = { clientInfo, clientCapabilities: {} };
  const budget = new Budget<ScopeKey>(settings().limits.cacheBytes);
  const replies = new ReplyCache({
    scoped: scopedBy(fleet),
    budget,
    looked: (result) => seen.looked(result),
  });
  const { vetting, gone } = judges({ settings, fleet, log, approvals, store: () => store });
  const rereadEvery = (id: string, kind: Kind, hints: CacheHints) => pollEvery(fleet, id, kind, hints.ttlMs);
  const store: Store<Caller> = new Store({
    order: () => fleet.ids,
    namespaceOf: (id) => fleet.settings(id).namespace,
    naming: settings().naming,
    scoping: listScoping(fleet, budget),
    screen: vetting.screen,
    onReplaced: (...replaced) => {
      vetting.replaced(...replaced);
      gone.replaced(...replaced);
    },
    paged: () => settings().lists.pageSize > 0,
    read: async (upstream, kind, signal, caller, before) => {
      if (caller === undefined && fleet.statuses().get(upstream)?.state === 'idle') {
        // Stopped while nobody needs it: it is not started only to say the same again.
        return store.current.parts.get(upstream)?.lists[kind];
      }
      const party = caller && partyOf(caller, fleet.capabilities(upstream) ?? {});
      const scope = caller === undefined ? 'shared' : 'private';
      return seen.read({ upstream, kind, scope }, () =>
        readList(fleet, envelope, { upstream, kind, signal, party, before }),
      );
    },
    pollEvery: rereadEvery,
    debounceMs: () => settings().changes.debounce,
    onSwap: (swap) => {
      hub.publish(swap);
      seen.published(swap);
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
    cacheBytes: () => budget.used,
    updates,
    taskUpdates,
    replies,
    vetting,
    gone,
    rereadEvery,
    visibleChanges: (where, swap) => visibleChanges(store, where, swap),
    changesBetween: (before, now) => changesBetween(store, before, now),
    ...succession({ fleet, store, replies, log }, envelope),
  };
}

/** What a notice of an upstream leads to. */
function eventsFor(
  rooms: () => Pick<ChangeFlow, 'fleet' | 'store' | 'replies' | 'updates' | 'taskUpdates'> & {
    readonly seen: FlowObserver;
    readonly shared: Pick<FlowShared, 'hint'>;
  },
): FleetEvents {
  return {
    connected: (id, owner) => {
      const { replies, store } = rooms();
      replies.forget(id, owner);
      void store.missed(id, owner);
      if (owner !== undefined) {
        rooms().shared.hint({ upstream: id, owner });
      }
    },
    lost: (id, owner) => {
      const { replies, store, fleet } = rooms();
      replies.forget(id, owner);
      if (owner === undefined) {
        store.markStale(id, fleet.settings(id).cache.staleFor);
      } else {
        void store.missed(id, owner);
        rooms().shared.hint({ upstream: id, owner });
      }
    },
    failedFirst: (id) => rooms().store.markTried(id),
    changed: (id, change, owner) => {
      rooms().seen.changed(id);
      if (change === 'resources') {
        rooms().replies.forget(id, owner);
      }
      rooms().store.invalidate(id, change, owner);
      rooms().shared.hint({ upstream: id, change, owner });
    },
    updated: (id, uri, owner) => {
      rooms().replies.forgetUri(id, uri, owner);
      rooms().updates.updated(id, uri, owner);
      rooms().shared.hint({ upstream: id, uri, owner });
    },
    task: (id, task, owner) => rooms().taskUpdates.updated(id, task, owner),
  };
}

/** Who looks at every catalog that takes the place of another: what servers say in it, and what is in it no more. */
function judges(rooms: {
  readonly settings: () => Settings;
  readonly fleet: Fleet;
  readonly log: Log;
  readonly approvals: Pick<VettingOptions, 'lock' | 'watches'>;
  readonly store: () => Store<Caller>;
}): Pick<ChangeFlow, 'vetting' | 'gone'> {
  const { settings, fleet, log, approvals, store } = rooms;
  const vetting = new Vetting({
    ...approvals,
    // One that a reload has taken away is judged as one without keys of its own.
    onChange: (id) => (settings().upstreams[id] ?? settings()).pins.onChange,
    strictest: () => strictestOf(settings()),
    isOwn: (id) => fleet.reach(id).own,
    instructions: (id) =>
      fleet.settings(id).instructions ? fleet.toldTo(id, ANONYMOUS)?.instructions : undefined,
    log,
  });
  const gone = new Gone({
    lock: () => vetting.lock,
    naming: () => settings().naming,
    isOwn: (principal, id) => store().isOwn(principal, id, 'tools'),
    isEverybody: (principal) => store().isEverybody(principal),
  });
  return { vetting, gone };
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

function changesBetween(store: Store<Caller>, before: Place, now: Place): readonly Change[] {
  const moved = changesMoved(
    lookOf(before, store.of(before.principal)),
    lookOf(now, store.of(now.principal)),
  );
  const same = listingKey(before.entrance.listing) === listingKey(now.entrance.listing);
  return same || moved.includes('tools') ? moved : ['tools', ...moved];
}

function lookOf(where: Place, catalog: Catalog): Look {
  return { catalog, selection: where.entrance.selection, sight: listedSightOf(where) };
}

/** A shared catalog that was replaced is news for whoever has no other; a principal's own swap comes to it alone. */
function visibleChanges(store: Store<Caller>, where: Place, swap: Swap): readonly Change[] {
  return swap.owner === undefined && !store.follows(where.principal)
    ? []
    : changesSeen(where.entrance.selection, listedSightOf(where), swap);
}

/** However soon a list says that it is out of date, nobody may be asking for it: ms. */
const LEAST_POLL = 1_000;

/** A list whose changes are announced is read when told; any other by its ttl (design, Catalog and cache). */
function pollEvery(fleet: Fleet, id: string, kind: Kind, ttlMs: number | undefined): number | undefined {
  if (notifies(fleet.capabilities(id) ?? {}, kind)) {
    return undefined;
  }
  return Math.max(LEAST_POLL, ttlMs !== undefined && ttlMs > 0 ? ttlMs : fleet.settings(id).cache.ttl);
}
