import type { Allowance } from '../access/allowance.ts';
import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import { at } from '../base/time.ts';
import { ReplayBudget } from './replay.ts';

/** The long-lived streams, so that their number is bounded and each gets a proper end at shutdown. */
export class Streams {
  /** What is kept of those that can be taken up again. */
  readonly kept = new ReplayBudget();
  readonly #most: number;
  readonly #allowance: Pick<Allowance, 'stream'>;
  readonly #open = new Set<{ readonly end: () => void }>();

  constructor(most: number, allowance: Pick<Allowance, 'stream'>) {
    this.#most = most;
    this.#allowance = allowance;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Throws STREAMS_FULL when there is no place for one more, RATE_LIMITED when there is none for this principal. Ask
   * before the response begins, and add the stream before anything else can.
   */
  reserve(principal: Principal): void {
    if (this.#open.size >= this.#most) {
      throw new GatewayError('STREAMS_FULL');
    }
    this.#allowance.stream(principal)();
  }

  /**
   * `end` ends the stream gracefully: at a shutdown, and when that is over which its principal signed in with. Returns
   * how to take it out again.
   */
  add(end: () => void, principal: Principal): () => void {
    const { expires } = principal;
    const leave = this.#allowance.stream(principal);
    const entry = { end };
    this.#open.add(entry);
    const stay = expires === undefined ? undefined : at(expires, end);
    return () => {
      stay?.();
      leave();
      this.#open.delete(entry);
    };
  }

  /** Ends all of them (spec 2026-07-28: patterns/subscriptions, Graceful Closure). */
  endAll(): void {
    for (const { end } of [...this.#open]) {
      end();
    }
    this.#open.clear();
  }
}
