import { GatewayError } from '../base/errors.ts';
import type { SseStream } from './sse-stream.ts';

/** The long-lived streams, so that their number is bounded and each gets a proper end at shutdown. */
export class Streams {
  readonly #most: number;
  readonly #open = new Map<SseStream, () => void>();

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

  /** `farewell` writes what ends the stream gracefully. Returns how to take the stream out again. */
  add(stream: SseStream, farewell: () => void): () => void {
    this.#open.set(stream, farewell);
    return () => {
      this.#open.delete(stream);
    };
  }

  /** Ends all of them (spec 2026-07-28: patterns/subscriptions, Graceful Closure). */
  endAll(): void {
    for (const [stream, farewell] of this.#open) {
      farewell();
      stream.end();
    }
    this.#open.clear();
  }
}
