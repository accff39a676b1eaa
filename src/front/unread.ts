import type { ServerResponse } from 'node:http';
import type { Log } from '../base/log.ts';
import { STALL_MS } from './backlog.ts';

/** A shorter answer fits into the buffers of any connection. */
const SHORT = 16_384;

/** What waits for its readers, those of all clients together: each connection may have an answer that nobody reads. */
export class Unread {
  readonly #most: () => number;
  readonly #stallMs: number;
  /** Whoever has waited for longest is the first. */
  readonly #waiting = new Map<object, { readonly bytes: number; readonly cut: (waiting: number) => void }>();
  #bytes = 0;

  /** `most` is asked whenever there is more. `stallMs`: how long the reader of an answer may take nothing. */
  constructor(most: () => number, stallMs = STALL_MS) {
    this.#most = most;
    this.#stallMs = stallMs;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * So much waits for this reader now; with 0 it has read all there was. While all wait for too much together, whoever
   * waits for longest is cut, but not the one that speaks now.
   */
  waits(reader: object, bytes: number, cut: (waiting: number) => void): void {
    const before = this.#waiting.get(reader);
    this.#bytes += bytes - (before?.bytes ?? 0);
    if (bytes === 0) {
      this.#waiting.delete(reader);
      return;
    }
    this.#waiting.set(reader, { bytes, cut });
    while (this.#bytes > this.#most()) {
      const [longest] = this.#waiting;
      if (longest === undefined || longest[0] === reader) {
        return; // one answer may be larger than the bound
      }
      const [oldest, { bytes: waiting, cut: cutOff }] = longest;
      this.waits(oldest, 0, cutOff);
      cutOff(waiting);
    }
  }

  /** An answer that was handed to its connection whole. Its client is cut when it takes none of it for a while. */
  answer(response: ServerResponse, bytes: number, log: Log): void {
    if (bytes <= SHORT) {
      return;
    }
    const cut = () => {
      log.warn({ waiting: bytes }, 'a client did not read its answer and was cut');
      response.destroy();
    };
    response.setTimeout(this.#stallMs, cut);
    response.once('close', () => this.waits(response, 0, cut));
    this.waits(response, bytes, cut);
  }
}
