import { anybody } from './access/authenticate.ts';
import { ANONYMOUS } from './access/principal.ts';
import type { Log } from './base/log.ts';
import { createSealer, type Sealer } from './base/sealed.ts';
import { after, pause } from './base/time.ts';
import { changesSeen } from './catalog/changes-seen.ts';
import { Store } from './catalog/store.ts';
import { Hub } from './changes/hub.ts';
import { TaskUpdates, Updates } from './changes/updates.ts';
import type { Settings } from './config/settings.ts';
import { entranceTo } from './front/entrance.ts';
import type { FrontOptions } from './front/front.ts';
import { createFront, type Front } from './front/server.ts';
import { Sessions } from './front/sessions.ts';
import { createStdioFront, type StdioFront, type StdioOptions } from './front/stdio-front.ts';
import { Streams } from './front/streams.ts';
import { type Readiness, readiness } from './observe/status.ts';
import { notifies } from './protocol/capabilities.ts';
import { codecFor } from './protocol/codec.ts';
import type { Implementation, Kind } from './protocol/model.ts';
import { LATEST_MODERN } from './protocol/versions.ts';
import type { RequestContext } from './relay/context.ts';
import { Conversation } from './relay/conversation.ts';
import { Forward } from './relay/forward.ts';
import { Hello } from './relay/hello.ts';
import { Lists } from './relay/list.ts';
import { Lookup } from './relay/lookup.ts';
import { ParkedCalls } from './relay/parked.ts';
import { readList } from './relay/read-list.ts';
import { Relay } from './relay/relay.ts';
import { RequestStates } from './relay/request-state.ts';
import { SeenUris } from './relay/seen-uris.ts';
import { Tasks } from './relay/tasks.ts';
import { Watching } from './relay/watching.ts';
import { Fleet } from './upstream/fleet.ts';
import { createLineReader } from './upstream/line-reader.ts';

export interface GatewayOptions {
  readonly settings: Settings;
  /** 32 bytes. */
  readonly sealingKey: Buffer;
  /** Version of this software, for `serverInfo` and `clientInfo`. */
  readonly release: string;
  readonly log: Log;
}

export interface Gateway {
  /** Starts the upstreams and binds the port; resolves with it, without waiting for any upstream. */
  listen(): Promise<number>;
  /** Starts the upstreams without a port. */
  connect(): void;
  /** Serves one client over a pair of streams. Throws ENDPOINT_UNKNOWN for an upstream that is not there. */
  stdio(client: StdioClient): StdioFront;
  /** Resolves once each upstream was tried once and its lists read: at most the longest connect timeout later. */
  settled(): Promise<void>;
  /** Drains and ends everything within the configured grace. Idempotent. */
  close(): Promise<void>;
  readonly readiness: () => Readiness;
  readonly store: Store;
  readonly fleet: Fleet;
  readonly relay: Relay;
  /** A request of this process itself, for the commands: modern, anonymous, at the default entrance. */
  readonly ownContext: (signal: AbortSignal) => RequestContext;
}

export interface StdioClient extends Pick<StdioOptions, 'input' | 'output'> {
  /** Id of the one upstream to serve, under its own names; absent: all of them. */
  readonly upstream?: string;
  readonly names?: 'dotted' | 'strict';
}

/** How often sessions that nobody uses are swept out, in ms. */
const SWEEP_MS = 60_000;
/** For answers that are being written when everything else has ended, in ms. */
const LAST_ANSWERS_MS = 500;

/** Builds every room and draws every arrow between them. */
export function createGateway(options: GatewayOptions): Gateway {
  const { settings, log } = options;
  const serverInfo: Implementation = { name: settings.name, version: options.release };
  const hub = new Hub(log);
  const sealer = createSealer(options.sealingKey);
  const { fleet, store, updates, taskUpdates } = changeFlow(settings, serverInfo, hub, log);
  const hello = new Hello({ fleet, settings, serverInfo });
  const { relay, parked } = requestFlow({ fleet, store, updates, taskUpdates, hello, settings, sealer });
  const sessions = new Sessions(sealer, settings.sessions);
  const status = () =>
    readiness({
      statuses: fleet.statuses(),
      // One that hangs must not keep the others from being used: a first list stops waiting for it as well.
      tried: (id) => !fleet.isPending(id) || fleet.age > settings.lists.firstWait,
      optional: (id) => fleet.settings(id).optional,
      catalog: store.current,
    });
  const rooms: FrontOptions = {
    settings,
    relay,
    hello,
    hub,
    sessions,
    streams: new Streams(settings.streams.max),
    catalog: () => store.current,
    authenticate: anybody,
    upstreams: fleet,
    readiness: status,
    visibleChanges: (entrance, swap) => changesSeen(entrance.selection, swap),
    log,
  };
  const front = createFront(rooms);
  return {
    store,
    fleet,
    relay,
    readiness: status,
    listen: () => {
      fleet.start();
      return front.listen();
    },
    connect: () => fleet.start(),
    stdio: ({ upstream, names, ...pipes }) => {
      const entrance = entranceTo(settings, upstream, names);
      return createStdioFront({ front: rooms, entrance, lines: createLineReader, ...pipes });
    },
    settled: () => store.settled(fleet.ids, longestConnect(settings)),
    close: closer({ front, fleet, store, sessions, parked, grace: settings.shutdown.grace }),
    ownContext: (signal) => ownContext(settings, serverInfo, store, log, signal),
  };
}

/** A probe, a handshake and the lists all have to fit; what takes longer is shown as it is then. */
function longestConnect(settings: Settings): number {
  return Math.max(
    0,
    ...Object.values(settings.upstreams).map(({ timeouts }) => timeouts.probe + timeouts.connect),
  );
}

/** Change: upstream notice -> fleet -> store -> swap -> hub -> each listener that sees a difference. */
function changeFlow(
  settings: Settings,
  clientInfo: Implementation,
  hub: Hub,
  log: Log,
): { fleet: Fleet; store: Store; updates: Updates; taskUpdates: TaskUpdates } {
  const fleet = new Fleet({
    upstreams: settings.upstreams,
    clientInfo,
    log,
    events: {
      connected: (id) => void store.refresh(id),
      lost: (id) => store.markStale(id, fleet.settings(id).cache.staleFor),
      failedFirst: (id) => store.markTried(id),
      changed: (id, change) => store.invalidate(id, change),
      updated: (id, uri) => updates.updated(id, uri),
      task: (id, task) => taskUpdates.updated(id, task),
    },
  });
  const envelope = { clientInfo, clientCapabilities: {} };
  const store = new Store({
    order: () => fleet.ids,
    namespaceOf: (id) => fleet.settings(id).namespace,
    naming: settings.naming,
    read: (id, kind, signal) => readList(fleet, envelope, id, kind, signal),
    pollEvery: (id, kind, hints) => pollEvery(fleet, id, kind, hints.ttlMs),
    debounceMs: settings.changes.debounce,
    onSwap: (swap) => hub.publish(swap),
    log,
  });
  const updates = new Updates((id, uris) => fleet.watch(id, uris));
  const taskUpdates = new TaskUpdates((id, tasks) => fleet.watchTasks(id, tasks));
  return { fleet, store, updates, taskUpdates };
}

/** Request: method table -> route -> upstream. */
function requestFlow(rooms: {
  fleet: Fleet;
  store: Store;
  updates: Updates;
  taskUpdates: TaskUpdates;
  hello: Hello;
  settings: Settings;
  sealer: Sealer;
}): { relay: Relay; parked: ParkedCalls } {
  const seen = new SeenUris();
  const lookup = new Lookup({ ...rooms, seen });
  const { questions } = rooms.settings;
  const states = new RequestStates(rooms.sealer, questions.ttl);
  const parked = new ParkedCalls(states, questions);
  const tasks = new Tasks(rooms.sealer, rooms.taskUpdates);
  const conversation = new Conversation({ ...rooms, states, parked });
  const relay = new Relay({
    hello: rooms.hello,
    lists: new Lists(rooms),
    watching: new Watching({ ...rooms, lookup, tasks }),
    forward: new Forward({ ...rooms, lookup, seen, conversation, tasks }),
    maxTtl: rooms.settings.lists.maxTtl,
  });
  return { relay, parked };
}

function ownContext(
  settings: Settings,
  info: Implementation,
  store: Store,
  log: Log,
  signal: AbortSignal,
): RequestContext {
  return {
    principal: ANONYMOUS,
    codec: codecFor(LATEST_MODERN),
    client: { info, capabilities: {}, logLevel: undefined },
    entrance: { id: 'default', selection: { style: settings.naming.style } },
    catalog: store.current,
    signal,
    log,
    headers: undefined,
    session: undefined,
    notify: () => {},
  };
}

/** A list whose changes are announced is read when told; any other by its ttl (design, Catalog and cache). */
function pollEvery(fleet: Fleet, id: string, kind: Kind, ttlMs: number | undefined): number | undefined {
  if (notifies(fleet.capabilities(id) ?? {}, kind)) {
    return undefined;
  }
  return ttlMs !== undefined && ttlMs > 0 ? ttlMs : fleet.settings(id).cache.ttl;
}

function closer(rooms: {
  front: Front;
  fleet: Fleet;
  store: Store;
  sessions: Sessions;
  parked: ParkedCalls;
  grace: number;
}): () => Promise<void> {
  const { front, fleet, store, sessions, parked, grace } = rooms;
  let sweeping = after(SWEEP_MS, sweep);
  function sweep(): void {
    sessions.sweep();
    sweeping = after(SWEEP_MS, sweep);
  }
  let closing: Promise<void> | undefined;
  const close = async () => {
    sweeping();
    store.close();
    // Answers under way get the grace; then the upstreams go, which ends every call that still waits.
    const drained = front.close();
    await Promise.race([drained, pause(grace)]);
    parked.close();
    await fleet.close(grace);
    // The last answers, which say that their upstream is gone, are on their way now.
    await Promise.race([drained, pause(LAST_ANSWERS_MS)]);
    front.cut();
    await drained;
  };
  return () => {
    closing ??= close();
    return closing;
  };
}
