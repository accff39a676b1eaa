import type { Allowance } from '../access/allowance.ts';
import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import { at } from '../base/time.ts';
import type { Regime, Standing } from './regime.ts';
import { ReplayBudget } from './replay.ts';
import { Unread } from './unread.ts';

/** The long-lived streams, so that their number is bounded and each gets a proper end at shutdown. */
export class Streams {
  /** What is kept of those that can be taken up again. */
  readonly kept = new ReplayBudget();
  readonly unread = new Unread(() => this.#regime().settings.streams.unreadBytes);
  readonly #regime: () => Regime;
  readonly #allowance: Pick<Allowance, 'stream'>;
  readonly #open = new Set<{ readonly end: () => void }>();
  readonly #staying = new Set<{ standing: Standing; readonly end: () => void }>();

  constructor(regime: () => Regime, allowance: Pick<Allowance, 'stream'>) {
    this.#regime = regime;
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
    if (this.#open.size >= this.#regime().settings.streams.max) {
      throw new GatewayError('STREAMS_FULL');
    }
    this.#allowance.stream(principal)();
  }

  /**
   * `end` ends the stream gracefully: at a shutdown, and as for {@link stay}. Returns how to take it out again.
   */
  add(end: () => void, standing: Standing): () => void {
    const leave = this.#allowance.stream(standing.principal);
    const entry = { end };
    this.#open.add(entry);
    const go = this.stay(end, standing);
    return () => {
      go();
      leave();
      this.#open.delete(entry);
    };
  }

  /**
   * `end` runs when that is over which somebody signed in with, and when a configuration does not let them in any more.
   * Returns how to be no longer concerned.
   */
  stay(end: () => void, standing: Standing): () => void {
    const { expires } = standing.principal;
    const entry = { standing, end };
    this.#staying.add(entry);
    const over = expires === undefined ? undefined : at(expires, end);
    // The configuration may have changed since the request came in.
    queueMicrotask(() => this.#judge(entry));
    return () => {
      over?.();
      this.#staying.delete(entry);
    };
  }

  /** There is another regime: ends the streams of those whom it does not let in. */
  review(): void {
    for (const entry of [...this.#staying]) {
      this.#judge(entry);
    }
  }

  #judge(entry: { standing: Standing; readonly end: () => void }): void {
    const now = this.#regime().now(entry.standing);
    if (now !== undefined) {
      entry.standing = now;
    } else if (this.#staying.delete(entry)) {
      entry.standing.log.info(
        { principal: entry.standing.principal.id },
        'not let in any more: a stream ends',
      );
      entry.end();
    }
  }

  /** Ends all of them (spec 2026-07-28: patterns/subscriptions, Graceful Closure). */
  endAll(): void {
    for (const { end } of [...this.#open]) {
      end();
    }
    this.#open.clear();
  }
}
