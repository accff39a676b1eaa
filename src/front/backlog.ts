import { after } from '../base/time.ts';

/** What of Node's writable streams is needed here; HTTP responses and pipes have it. */
export interface Sink {
  readonly writableNeedDrain: boolean;
  write(text: string): boolean;
  on(event: 'drain', run: () => void): unknown;
}

/** How long a reader may take nothing while too much waits for it, in ms. */
export const STALL_MS = 10_000;
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
  readonly #waits: (bytes: number) => void;
  readonly #stallMs: number;
  readonly #waiting: string[] = [];
  #bytes = 0;
  /** What the sink was given since it last had room. */
  #given = 0;
  #stopStall: (() => void) | undefined;

  /** `waits` is told how much the reader has still to read, here and in the sink, whenever that is more or less. */
  constructor(
    sink: Sink,
    mostBytes: number,
    tooSlow: (waitingBytes: number) => void,
    waits: (bytes: number) => void = () => {},
    stallMs = STALL_MS,
  ) {
    this.#sink = sink;
    this.#mostBytes = mostBytes;
    this.#tooSlow = tooSlow;
    this.#waits = waits;
    this.#stallMs = stallMs;
    sink.on('drain', () => this.#drain());
  }

  /** Nothing waits, neither here nor in the sink beyond what that likes to hold. */
  get caughtUp(): boolean {
    return this.#waiting.length === 0 && !this.#sink.writableNeedDrain;
  }

  write(text: string): void {
    if (this.caughtUp) {
      this.#give(text);
      return;
    }
    const behind = this.#bytes;
    this.#waiting.push(text);
    this.#bytes += Buffer.byteLength(text);
    this.#waits(this.#bytes + this.#given);
    if (behind > this.#mostBytes * BURST) {
      this.#tooSlow(this.#bytes);
    } else if (behind > this.#mostBytes) {
      this.#stopStall ??= after(this.#stallMs, () => this.#tooSlow(this.#bytes));
    }
  }

  /** Hands everything that waits to the sink, whether it wants it or not. */
  flush(): void {
    const text = this.#waiting.join('');
    this.drop();
    if (text !== '') {
      this.#give(text);
    }
  }

  /** Forgets what waits. */
  drop(): void {
    this.#waiting.length = 0;
    this.#bytes = 0;
    this.#given = 0;
    this.#waits(0);
    this.#read();
  }

  /** What fits into the sink's own buffer counts for nothing. */
  #give(text: string): void {
    if (!this.#sink.write(text)) {
      this.#given += Buffer.byteLength(text);
      this.#waits(this.#bytes + this.#given);
    }
  }

  #drain(): void {
    this.#read();
    this.#given = 0;
    this.#waits(0);
    while (!this.#sink.writableNeedDrain) {
      const text = this.#waiting.shift();
      if (text === undefined) {
        return;
      }
      this.#bytes -= Buffer.byteLength(text);
      this.#give(text);
    }
  }

  /** The reader took something: it is not stalled, or not any more. */
  #read(): void {
    this.#stopStall?.();
    this.#stopStall = undefined;
  }
}
