import { GatewayError } from '../base/errors.ts';

/** The long-lived streams, so that their number is bounded and each gets a proper end at shutdown. */
export class Streams {
  readonly #most: number;
  readonly #open = new Set<{ readonly end: () => void }>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Throws STREAMS_FULL when there is no place for one more. Ask before the response begins. */
  reserve(): void {
    if (this.#open.size >= this.#most) {
      throw new GatewayError('STREAMS_FULL');
    }
  }

  /** `end` ends the stream gracefully. Returns how to take it out again. */
  add(end: () => void): () => void {
    const entry = { end };
    this.#open.add(entry);
    return () => {
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
