import { randomInt, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Principal } from '../access/principal.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import type { Sealer } from '../base/sealed.ts';
import type { Settings } from '../config/settings.ts';
import type { RpcId, RpcResponse } from '../protocol/json-rpc.ts';
import type { Implementation } from '../protocol/model.ts';
import { isLegacy } from '../protocol/versions.ts';
import { type Calls, track } from './calls.ts';
import type { Outlet } from './outlet.ts';
import type { Replays } from './replay.ts';

const PURPOSE = 'session';
/** Longest declarations kept inside an id: it travels in a header of every request. */
const LONGEST_CAPABILITIES = 2_048;
const LONGEST_LABEL = 80;
/** For what opened ids hold, in bytes, and what one takes besides its text and what that says; in round figures. */
const OPENED_BYTES = 8 * 1024 * 1024;
const COST_OF_ONE = 500;
/** So many times as many ended ids are remembered as sessions are held: whoever opens and ends them in a loop fills nothing. */
const ENDED_PER_SESSION = 10;

/** What a client says of itself in `initialize`, and the version that was agreed on. */
export interface Introduction {
  readonly version: string;
  readonly info: unknown;
  readonly capabilities: unknown;
}

/**
 * A legacy session. All that outlives a restart of the gateway is sealed inside the id itself, since most clients never
 * recover from a 404; what lives here besides is only what is open right now.
 */
export interface Session {
  /** Random part of the id: names the session in logs and in the table of what is open. */
  readonly sid: string;
  readonly version: string;
  readonly info: Implementation;
  readonly capabilities: JsonObject;
  readonly live: Live;
}

/** A question of a server that waits for the client. */
export interface OpenQuestion {
  readonly answer: (response: RpcResponse) => void;
  /** There will be no answer. */
  readonly drop: () => void;
}

interface Live {
  /** Where messages go that belong to no request, the newest last: each goes to one only (2025-11-25, Multiple Connections). */
  readonly outlets: Set<Outlet>;
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
  lastSeen: number;
  /** Nothing may be begun for it any more: nobody would end that. */
  over: boolean;
}

/** Seals and opens session ids, and holds what is open for each: cheap, idle ones forgotten, the oldest evicted. */
export class Sessions {
  readonly #sealer: Sealer;
  readonly #settings: () => Settings['sessions'];
  readonly #live = new Map<string, Live>();
  /** What ids hold that were opened before: a session names its own with every request. */
  readonly #opened = new LRUCache<string, JsonObject>({
    maxSize: OPENED_BYTES,
    sizeCalculation: (_content, id) => COST_OF_ONE + 3 * id.length,
  });
  /** Ended by DELETE, with the time from which the id would be expired anyway. */
  readonly #ended = new Map<string, number>();

  constructor(sealer: Sealer, settings: () => Settings['sessions']) {
    this.#sealer = sealer;
    this.#settings = settings;
  }

  /** Sessions with something open. */
  get size(): number {
    return this.#live.size;
  }

  /** A new session id. `entrance` is where it was opened: the id is worth nothing at another one. */
  create(about: Introduction & { principal: Principal; entrance: string }): string {
    const { name, version: release } = labels(about.info);
    return this.#sealer.seal(PURPOSE, {
      sid: randomUUID(),
      version: about.version,
      name,
      release,
      capabilities: bounded(about.capabilities),
      principal: about.principal.key,
      entrance: about.entrance,
      expires: Date.now() + this.#settings().maxAge,
    });
  }

  /** A session that lives with its one connection: nobody else can name it, so it neither expires nor makes room. */
  attached({ version, info, capabilities }: Introduction): Session {
    return {
      sid: randomUUID(),
      version,
      info: labels(info),
      capabilities: bounded(capabilities),
      live: nothingOpen(),
    };
  }

  /** The session of an id, or undefined where it is forged, ended, expired, or belongs to somebody or somewhere else. */
  open(id: string, principal: Principal, entrance: string): Session | undefined {
    const content = this.#contentOf(id);
    const { sid, version, expires, capabilities } = content ?? {};
    if (
      content === undefined ||
      typeof sid !== 'string' ||
      typeof version !== 'string' ||
      !isLegacy(version) ||
      typeof expires !== 'number' ||
      expires <= Date.now() ||
      content['principal'] !== principal.key ||
      content['entrance'] !== entrance ||
      this.#ended.has(sid)
    ) {
      return undefined;
    }
    const info = { name: stringAt(content, 'name') ?? '', version: stringAt(content, 'release') ?? '' };
    return {
      sid,
      version,
      info,
      capabilities: isObject(capabilities) ? capabilities : {},
      live: this.#touch(sid),
    };
  }

  #contentOf(id: string): JsonObject | undefined {
    const known = this.#opened.get(id);
    if (known !== undefined) {
      return known;
    }
    const content = this.#sealer.open(PURPOSE, id);
    if (content !== undefined) {
      this.#opened.set(id, content);
    }
    return content;
  }

  /** Ends a session: its streams close, its calls are cancelled, its id, if it has one, is refused from now on. */
  end(session: Session): void {
    if (this.#live.has(session.sid)) {
      this.#refuse(session.sid);
    }
    this.#forget(session.sid, session.live);
  }

  /** Forgets what is open for sessions that were quiet for `sessions.idle`; an open stream is not quiet (case C-087). */
  sweep(): void {
    const before = Date.now() - this.#settings().idle;
    for (const [sid, live] of this.#live) {
      if (live.lastSeen < before && isQuiet(live)) {
        this.#forget(sid, live);
      }
    }
  }

  #refuse(ended: string): void {
    const now = Date.now();
    this.#ended.set(ended, now + this.#settings().maxAge);
    const most = this.#settings().max * ENDED_PER_SESSION;
    // In the order of their ends, which is that of their times.
    for (const [sid, until] of this.#ended) {
      if (until > now && this.#ended.size <= most) {
        return;
      }
      this.#ended.delete(sid);
    }
  }

  #touch(sid: string): Live {
    const known = this.#live.get(sid);
    const live = known ?? nothingOpen();
    live.lastSeen = Date.now();
    this.#live.delete(sid);
    this.#live.set(sid, live);
    if (this.#live.size > this.#settings().max) {
      const idle = [...this.#live].filter(([other, { calls }]) => other !== sid && calls.size === 0);
      const oldest = idle.find(([, other]) => isQuiet(other)) ?? idle[0];
      if (oldest !== undefined) {
        this.#forget(...oldest);
      }
    }
    return live;
  }

  #forget(sid: string, live: Live): void {
    this.#live.delete(sid);
    live.over = true;
    for (const stop of live.watched.values()) {
      stop();
    }
    live.watched.clear();
    live.unhear?.();
    for (const outlet of live.outlets) {
      outlet.end();
    }
    live.replays?.close();
    for (const question of [...live.questions.values()]) {
      question.drop();
    }
    for (const controllers of live.calls.values()) {
      for (const controller of controllers) {
        controller.abort();
      }
    }
  }
}

/**
 * Registers a request of a session; returns how to take it out again. The session is not quiet before that: the call may
 * have been all that it did for hours, and what was said on its stream can be asked for again.
 */
export function beginCall({ live }: Session, id: RpcId, controller: AbortController): () => void {
  const done = track(live.calls, id, controller);
  return () => {
    done();
    live.lastSeen = Date.now();
  };
}

function nothingOpen(): Live {
  return {
    outlets: new Set(),
    unhear: undefined,
    replays: undefined,
    calls: new Map(),
    questions: new Map(),
    // A late answer to a question from before a restart must not meet a new question.
    lastQuestion: randomInt(2 ** 31),
    watched: new Map(),
    logLevel: undefined,
    lastSeen: 0,
    over: false,
  };
}

function isQuiet(live: Live): boolean {
  return live.calls.size === 0 && ![...live.outlets].some(({ connected }) => connected);
}

function labels(info: unknown): Implementation {
  return {
    name: (stringAt(info, 'name') ?? 'unnamed').slice(0, LONGEST_LABEL),
    version: (stringAt(info, 'version') ?? '').slice(0, LONGEST_LABEL),
  };
}

/** Declared capabilities as they are, or only their names where they are too long for a header. */
function bounded(declared: unknown): JsonObject {
  const capabilities = isObject(declared) ? declared : {};
  if (JSON.stringify(capabilities).length <= LONGEST_CAPABILITIES) {
    return capabilities;
  }
  const known = ['roots', 'sampling', 'elicitation', 'tasks'].filter((name) => isObject(capabilities[name]));
  return Object.fromEntries(known.map((name) => [name, {}]));
}
