import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Principal } from '../access/principal.ts';
import type { Ender } from '../base/ender.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import type { Sealer } from '../base/sealed.ts';
import type { Settings } from '../config/settings.ts';
import type { RpcId } from '../protocol/json-rpc.ts';
import type { Implementation } from '../protocol/model.ts';
import { isLegacy } from '../protocol/versions.ts';
import { track } from './calls.ts';
import { type Afar, endLive, isQuiet, type Live, nothingOpen } from './live.ts';

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
  readonly #afar: ((sid: string, principal: string) => Afar) | undefined;
  #onEnd: (sid: string, until: number) => void = () => {};

  /** `afar`: what of a session may be at other replicas; absent: there are none. */
  constructor(
    sealer: Sealer,
    settings: () => Settings['sessions'],
    afar?: (sid: string, principal: string) => Afar,
  ) {
    this.#sealer = sealer;
    this.#settings = settings;
    this.#afar = afar;
  }

  /** `run` is told of each session whose id is refused from now on, and until when that has to be known. */
  onEnd(run: (sid: string, until: number) => void): void {
    this.#onEnd = run;
  }

  /** Most ended sessions that are remembered. */
  get mostEnded(): number {
    return this.#settings().max * ENDED_PER_SESSION;
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
      live: nothingOpen('', undefined),
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
      live: this.#touch(sid, principal.key),
    };
  }

  /** What is open here for the session of that name, where it is this principal's. */
  liveOf(sid: unknown, principal: unknown): Live | undefined {
    const live = this.#live.get(String(sid));
    return live?.principal === principal ? live : undefined;
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
      const until = Date.now() + this.#settings().maxAge;
      this.#refuse(session.sid, until);
      this.#onEnd(session.sid, until);
    }
    this.#forget(session.sid, session.live);
  }

  /** They were ended elsewhere, and their ids are refused until then. */
  endedElsewhere(ended: ReadonlyMap<string, number>): void {
    for (const [sid, until] of ended) {
      this.#refuse(sid, until);
      const live = this.#live.get(sid);
      if (live !== undefined) {
        this.#forget(sid, live);
      }
    }
  }

  /** Forgets what is open for sessions that were quiet for `sessions.idle`; an open stream is not quiet (case C-087). */
  sweep(): void {
    const before = Date.now() - this.#settings().idle;
    for (const [sid, live] of this.#live) {
      if (live.lastSeen < before && isQuiet(live)) {
        void this.#forgetQuiet(sid, live);
      }
    }
  }

  /** What it watches is told on a stream that may be at another replica. */
  async #forgetQuiet(sid: string, live: Live): Promise<void> {
    if (live.afar !== undefined && live.watched.size > 0 && (await live.afar.listens())) {
      live.lastSeen = Date.now();
    } else {
      this.#forget(sid, live);
    }
  }

  #refuse(sid: string, until: number): void {
    const now = Date.now();
    this.#ended.set(sid, until);
    // About in the order of their times.
    for (const [oldest, time] of this.#ended) {
      if (time > now && this.#ended.size <= this.mostEnded) {
        return;
      }
      this.#ended.delete(oldest);
    }
  }

  #touch(sid: string, principal: string): Live {
    const known = this.#live.get(sid);
    const live = known ?? nothingOpen(principal, this.#afar?.(sid, principal));
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
    endLive(live);
  }
}

/**
 * Registers a request of a session; returns how to take it out again. The session is not quiet before that: the call may
 * have been all that it did for hours, and what was said on its stream can be asked for again.
 */
export function beginCall({ live }: Session, id: RpcId, ender: Ender): () => void {
  const done = track(live.calls, id, ender);
  return () => {
    done();
    live.lastSeen = Date.now();
  };
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
