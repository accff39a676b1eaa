import { write, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { after } from './time.ts';

/** Most characters that wait for a slow reader; the lines after them are lost. */
const MOST_WAITING = 8 * 1024 * 1024;
/** A pipe that is full is tried again after this, in ms. */
const RETRY_MS = 50;
/** For what waits when the process ends, in ms: without anything being taken, between tries, and in all. */
const LAST_LINES_MS = { idle: 500, retry: 5, most: 5_000 };

/**
 * Lines for a descriptor whose disk may be full and whose reader may be slow or gone. None of that may end the process,
 * keep it from ending or fill its memory: there is nobody to tell, so what cannot be written is lost.
 */
export class LogOutput {
  readonly #fd: number;
  readonly #sync: boolean;
  readonly #waiting: string[] = [];
  #length = 0;
  #busy = false;
  /** A thread has what is left in hand, and ends it even where the process ends first. */
  #inHand = false;
  /** What has not found room yet. */
  #rest: Buffer = Buffer.alloc(0);

  /** `sync`: each line is written before `write` returns, as long as there is room. */
  constructor(fd: number, { sync }: { readonly sync: boolean }) {
    this.#fd = fd;
    this.#sync = sync;
    process.once('exit', () => this.#last());
  }

  /** Whole lines, with their end. Never throws. */
  write(lines: string): void {
    if (this.#length + lines.length > MOST_WAITING) {
      return;
    }
    this.#waiting.push(lines);
    this.#length += lines.length;
    if (!this.#busy) {
      this.#go();
    }
  }

  /** The same as a stream. */
  stream(): Writable {
    return new Writable({
      decodeStrings: false,
      write: (lines, _encoding, done) => {
        this.write(String(lines));
        done();
      },
    });
  }

  #go(): void {
    if (!this.#more()) {
      this.#busy = false;
    } else if (this.#sync) {
      this.#wrote(...this.#tried());
    } else {
      this.#busy = true;
      this.#inHand = true;
      write(this.#fd, this.#rest, (error, bytes) => {
        this.#inHand = false;
        this.#wrote(error, bytes);
      });
    }
  }

  /** Whether there is anything to write. */
  #more(): boolean {
    if (this.#rest.length === 0) {
      this.#rest = Buffer.from(this.#waiting.join(''));
      this.#waiting.length = 0;
      this.#length = 0;
    }
    return this.#rest.length > 0;
  }

  #tried(): [NodeJS.ErrnoException | null, number] {
    try {
      return [null, writeSync(this.#fd, this.#rest)];
    } catch (thrown) {
      return [thrown as NodeJS.ErrnoException, 0];
    }
  }

  #wrote(error: NodeJS.ErrnoException | null, bytes: number): void {
    if (error?.code === 'EAGAIN') {
      this.#busy = true;
      after(RETRY_MS, () => this.#go());
      return;
    }
    // What failed is given up: the next line may find room again.
    this.#rest = this.#rest.subarray(error === null ? bytes : this.#rest.length);
    this.#go();
  }

  #last(): void {
    if (this.#inHand) {
      this.#rest = this.#rest.subarray(this.#rest.length);
    }
    const begun = performance.now();
    let taken = begun;
    while (this.#more()) {
      const [error, bytes] = this.#tried();
      const now = performance.now();
      taken = bytes > 0 ? now : taken;
      this.#rest = this.#rest.subarray(bytes);
      const isOver = now - taken > LAST_LINES_MS.idle || now - begun > LAST_LINES_MS.most;
      if (isOver || (error !== null && error.code !== 'EAGAIN')) {
        return;
      }
      if (error !== null) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_LINES_MS.retry);
      }
    }
  }
}
