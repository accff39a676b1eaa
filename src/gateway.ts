import { Allowance } from './access/allowance.ts';
import { createAuthenticate } from './access/authenticate.ts';
import { EVERYTHING } from './access/policy.ts';
import { ANONYMOUS } from './access/principal.ts';
import { publicBase } from './access/resource.ts';
import { fetchJson } from './base/fetch-json.ts';
import type { Log } from './base/log.ts';
import type { Store } from './catalog/store.ts';
import { type ChangeFlow, changeFlow } from './change-flow.ts';
import { closer } from './closing.ts';
import type { Settings } from './config/settings.ts';
import type { FrontOptions } from './front/front.ts';
import { Intake } from './front/intake.ts';
import type { Operations } from './front/operations.ts';
import { Regime } from './front/regime.ts';
import { createFront } from './front/server.ts';
import { Sessions } from './front/sessions.ts';
import { openStdioFront, type StdioClient, type StdioFront } from './front/stdio-front.ts';
import { Streams } from './front/streams.ts';
import { type Readiness, readiness } from './observe/status.ts';
import { Observing } from './observing.ts';
import { operating } from './operating.ts';
import { codecFor } from './protocol/codec.ts';
import type { Implementation } from './protocol/model.ts';
import { LATEST_MODERN } from './protocol/versions.ts';
import type { Caller, Entrance, RequestContext } from './relay/context.ts';
import { Hello } from './relay/hello.ts';
import type { Relay } from './relay/relay.ts';
import { type Reloading, reloading } from './reloading.ts';
import { createReplicas, type Replicas } from './replicas.ts';
import { requestFlow } from './request-flow.ts';
import type { State, StateHealth } from './state/state.ts';
import type { Fleet } from './upstream/fleet.ts';
import type { LockState } from './vetting/lock.ts';
import type { Vetting } from './vetting/vetting.ts';

export interface GatewayOptions {
  readonly settings: Settings;
  /** 32 bytes. */
  readonly sealingKey: Buffer;
  /** Version of this software, for `serverInfo` and `clientInfo`. */
  readonly release: string;
  readonly log: Log;
  /** What is approved; asked for now and at each reload. Absent: nothing was ever pinned. */
  readonly lock?: () => LockState;
  /** Whether findings are looked for and logged as they come; default true. */
  readonly watches?: boolean;
  /** What is shared with other replicas, instead of what the configuration asks for. */
  readonly state?: State;
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
  /** The audit log may have been moved away: another one of its name is begun. */
  reopen(): void;
  /** Drains and ends everything within the configured grace. Idempotent. */
  close(): Promise<void>;
  /** Resolves when what the last reload changed has been replaced, and what went has ended. */
  replaced(): Promise<void>;
  readonly readiness: () => Readiness;
  readonly store: Store<Caller>;
  readonly fleet: Fleet;
  readonly relay: Relay;
  readonly vetting: Vetting;
  /** What operators may ask, of this process itself. */
  readonly operations: Operations;
  /** A request of this process itself, for the commands: modern, anonymous, at the default entrance. */
  readonly ownContext: (signal: AbortSignal) => RequestContext;
}

/** Builds every room and draws every arrow between them. */
export function createGateway(options: GatewayOptions): Gateway {
  const { settings, log } = options;
  const serverInfo: Implementation = { name: settings.name, version: options.release };
  const replicas = createReplicas(options);
  const { sealer } = replicas;
  const now = () => regime.settings;
  const { base, signIn, listensOn } = door(now, log);
  let regime = new Regime(settings, signIn(settings.auth));
  const { lock, watches = true } = options;
  const observing = new Observing({ ...options, settings: now, rooms: () => ({ ...flow, ...seen }) });
  const approvals = { lock: lock?.(), watches };
  const seenBy = { approvals, seen: observing, shared: replicas.flow };
  const flow: ChangeFlow = changeFlow({ settings: now, clientInfo: serverInfo, log, ...seenBy });
  const { fleet, store, vetting } = flow;
  const hello = new Hello({ fleet, settings: now, serverInfo, screen: vetting.screen });
  const allowance = new Allowance(() => now().limits.perPrincipal, replicas.limiter);
  const own = { hello, settings: now, sealer, allowance, observer: observing.observer, log };
  const { relay, parked, lookup, shown } = requestFlow({ ...flow, ...own, replicas });
  const sessions = new Sessions(sealer, () => now().sessions, replicas.afar);
  replicas.join({ ...flow, sessions, parked });
  const streams = new Streams(() => regime, allowance);
  const { reload, refused, report, stop } = reloading({
    ...flow,
    streams,
    signIn,
    lock,
    regime: () => regime,
    become: (next) => {
      regime = next;
    },
    log,
  });
  const status = statusOf({ ...flow, settings: now, report, shared: replicas.health });
  const seen = { hello, sessions, streams, readiness: status };
  const operations = operating({ ...options, ...flow, ...seen, settings: now, lookup, shown, parked });
  const rooms: FrontOptions = {
    ...flow,
    ...seen,
    regime: () => regime,
    base,
    relay,
    intake: new Intake(() => now().limits),
    allowance,
    catalog: (principal) => store.of(principal),
    upstreams: fleet,
    operations,
    metrics: observing.door,
    feed: observing.feed,
    attend: (caller) => store.listen(caller),
    log,
  };
  const front = createFront(rooms);
  const grace = () => now().shutdown.grace;
  const parts = { ...flow, front, sessions, parked, observing, replicas, settings: now, grace, stop };
  return {
    ...{ store, fleet, relay, vetting, operations, reload, refused },
    readiness: status,
    ...running({ ...parts, listen: () => front.listen().then(listensOn) }),
    stdio: (client) => openStdioFront(rooms, client),
    ownContext: (signal) => ownContext(now(), serverInfo, store, log, signal),
  };
}

/** What runs by itself begins; nothing waits for an upstream. */
function running(
  rooms: Parameters<typeof closer>[0] & {
    readonly observing: Observing;
    readonly replicas: Replicas;
    readonly settings: () => Settings;
    readonly listen: () => Promise<number>;
    /** What is reloaded now comes to nothing. */
    readonly stop: () => void;
  },
): Pick<Gateway, 'listen' | 'connect' | 'settled' | 'replaced' | 'reopen' | 'close'> {
  const { fleet, store, observing, replicas, settings, listen, stop } = rooms;
  const close = closer(rooms);
  return {
    listen: async () => {
      replicas.start();
      fleet.start();
      const [port] = await Promise.all([listen(), observing.start()]);
      return port;
    },
    connect: () => {
      replicas.start();
      fleet.start();
      void observing.start();
    },
    settled: () => store.settled(fleet.started, longestConnect(settings())),
    replaced: () => fleet.quiet(),
    reopen: () => observing.reopen(),
    close: () => {
      stop();
      return close();
    },
  };
}

/** The state that `/readyz` and the commands show. */
function statusOf(
  rooms: Pick<ChangeFlow, 'fleet' | 'store' | 'vetting' | 'gone'> &
    Pick<Reloading, 'report'> & { readonly settings: () => Settings; readonly shared: () => StateHealth },
): () => Readiness {
  const { fleet, store, report, settings, vetting, gone, shared } = rooms;
  let served = false;
  return () => {
    const state = readiness({
      statuses: fleet.statuses(),
      // One that hangs must not keep the others from being used: a first list stops waiting for it as well.
      tried: (id) => !fleet.isPending(id) || fleet.youngest([id]) > settings().lists.firstWait,
      listFault: (id) => store.faultOf(id),
      optional: (id) => fleet.settings(id).optional,
      catalog: store.current,
      found: vetting.findings(store.current.parts),
      gone: gone.counted,
      config: report(),
      shared: shared(),
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
