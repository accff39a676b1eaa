import type { Log } from './base/log.ts';
import { createSealer, type Sealer } from './base/sealed.ts';
import type { ChangeFlow, FlowShared, Hint } from './change-flow.ts';
import type { Settings } from './config/settings.ts';
import { SessionLinks } from './front/session-links.ts';
import type { Sessions } from './front/sessions.ts';
import type { Change } from './protocol/model.ts';
import { askOwn, fleetAt, serveCalls } from './relay/own-elsewhere.ts';
import type { ParkedCalls, ParkedElsewhere } from './relay/parked.ts';
import { parkedElsewhere, RESUME, serveResume } from './relay/parked-elsewhere.ts';
import type { SharedSets } from './relay/progressive.ts';
import { partyOf } from './relay/reverse.ts';
import type { TasksElsewhere } from './relay/tasks.ts';
import { serveTasks, tasksElsewhere } from './relay/tasks-elsewhere.ts';
import { SharedHomes } from './state/homes.ts';
import { openState } from './state/open-state.ts';
import { Peers } from './state/peers.ts';
import { Revocations } from './state/revocations.ts';
import { sharedTerms } from './state/shared-terms.ts';
import { sharedTokens } from './state/shared-tokens.ts';
import type { State, StateHealth } from './state/state.ts';

/** An upstream has said that something changed. */
const HINT = 'upstream-changed';

/** Draws the arrows between this process and other replicas of the gateway, where there are any. */
export interface Replicas {
  /** For what a change passes through. */
  readonly flow: FlowShared;
  /** Seals what any of them opens. */
  readonly sealer: Sealer;
  readonly parked: ParkedElsewhere | undefined;
  readonly tasks: TasksElsewhere | undefined;
  readonly fleetAt: ReturnType<typeof fleetAt>;
  /** The others, where there can be some. */
  readonly peers: Peers | undefined;
  /** What they keep together. */
  readonly shared: SharedSets | undefined;
  readonly afar: ConstructorParameters<typeof Sessions>[2];
  readonly limiter: State['limiter'];
  readonly health: () => StateHealth;
  /** What other replicas reach, once it is there. */
  join(rooms: JoinedRooms): void;
  /** Begins to connect; returns at once. */
  start(): void;
  /** This process ends: others should not ask it any more. */
  leave(): void;
  close(): Promise<void>;
}

interface JoinedRooms extends Pick<ChangeFlow, 'fleet' | 'store' | 'replies' | 'taskUpdates'> {
  readonly sessions: Sessions;
  readonly parked: ParkedCalls;
}

export interface ReplicasOptions {
  readonly settings: Settings;
  /** 32 bytes. */
  readonly sealingKey: Buffer;
  readonly log: Log;
  /** Instead of the one that the configuration asks for. */
  readonly state?: State | undefined;
}

export function createReplicas({ settings, sealingKey, log, ...given }: ReplicasOptions): Replicas {
  const older = settings.oldSealingKeys.map((key) => Buffer.from(key, 'base64'));
  const sealer = createSealer(sealingKey, older);
  const state = given.state ?? openState(settings.state, log);
  const peers = new Peers(state, sealer, log);
  const homes = new SharedHomes({ state, ask: (home, request) => askOwn(peers, home, request), log });
  let rooms: JoinedRooms | undefined;
  const told = sharedTerms({
    peers,
    settings: (upstream) =>
      joined(rooms).fleet.ids.includes(upstream) ? joined(rooms).fleet.settings(upstream) : undefined,
    heard: (...those) => joined(rooms).fleet.toldElsewhere(...those),
  });
  const links = new SessionLinks({
    peers,
    state,
    sessions: () => joined(rooms).sessions,
    notify: (sid, method, params) => joined(rooms).fleet.notify(sid, method, params),
    askCaller: (caller, question) => partyOf(caller, {}).question(question),
    log,
  });
  return {
    sealer,
    flow: {
      upstreams: state.shared
        ? { tokens: (upstream) => sharedTokens(upstream, { state, sealer, log }), homes, told }
        : undefined,
      hint: (hint) => peers.tell(HINT, { ...hint }),
    },
    parked: parkedElsewhere(peers),
    tasks: tasksElsewhere(peers, log),
    fleetAt: fleetAt(peers),
    peers: state.shared ? peers : undefined,
    shared: state.shared ? sharedSets(state, log) : undefined,
    afar: state.shared ? (sid, principal) => links.afar(sid, principal) : undefined,
    limiter: (name, points, seconds) => state.limiter(name, points, seconds),
    health: () => healthOf(state, peers),
    join(built) {
      rooms = built;
      serve(peers, links, built);
      serveTasks(peers, { sealer, updates: built.taskUpdates });
      revocations({ state, peers, log }, built);
    },
    start: () => state.start(),
    leave: () => void homes.close(),
    async close() {
      peers.close();
      await state.close();
    },
  };
}

function sharedSets(state: State, log: Log): SharedSets {
  return {
    note: (...about) => state.note(...about),
    noted: (set) => state.noted(set),
    onReach: (run) => state.onReach(run),
    log,
  };
}

function healthOf(state: State, peers: Peers): StateHealth {
  const { refused } = peers;
  const some = Object.values(refused).some((times) => times > 0);
  return { ...state.health(), ...(some ? { refused } : {}) };
}

function joined(rooms: JoinedRooms | undefined): JoinedRooms {
  if (rooms === undefined) {
    throw new Error('nothing is heard before everything is built');
  }
  return rooms;
}

function serve(peers: Peers, links: SessionLinks, { fleet, store, replies, parked }: JoinedRooms): void {
  serveCalls(peers, {
    fleet,
    askAside: (sid, principal, question) => links.askAside(sid, principal, question),
  });
  peers.serve(RESUME, (asked, talk) => serveResume(asked, talk, parked));
  peers.onTold(HINT, (told) => {
    // Told by `hint` of another replica.
    const { upstream, change, uri, owner } = told as unknown as Hint;
    if (!fleet.ids.includes(upstream)) {
      return;
    }
    if (uri !== undefined) {
      replies.forgetUri(upstream, uri, owner);
    } else if (change !== undefined) {
      renewed(upstream, change, owner, { store, replies });
    } else if (owner !== undefined) {
      replies.forget(upstream, owner);
      void store.missed(upstream, owner);
    }
  });
}

/** As for a notice of the upstream itself; see `src/change-flow.ts`. */
function renewed(
  upstream: string,
  change: Change,
  owner: string | undefined,
  { store, replies }: Pick<JoinedRooms, 'store' | 'replies'>,
): void {
  if (change === 'resources') {
    replies.forget(upstream, owner);
  }
  store.invalidate(upstream, change, owner);
}

/** Session ended here -> all others; ended there, or before this process started -> its id is refused here. */
function revocations(
  about: { readonly state: State; readonly peers: Peers; readonly log: Log },
  { sessions, fleet }: JoinedRooms,
): void {
  const ended = new Revocations({
    ...about,
    most: () => sessions.mostEnded,
    ended: (those) => {
      sessions.endedElsewhere(those);
      for (const sid of those.keys()) {
        fleet.release(sid);
      }
    },
  });
  sessions.onEnd((sid, until) => ended.add(sid, until));
}
