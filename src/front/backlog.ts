/** What of Node's writable streams is needed here; HTTP responses and pipes have it. */
export interface Sink {
  readonly writableNeedDrain: boolean;
  write(text: string): boolean;
  on(event: 'drain', run: () => void): unknown;
}

/**
 * Text on its way to one reader. It goes out as fast as it is read. One piece of any size may be on its way and another
 * wait behind it, so a large result is no fault; a reader that lets more than `mostBytes` wait besides is too slow.
 */
export class Backlog {
  readonly #sink: Sink;
  readonly #mostBytes: number;
  readonly #tooSlow: (waitingBytes: number) => void;
  #waiting: string[] = [];
  #waitingBytes = 0;

  constructor(sink: Sink, mostBytes: number, tooSlow: (waitingBytes: number) => void) {
    this.#sink = sink;
    this.#mostBytes = mostBytes;
    this.#tooSlow = tooSlow;
    sink.on('drain', () => this.flush());
  }

  write(text: string): void {
    if (this.#waiting.length === 0 && !this.#sink.writableNeedDrain) {
      this.#sink.write(text);
      return;
    }
    const behind = this.#waitingBytes;
    this.#waiting.push(text);
    this.#waitingBytes += Buffer.byteLength(text);
    if (behind > this.#mostBytes) {
      this.#tooSlow(this.#waitingBytes);
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
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}
