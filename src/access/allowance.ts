import {
  BurstyRateLimiter,
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import type { Principal } from './principal.ts';

/** Window in which the requests of a burst are counted, in seconds. */
const BURST_WINDOW_S = 10;
/** When to come again where only the end of another request or stream can make room, in ms. */
const SOON_MS = 1_000;

type Bounds = Settings['limits']['perPrincipal'];
type Limiter = BurstyRateLimiter | RateLimiterAbstract;
/** Counts so many points in so many seconds, under a name of its own. */
export type LimiterOf = (name: string, points: number, seconds: number) => RateLimiterAbstract;

const inMemory: LimiterOf = (keyPrefix, points, duration) =>
  new RateLimiterMemory({ keyPrefix, points, duration });

/** What one principal may take of the gateway at once and in a second, so that nobody takes it all (0: no bound). */
export class Allowance {
  readonly #bounds: () => Bounds;
  readonly #limiterOf: LimiterOf;
  #rate: { readonly of: Bounds; readonly limiter: Limiter | undefined };
  readonly #requests = new Tally();
  readonly #streams = new Tally();

  /**
   * `bounds` is asked whenever one is needed: they may change while requests and streams are counted. Requests in a second
   * are counted by what `limiterOf` makes, everything else is what this process has under way.
   */
  constructor(bounds: () => Bounds, limiterOf = inMemory) {
    this.#bounds = bounds;
    this.#limiterOf = limiterOf;
    this.#rate = { of: bounds(), limiter: rateOf(bounds(), limiterOf) };
  }

  /**
   * Takes a request of this principal; how to give its place back when it is answered. Throws RATE_LIMITED, with
   * `data.retryAfterMs`, or rejects with it where there is a rate to count.
   */
  request({ key }: Principal): (() => void) | Promise<() => void> {
    const leave = this.#requests.enter(key, this.#bounds().concurrency, 'Too many are under way at once.');
    const limiter = this.#limiter();
    return limiter === undefined ? leave : this.#counted(limiter, key, leave);
  }

  async #counted(limiter: Limiter, key: string, leave: () => void): Promise<() => void> {
    try {
      await limiter.consume(key);
    } catch (thrown) {
      leave();
      throw thrown instanceof RateLimiterRes ? tooMany(thrown.msBeforeNext) : thrown;
    }
    return leave;
  }

  /** Takes a long-lived stream; returns how to give its place back. Throws RATE_LIMITED. */
  stream({ key }: Principal): () => void {
    return this.#streams.enter(key, this.#bounds().streams, 'Too many streams are open.');
  }

  /** What was counted so far is forgotten when the rate becomes another one, and only then. */
  #limiter(): Limiter | undefined {
    const bounds = this.#bounds();
    const { of } = this.#rate;
    if (bounds.requestsPerSecond !== of.requestsPerSecond || bounds.burst !== of.burst) {
      this.#rate = { of: bounds, limiter: rateOf(bounds, this.#limiterOf) };
    }
    return this.#rate.limiter;
  }
}

/** Counts what is under way for each key; a key with nothing is forgotten. */
class Tally {
  readonly #counts = new Map<string, number>();

  enter(key: string, most: number, detail: string): () => void {
    const count = this.#counts.get(key) ?? 0;
    if (most > 0 && count >= most) {
      throw tooMany(SOON_MS, detail);
    }
    this.#counts.set(key, count + 1);
    let inside = true;
    return () => {
      if (inside) {
        inside = false;
        this.#leave(key);
      }
    };
  }

  #leave(key: string): void {
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left === 0) {
      this.#counts.delete(key);
    } else {
      this.#counts.set(key, left);
    }
  }
}

function rateOf({ requestsPerSecond, burst }: Bounds, limiterOf: LimiterOf): Limiter | undefined {
  if (requestsPerSecond === 0) {
    return undefined;
  }
  const steady = limiterOf('rate', requestsPerSecond, 1);
  if (burst === 0) {
    return steady;
  }
  const extra = limiterOf('burst', burst, BURST_WINDOW_S);
  return new BurstyRateLimiter(steady, extra);
}

function tooMany(retryAfterMs: number, detail?: string): GatewayError {
  return new GatewayError('RATE_LIMITED', {
    data: { retryAfterMs },
    ...(detail === undefined ? {} : { detail }),
  });
}
