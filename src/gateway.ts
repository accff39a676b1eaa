import { Allowance } from './access/allowance.ts';
import { createAuthenticate } from './access/authenticate.ts';
import { EVERYTHING } from './access/policy.ts';
import { ANONYMOUS } from './access/principal.ts';
import { publicBase } from './access/resource.ts';
import { fetchJson } from './base/fetch-json.ts';
import type { Log } from './base/log.ts';
import { createSealer, type Sealer } from './base/sealed.ts';
import type { Store } from './catalog/store.ts';
import { type ChangeFlow, changeFlow } from './change-flow.ts';
import { closer } from './closing.ts';
import type { Settings } from './config/settings.ts';
import type { FrontOptions } from './front/front.ts';
import { Intake } from './front/intake.ts';
import { Regime } from './front/regime.ts';
import { createFront } from './front/server.ts';
import { Sessions } from './front/sessions.ts';
import { openStdioFront, type StdioClient, type StdioFront } from './front/stdio-front.ts';
import { Streams } from './front/streams.ts';
import { type Readiness, readiness } from './observe/status.ts';
import { codecFor } from './protocol/codec.ts';
import type { Implementation } from './protocol/model.ts';
import { LATEST_MODERN } from './protocol/versions.ts';
import type { Caller, Entrance, RequestContext } from './relay/context.ts';
import { Conversation } from './relay/conversation.ts';
import { Forward } from './relay/forward.ts';
import { Hello } from './relay/hello.ts';
import { Lists } from './relay/list.ts';
import { Lookup } from './relay/lookup.ts';
import { ParkedCalls } from './relay/parked.ts';
import { Relay } from './relay/relay.ts';
import { RequestStates } from './relay/request-state.ts';
import { SeenUris } from './relay/seen-uris.ts';
import { Tasks } from './relay/tasks.ts';
import { Watching } from './relay/watching.ts';
import { type Reloading, reloading } from './reloading.ts';
import type { Fleet } from './upstream/fleet.ts';
import type { LockState } from './vetting/lock.ts';
import { PinWatch } from './vetting/pin-watch.ts';

export interface GatewayOptions {
  readonly settings: Settings;
  /** 32 bytes. */
  readonly sealingKey: Buffer;
  /** Version of this software, for `serverInfo` and `clientInfo`. */
  readonly release: string;
  readonly log: Log;
  /** What is approved; asked for now and at each reload. Absent: nothing was ever pinned. */
  readonly lock?: () => LockState;
}

export interface Gateway extends Pick<Reloading, 'reload' | 'refused'> {
  /** Starts the upstreams and binds the port; resolves with it, without waiting for any upstream. */
  listen(): Promise<number>;
  /** Starts the upstreams without a port. */
  connect(): void;
  /**
   * Serves one client over a pair of streams. Rejects with ENDPOINT_UNKNOWN for an upstream that is not there, and with
   * whatever sign-in refuses.
   */
  stdio(client: StdioClient): Promise<StdioFront>;
  /** Resolves once each upstream was tried once and its lists read: at most the longest connect timeout later. */
  settled(): Promise<void>;
  /** Drains and ends everything within the configured grace. Idempotent. */
  close(): Promise<void>;
  /** Resolves when what the last reload changed has been replaced, and what went has ended. */
  replaced(): Promise<void>;
  readonly readiness: () => Readiness;
  readonly store: Store<Caller>;
  readonly fleet: Fleet;
  readonly relay: Relay;
  /** A request of this process itself, for the commands: modern, anonymous, at the default entrance. */
  readonly ownContext: (signal: AbortSignal) => RequestContext;
}

/** Builds every room and draws every arrow between them. */
export function createGateway(options: GatewayOptions): Gateway {
  const { settings, log } = options;
  const serverInfo: Implementation = { name: settings.name, version: options.release };
  const sealer = createSealer(options.sealingKey);
  const now = () => regime.settings;
  const { base, signIn, listensOn } = door(now, log);
  let regime = new Regime(settings, signIn(settings.auth));
  const pins = new PinWatch({ lock: options.lock?.(), onChange: () => now().pins.onChange, log });
  const flow = changeFlow(now, serverInfo, log, (swap) => pins.swapped(swap));
  const { fleet, store, hub, visibleChanges, changesBetween } = flow;
  const hello = new Hello({ fleet, settings: now, serverInfo });
  const allowance = new Allowance(() => now().limits.perPrincipal);
  const { relay, parked } = requestFlow({ ...flow, hello, settings: now, sealer, allowance });
  const sessions = new Sessions(sealer, () => now().sessions);
  const streams = new Streams(() => regime, allowance);
  const { reload, refused, report, stop } = reloading({
    ...flow,
    streams,
    signIn,
    regime: () => regime,
    become: (next) => {
      regime = next;
    },
    log,
  });
  const status = statusOf({ ...flow, settings: now, report, pins });
  const rooms: FrontOptions = {
    regime: () => regime,
    base,
    relay,
    hello,
    hub,
    sessions,
    streams,
    intake: new Intake(() => now().limits),
    allowance,
    catalog: (principal) => store.of(principal),
    upstreams: fleet,
    readiness: status,
    visibleChanges,
    changesBetween,
    attend: (caller) => store.listen(caller),
    log,
  };
  const front = createFront(rooms);
  const close = closer({ front, fleet, store, sessions, parked, grace: () => now().shutdown.grace });
  return {
    store,
    fleet,
    relay,
    readiness: status,
    listen: () => {
      fleet.start();
      return front.listen().then(listensOn);
    },
    connect: () => fleet.start(),
    stdio: (client) => openStdioFront(rooms, client),
    settled: () => store.settled(fleet.started, longestConnect(now())),
    close: () => {
      stop();
      return close();
    },
    reload: (next) => pins.renewed(options.lock?.(), () => reload(next), store),
    refused,
    replaced: () => fleet.quiet(),
    ownContext: (signal) => ownContext(now(), serverInfo, store, log, signal),
  };
}

/** The state that `/readyz` and the commands show. */
function statusOf(
  rooms: Pick<ChangeFlow, 'fleet' | 'store'> &
    Pick<Reloading, 'report'> & { readonly settings: () => Settings; readonly pins: PinWatch },
): () => Readiness {
  const { fleet, store, report, settings, pins } = rooms;
  let served = false;
  return () => {
    const state = readiness({
      statuses: fleet.statuses(),
      // One that hangs must not keep the others from being used: a first list stops waiting for it as well.
      tried: (id) => !fleet.isPending(id) || fleet.youngest([id]) > settings().lists.firstWait,
      optional: (id) => fleet.settings(id).optional,
      catalog: store.current,
      pinned: pins.findings(store.current.parts),
      config: report(),
      served,
    });
    served ||= state.ready;
    return state;
  };
}

/** Who is let in, and at which URLs: those are known for good when the port is, which may be any free one. */
function door(settings: () => Settings, log: Log) {
  let bindsTo: number | undefined;
  const base = () => publicBase(settings().listen, bindsTo ?? settings().listen.port);
  const listensOn = (bound: number) => {
    bindsTo = bound;
    return bound;
  };
  const signIn = (auth: Settings['auth']) => createAuthenticate(auth, { base, fetchJson, log });
  return { base, signIn, listensOn };
}

/** A probe, a handshake and the lists all have to fit; what takes longer is shown as it is then. */
function longestConnect(settings: Settings): number {
  return Math.max(
    0,
    ...Object.values(settings.upstreams).map(({ timeouts }) => timeouts.probe + timeouts.connect),
  );
}

/** Request: method table -> route -> upstream. */
function requestFlow(
  rooms: ChangeFlow & {
    readonly hello: Hello;
    readonly settings: () => Settings;
    readonly sealer: Sealer;
    readonly allowance: Allowance;
  },
): { relay: Relay; parked: ParkedCalls } {
  const seen = new SeenUris();
  const lookup = new Lookup({ ...rooms, seen });
  const questions = () => rooms.settings().questions;
  const states = new RequestStates(rooms.sealer, () => questions().ttl);
  const parked = new ParkedCalls(states, questions);
  const tasks = new Tasks(rooms.sealer, rooms.taskUpdates, rooms.fleet);
  const conversation = new Conversation({ ...rooms, states, parked });
  const relay = new Relay({
    allowance: rooms.allowance,
    hello: rooms.hello,
    lists: new Lists(rooms),
    watching: new Watching({ ...rooms, lookup, tasks }),
    forward: new Forward({ ...rooms, lookup, seen, conversation, tasks }),
    maxTtl: () => rooms.settings().lists.maxTtl,
  });
  return { relay, parked };
}

function ownContext(
  settings: Settings,
  info: Implementation,
  store: Store<Caller>,
  log: Log,
  signal: AbortSignal,
): RequestContext {
  const entrance: Entrance = {
    id: 'default',
    selection: { style: settings.naming.style },
    filter: EVERYTHING,
    instructions: { own: settings.instructions, upstreams: true },
  };
  return {
    principal: ANONYMOUS,
    access: EVERYTHING,
    now: () => ({ entrance, access: EVERYTHING }),
    codec: codecFor(LATEST_MODERN),
    client: { info, capabilities: {}, logLevel: undefined },
    entrance,
    catalog: store.current,
    signal,
    log,
    headers: undefined,
    session: undefined,
    notify: () => {},
  };
}
