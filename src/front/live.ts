import { randomInt } from 'node:crypto';
import type { JsonObject } from '../base/json.ts';
import type { RpcId, RpcResponse } from '../protocol/json-rpc.ts';
import type { Caller } from '../relay/context.ts';
import type { Question } from '../upstream/call.ts';
import type { Calls } from './calls.ts';
import type { Carrier } from './carrier.ts';
import type { Outlet } from './outlet.ts';
import type { Replays } from './replay.ts';

/** A question of a server that waits for the client. */
export interface OpenQuestion {
  readonly answer: (response: RpcResponse) => void;
  /** There will be no answer. */
  readonly drop: () => void;
}

/** A stream that another replica has. over: read to its end; unknown: not there any more, or cannot be reached. */
export type DistantStream =
  | { readonly state: 'over' | 'unknown' }
  | {
      readonly state: 'open';
      /** It goes on here from now on; what it has said already comes first. Ends with it. */
      readonly begin: (connection: Carrier) => void;
      /** The client has left. */
      readonly leave: () => void;
    };

/** What of one session may be at another replica, since each of its requests may come to another one. */
export interface Afar {
  /** Name of this replica, which stands in whatever a client may send to any of them. */
  readonly home: string;
  /** An answer to a question that was not asked here. */
  answer(response: RpcResponse): void;
  /** `notifications/cancelled` for a request that is not under way here. */
  cancel(id: RpcId): void;
  /** A notification to the servers that have a connection for this session. */
  notify(method: string, params: JsonObject | undefined): void;
  /** Asks the client on a stream that it has at another replica; rejects with CANCELLED where there is none. */
  ask(question: Pick<Question, 'method' | 'params' | 'signal'>): Promise<JsonObject>;
  /** Says something on such a stream. */
  tell(json: string): void;
  isElsewhere(home: string): boolean;
  /** The stream of an event that another replica has. */
  stream(home: string, lastEvent: string): Promise<DistantStream>;
  /** Whether there is one. */
  listens(): Promise<boolean>;
  /** Its client has a stream here, or none any more. */
  heardHere(here: boolean): void;
  /** `logging/setLevel` was sent here. */
  level(level: string): void;
  /** The log level that it set anywhere; undefined: none. */
  levelThere(): Promise<string | undefined>;
}

/** What is open for a session right now, in this process. */
export interface Live {
  /** Whose it is: a key of a principal. */
  readonly principal: string;
  /** Undefined where this process is alone, and for sessions that live with their one connection. */
  readonly afar: Afar | undefined;
  /** Where messages go that belong to no request, the newest last: each goes to one only (2025-11-25, Multiple Connections). */
  readonly outlets: Set<Outlet>;
  /** Who is asked on them, while there are some. */
  caller: Caller | undefined;
  /** How to stop hearing of list changes, while there is an outlet. */
  unhear: (() => void) | undefined;
  /** The event streams of this session that can be taken up again, once there was one. */
  replays: Replays | undefined;
  readonly calls: Calls;
  /** Questions of servers, by the ids they were sent under. */
  readonly questions: Map<unknown, OpenQuestion>;
  lastQuestion: number;
  /** How to stop watching each resource that the client subscribed to, by the URI it used. */
  readonly watched: Map<string, () => void>;
  logLevel: string | undefined;
  /** What it set elsewhere is known. */
  joined: Promise<void> | undefined;
  lastSeen: number;
  /** Nothing may be begun for it any more: nobody would end that. */
  over: boolean;
}

export function nothingOpen(principal: string, afar: Afar | undefined): Live {
  return {
    principal,
    afar,
    outlets: new Set(),
    caller: undefined,
    unhear: undefined,
    replays: undefined,
    calls: new Map(),
    questions: new Map(),
    // A late answer to a question from before a restart must not meet a new question.
    lastQuestion: randomInt(2 ** 31),
    watched: new Map(),
    logLevel: undefined,
    joined: undefined,
    lastSeen: 0,
    over: false,
  };
}

/** Nothing is under way and nobody listens. */
export function isQuiet(live: Live): boolean {
  return live.calls.size === 0 && ![...live.outlets].some(({ connected }) => connected);
}

/** Ends whatever is open. */
export function endLive(live: Live): void {
  live.over = true;
  for (const stop of live.watched.values()) {
    stop();
  }
  live.watched.clear();
  live.unhear?.();
  if (live.outlets.size > 0) {
    live.afar?.heardHere(false);
  }
  for (const outlet of live.outlets) {
    outlet.end();
  }
  live.replays?.close();
  for (const question of [...live.questions.values()]) {
    question.drop();
  }
  for (const enders of live.calls.values()) {
    for (const ender of enders) {
      ender.abort();
    }
  }
}
