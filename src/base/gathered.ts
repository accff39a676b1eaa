/** A shorter piece is put together with those around it. */
const SHORT = 4_096;
/** So many bytes at most, and what is made for the first of them. */
const MOST_TOGETHER = 65_536;
const LEAST_TOGETHER = 1_024;

const NOTHING = Buffer.alloc(0);

/**
 * The pieces of a body as they come in. A peer may send every byte by itself, and a piece takes some 300 bytes of memory
 * however short it is: short ones are put together at once, so that a body takes about as much as it is long.
 */
export class Gathered {
  #pieces: Buffer[] = [];
  /** Short pieces: so many bytes at the start of a buffer that doubles when it is full. */
  #together = NOTHING;
  #filled = 0;
  #length = 0;

  /** Bytes in all. */
  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    // Most bodies come in one piece, which is kept as it is.
    const isFirst = this.#length === 0;
    this.#length += piece.length;
    if (isFirst || piece.length >= SHORT) {
      this.#close();
      this.#pieces.push(piece);
    } else {
      this.#join(piece);
    }
  }

  /** What has come in since the last time: no more pieces than there are times {@link SHORT} bytes, and a few. */
  take(): readonly Buffer[] {
    this.#close();
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#length = 0;
    return pieces;
  }

  #join(piece: Buffer): void {
    if (this.#filled + piece.length > MOST_TOGETHER) {
      this.#close();
    }
    const needed = this.#filled + piece.length;
    if (needed > this.#together.length) {
      const grown = Buffer.allocUnsafe(Math.min(MOST_TOGETHER, Math.max(LEAST_TOGETHER, needed * 2)));
      this.#together.copy(grown, 0, 0, this.#filled);
      this.#together = grown;
    }
    piece.copy(this.#together, this.#filled);
    this.#filled = needed;
  }

  /** A buffer that is half empty is kept for what comes, and what is in it is copied. */
  #close(): void {
    if (this.#filled === 0) {
      return;
    }
    const filled = this.#together.subarray(0, this.#filled);
    if (this.#filled * 2 > this.#together.length) {
      this.#pieces.push(filled);
      this.#together = NOTHING;
    } else {
      this.#pieces.push(Buffer.from(filled));
    }
    this.#filled = 0;
  }
}
