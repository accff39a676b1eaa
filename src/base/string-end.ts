import { MEMORY_BYTES, type Program } from './assembly.ts';
import { GOES_ON, loadStringProgram, NO_STRING } from './string-program.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SMALL_U = 0x75;

const PLAIN = 0;
const ENDS = 1;
const ESCAPES = 2;
const FORBIDDEN = 3;
/** What a byte in a string is. */
const KIND_OF = new Uint8Array(256);
KIND_OF.fill(FORBIDDEN, 0, 0x20);
KIND_OF[QUOTE] = ENDS;
KIND_OF[BACKSLASH] = ESCAPES;
const IS_ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) {
  IS_ESCAPED[byte] = 1;
}
const IS_HEX = new Uint8Array(256);
for (const byte of Buffer.from('0123456789abcdefABCDEF')) {
  IS_HEX[byte] = 1;
}

/** Most strings are names and short: so many bytes are looked at one by one before the program for vectors is asked. */
const NEAR = 128;
const VECTOR_BYTES = 16;
/** So many are handed to it first, and each time more: of what comes behind a short string little is copied for nothing. */
const FIRST_STRETCH = 1_024;
const GROWTH = 4;
const ESCAPED = 1;
/** Four digits are left, a bit for each. */
const AFTER_U = 0b1111_0;

let loaded: { readonly program: Program | undefined } | undefined;

/**
 * Finds out where a string in a JSON text ends that is still bytes, and whether it is one (RFC 8259, 7); whether it is UTF-8
 * is not asked. Nothing is allocated for a text of megabytes, and the text may come in pieces.
 */
export class StringEnd {
  /** What has to come: {@link ESCAPED}, digits, or 0 for anything. */
  #state = 0;

  /** Behind the quote that ends the string; -1: it is none; undefined: it goes on in the next piece. `within`: behind its first quote. */
  first(piece: Uint8Array, within: number): number | undefined {
    this.#state = 0;
    const near = Math.min(within + NEAR, piece.length);
    return this.#byBytes(piece, within, near) ?? this.further(piece, near);
  }

  /** The same of a string that has begun before. */
  further(piece: Uint8Array, at: number): number | undefined {
    const many = piece.length - at - ((piece.length - at) % VECTOR_BYTES);
    loaded ??= { program: loadStringProgram() };
    const { program } = loaded;
    return program === undefined
      ? this.#byBytes(piece, at, piece.length)
      : (this.#byVectors(program, piece, at, at + many) ?? this.#byBytes(piece, at + many, piece.length));
  }

  #byVectors({ memory, run }: Program, piece: Uint8Array, from: number, to: number): number | undefined {
    let stretch = FIRST_STRETCH;
    let at = from;
    while (at < to) {
      const length = Math.min(stretch, to - at);
      memory.set(piece.subarray(at, at + length));
      const found = run(0, length, this.#state & 1, this.#state >> 1);
      if (found >= NO_STRING) {
        return found === NO_STRING ? found : at + found + 1;
      }
      this.#state = GOES_ON - found;
      at += length;
      stretch = Math.min(MEMORY_BYTES, stretch * GROWTH);
    }
    return undefined;
  }

  #byBytes(piece: Uint8Array, from: number, to: number): number | undefined {
    let state = this.#state;
    for (let at = from; at < to; at += 1) {
      const byte = piece[at] ?? 0;
      if (state === 0) {
        const kind = KIND_OF[byte];
        if (kind === ENDS) {
          return at + 1;
        }
        if (kind === FORBIDDEN) {
          return NO_STRING;
        }
        state = kind === PLAIN ? 0 : ESCAPED;
      } else if (state === ESCAPED) {
        state = byte === SMALL_U ? AFTER_U : 0;
        if (state === 0 && IS_ESCAPED[byte] === 0) {
          return NO_STRING;
        }
      } else if (IS_HEX[byte] === 1) {
        state = (state >> 2) << 1;
      } else {
        return NO_STRING;
      }
    }
    this.#state = state;
    return undefined;
  }
}
