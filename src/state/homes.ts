import { createHash } from 'node:crypto';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { after } from '../base/time.ts';
import type { Homes, OwnRequest } from '../upstream/replicas.ts';
import type { State } from './state.ts';

/** For how long a replica that says nothing more is still taken for the home of a connection, in ms. */
const HELD_MS = 30_000;
/** How often those that are open are told to be so, in ms. */
const RENEW_MS = 10_000;

export interface SharedHomesOptions {
  readonly state: State;
  /** Has another replica make a request. */
  readonly ask: (home: string, request: OwnRequest) => Promise<JsonObject>;
  readonly log: Log;
}

type Own = Parameters<Homes['run']>[2];

/** The shared state says which replica has a connection, and what has its home here is looked up no more. */
export class SharedHomes implements Homes {
  readonly #options: SharedHomesOptions;
  readonly #mine = new Map<string, Own>();
  #cancelRenewal: (() => void) | undefined;

  constructor(options: SharedHomesOptions) {
    this.#options = options;
  }

  async run(name: string, request: OwnRequest, own: Own): Promise<JsonObject> {
    const { state, ask, log } = this.#options;
    const key = `home:${createHash('sha256').update(name).digest('base64url')}`;
    const home = await this.#homeOf(key, own);
    if (home === state.replica) {
      return own.here();
    }
    try {
      return await ask(home, request);
    } catch (thrown) {
      if (!(thrown instanceof GatewayError && thrown.code === 'PEER_ABSENT')) {
        throw thrown;
      }
      log.info({ upstream: request.upstream, home }, 'the replica that had a connection of a user is gone');
      await state.drop(key, home);
      // Whoever is the first to notice takes its place.
      const next = await this.#homeOf(key, own);
      return next === state.replica ? own.here() : ask(next, request);
    }
  }

  /** No other replica waits for what was here. */
  async close(): Promise<void> {
    this.#cancelRenewal?.();
    const { state } = this.#options;
    const left = [...this.#mine.keys()];
    this.#mine.clear();
    await Promise.allSettled(left.map((key) => state.drop(key, state.replica)));
  }

  async #homeOf(key: string, own: Own): Promise<string> {
    const { state, log } = this.#options;
    if (this.#mine.has(key)) {
      return state.replica;
    }
    try {
      const home = await state.claim(key, state.replica, HELD_MS);
      if (home === state.replica) {
        this.#mine.set(key, own);
        this.#cancelRenewal ??= after(RENEW_MS, () => void this.#renew());
      }
      return home;
    } catch (thrown) {
      log.debug({ err: thrown }, 'nobody can say which replica has a connection: this one opens its own');
      return state.replica;
    }
  }

  async #renew(): Promise<void> {
    await Promise.all([...this.#mine].map(([key, own]) => this.#renewOne(key, own)));
    this.#cancelRenewal = this.#mine.size === 0 ? undefined : after(RENEW_MS, () => void this.#renew());
  }

  async #renewOne(key: string, own: Own): Promise<void> {
    const { state, log } = this.#options;
    try {
      if (!own.isOpen()) {
        this.#mine.delete(key);
        await state.drop(key, state.replica);
      } else if (!(await state.renew(key, state.replica, HELD_MS))) {
        // It lapsed while nothing could be reached: whoever came first meanwhile keeps it.
        this.#mine.delete(key);
        await this.#homeOf(key, own);
      }
    } catch (thrown) {
      log.debug({ err: thrown }, 'a connection of a user is still open here, and nobody could be told');
    }
  }
}
