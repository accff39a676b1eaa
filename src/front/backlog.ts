import { after } from '../base/time.ts';

/** What of Node's writable streams is needed here; HTTP responses and pipes have it. */
export interface Sink {
  readonly writableNeedDrain: boolean;
  write(text: string): boolean;
  on(event: 'drain', run: () => void): unknown;
}

/** How long a reader may take nothing while too much waits for it, in ms. */
const STALL_MS = 10_000;
/** How many times as much may wait for a reader that goes on reading: several large results can come at once. */
const BURST = 16;

/**
 * Text on its way to one reader. It goes out as fast as it is read. Besides the newest piece, whose size says nothing
 * of the reader, `mostBytes` may wait; more is too much for a reader that takes nothing, much more for any.
 */
export class Backlog {
  readonly #sink: Sink;
  readonly #mostBytes: number;
  readonly #tooSlow: (waitingBytes: number) => void;
  readonly #waiting: string[] = [];
  #bytes = 0;
  #stopStall: (() => void) | undefined;

  constructor(sink: Sink, mostBytes: number, tooSlow: (waitingBytes: number) => void) {
    this.#sink = sink;
    this.#mostBytes = mostBytes;
    this.#tooSlow = tooSlow;
    sink.on('drain', () => this.#drain());
  }

  /** Nothing waits, neither here nor in the sink beyond what that likes to hold. */
  get caughtUp(): boolean {
    return this.#waiting.length === 0 && !this.#sink.writableNeedDrain;
  }

  write(text: string): void {
    if (this.caughtUp) {
      this.#sink.write(text);
      return;
    }
    const behind = this.#bytes;
    this.#waiting.push(text);
    this.#bytes += Buffer.byteLength(text);
    if (behind > this.#mostBytes * BURST) {
      this.#tooSlow(this.#bytes);
    } else if (behind > this.#mostBytes) {
      this.#stopStall ??= after(STALL_MS, () => this.#tooSlow(this.#bytes));
    }
  }

  /** Hands everything that waits to the sink, whether it wants it or not. */
  flush(): void {
    const text = this.#waiting.join('');
    this.drop();
    if (text !== '') {
      this.#sink.write(text);
    }
  }

  /** Forgets what waits. */
  drop(): void {
    this.#waiting.length = 0;
    this.#bytes = 0;
    this.#read();
  }

  #drain(): void {
    this.#read();
    while (!this.#sink.writableNeedDrain) {
      const text = this.#waiting.shift();
      if (text === undefined) {
        return;
      }
      this.#bytes -= Buffer.byteLength(text);
      this.#sink.write(text);
    }
  }

  /** The reader took something: it is not stalled, or not any more. */
  #read(): void {
    this.#stopStall?.();
    this.#stopStall = undefined;
  }
}
