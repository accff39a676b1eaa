/** Where a line reader delivers. */
export interface LineSink {
  /** Asked before a line is decoded; false: it is not delivered. Absent: every line is. */
  wanted?(): boolean;
  /** One complete line without its line end (`\n` or `\r\n`). Empty lines are not delivered. */
  line(text: string): void;
  /** A line grew past the bound; it is skipped to its end. `head` is its first {@link KEPT} bytes. */
  overflow(head: Buffer): void;
  /** That line has ended: its head and its last {@link KEPT} bytes. */
  skipped(head: Buffer, tail: Buffer): void;
}

export interface LineReader {
  push(chunk: Buffer): void;
  /** The stream ended: what is left without a line end counts as a line. */
  end(): void;
}

/** Bytes kept of each end of a line that is too long. */
export const KEPT = 4_096;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** A buffer grown for one long line is not kept for the short ones after it. */
const RESTING = 65_536;

/**
 * Cuts a byte stream into lines. Bytes are decoded a whole line at a time, so a character split over chunks arrives
 * whole (C-029): 0x0A never occurs inside a UTF-8 sequence. Memory is bounded by `maxBytes` however the bytes arrive.
 */
export function createLineReader(maxBytes: number, sink: LineSink): LineReader {
  return new BoundedLines(maxBytes, sink);
}

/** The first byte from there on that is no line end: millions of empty lines are passed over at once. */
function textStart(chunk: Buffer, from: number): number {
  let at = from;
  while (chunk[at] === NEWLINE) {
    at += 1;
  }
  return at;
}

class BoundedLines implements LineReader {
  readonly #maxBytes: number;
  readonly #sink: LineSink;
  /** The unfinished line: `#length` bytes at the start of a buffer that doubles when it is full. */
  #held: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Head of the line being skipped. */
  #head: Buffer | undefined;

  constructor(maxBytes: number, sink: LineSink) {
    this.#maxBytes = Math.max(maxBytes, KEPT);
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let from = this.#length === 0 && this.#head === undefined ? textStart(chunk, 0) : 0;
    for (let at = chunk.indexOf(NEWLINE, from); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#finish(chunk.subarray(from, at));
      from = textStart(chunk, at + 1);
    }
    if (from < chunk.length) {
      this.#hold(chunk.subarray(from));
    }
  }

  end(): void {
    if (this.#length > 0 || this.#head !== undefined) {
      this.#finish(Buffer.alloc(0));
    }
  }

  /** `rest` ends the current line. */
  #finish(rest: Buffer): void {
    if (this.#head === undefined && this.#length === 0 && rest.length <= this.#maxBytes) {
      this.#deliver(rest);
      return;
    }
    this.#hold(rest);
    const line = this.#held.subarray(0, this.#length);
    const head = this.#head;
    this.#length = 0;
    this.#head = undefined;
    if (head === undefined) {
      this.#deliver(line);
    } else {
      this.#sink.skipped(head, Buffer.from(line));
    }
    if (this.#held.length > RESTING) {
      this.#held = Buffer.alloc(0);
    }
  }

  #deliver(line: Buffer): void {
    const end = line.at(-1) === RETURN ? line.length - 1 : line.length;
    if (end > 0 && this.#sink.wanted?.() !== false) {
      this.#sink.line(line.toString('utf8', 0, end));
    }
  }

  #hold(part: Buffer): void {
    if (this.#head !== undefined) {
      this.#holdTail(part);
    } else if (this.#length + part.length > this.#maxBytes) {
      this.#startSkipping(part);
    } else {
      this.#append(part);
    }
  }

  #startSkipping(part: Buffer): void {
    const fromHeld = this.#held.subarray(0, Math.min(this.#length, KEPT));
    const head = Buffer.concat([fromHeld, part.subarray(0, KEPT - fromHeld.length)]);
    this.#head = head;
    const tail = Buffer.from(this.#held.subarray(Math.max(this.#length - KEPT, 0), this.#length));
    this.#held = Buffer.alloc(0);
    this.#length = 0;
    this.#holdTail(tail);
    this.#holdTail(part);
    this.#sink.overflow(head);
  }

  /** Keeps the last {@link KEPT} bytes of what is held and `part`. */
  #holdTail(part: Buffer): void {
    if (part.length >= KEPT) {
      this.#length = 0;
      this.#append(part.subarray(-KEPT));
      return;
    }
    const excess = this.#length + part.length - KEPT;
    if (excess > 0) {
      this.#held.copyWithin(0, excess, this.#length);
      this.#length -= excess;
    }
    this.#append(part);
  }

  #append(part: Buffer): void {
    const needed = this.#length + part.length;
    if (needed > this.#held.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#held.length * 2, KEPT));
      this.#held.copy(grown, 0, 0, this.#length);
      this.#held = grown;
    }
    part.copy(this.#held, this.#length);
    this.#length = needed;
  }
}
