import { isUtf8 } from 'node:buffer';

/** Fewer bytes are put together: to go from piece to piece would cost more. */
const LEAST = 131_072;
/** So are pieces that are smaller than this on average, since each is written by itself. */
const LEAST_PIECE = 16_384;

/**
 * Bytes in the pieces they came in. A message of megabytes that nobody has to have in one would otherwise be copied, and V8
 * collects garbage by how many bytes were asked for.
 */
export class Pieces {
  readonly all: readonly Buffer[];
  readonly length: number;
  readonly #starts: readonly number[];

  constructor(all: readonly Buffer[]) {
    let length = 0;
    this.all = all;
    this.#starts = all.map((piece) => {
      length += piece.length;
      return length - piece.length;
    });
    this.length = length;
  }

  /** What of them is between two places; none of it is copied, and pieces before it are not looked at. */
  between(from: number, to: number): Pieces {
    const found: Buffer[] = [];
    for (let at = this.#pieceAt(from); at < this.all.length; at += 1) {
      const [piece, start = to] = [this.all[at], this.#starts[at]];
      if (piece === undefined || start >= to) {
        break;
      }
      found.push(piece.subarray(Math.max(0, from - start), Math.min(piece.length, to - start)));
    }
    return new Pieces(found);
  }

  /** The last piece that begins there or before. */
  #pieceAt(place: number): number {
    let [from, to] = [0, this.all.length];
    while (to - from > 1) {
      const middle = (from + to) >> 1;
      if ((this.#starts[middle] ?? 0) <= place) {
        from = middle;
      } else {
        to = middle;
      }
    }
    return from;
  }

  /** In one; copied where they are several. */
  joined(): Buffer {
    const [only] = this.all;
    return only !== undefined && this.all.length === 1 ? only : Buffer.concat(this.all, this.length);
  }

  toString(encoding: BufferEncoding = 'utf8', from = 0, to = this.length): string {
    const [only] = this.all;
    return only !== undefined && this.all.length === 1
      ? only.toString(encoding, from, to)
      : this.between(from, to).joined().toString(encoding);
  }

  /** False: it is no UTF-8, or nobody can tell without joining them. */
  get isUtf8(): boolean {
    let begun: Buffer = NOTHING;
    return (
      this.all.every((piece) => {
        const from = continued(piece);
        const to = Math.max(from, lastCharacter(piece));
        const across = Buffer.concat([begun, piece.subarray(0, from)]);
        begun = piece.subarray(to);
        return isUtf8(across) && isUtf8(piece.subarray(from, to));
      }) && isUtf8(begun)
    );
  }
}

/** Bytes as they came, in one or in pieces. */
export type Bytes = Buffer | Pieces;

const NOTHING = Buffer.alloc(0);

/** These bytes, in one unless they are many in large pieces. */
export function bytesOf(pieces: readonly Buffer[]): Bytes {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) {
    return only;
  }
  const bytes = new Pieces(pieces);
  return bytes.length < LEAST || pieces.length * LEAST_PIECE > bytes.length ? bytes.joined() : bytes;
}

export function isBytes(value: unknown): value is Bytes {
  return Buffer.isBuffer(value) || value instanceof Pieces;
}

export function inPieces(bytes: Bytes): Pieces {
  return bytes instanceof Pieces ? bytes : new Pieces([bytes]);
}

/** A character has at most four bytes, all but the first of which say that they continue one (RFC 3629, 3). */
const MOST_CONTINUED = 3;
const isContinuing = (byte = 0) => (byte & 0xc0) === 0x80;

/** How many bytes at the start of a piece continue a character that began before it. */
function continued(piece: Buffer): number {
  let at = 0;
  while (at < MOST_CONTINUED && isContinuing(piece[at])) {
    at += 1;
  }
  return at;
}

/** Where the last character begins that is not ASCII; the end where that comes last. */
function lastCharacter(piece: Buffer): number {
  let at = piece.length - 1;
  while (at > 0 && piece.length - at <= MOST_CONTINUED && isContinuing(piece[at])) {
    at -= 1;
  }
  return (piece[at] ?? 0) < 0x80 ? piece.length : Math.max(0, at);
}
