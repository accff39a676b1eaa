import { type Code, forever, get, giveBack, i32, load, type Program, set, v128, when } from './assembly.ts';

/** What the program gives back besides the place of the quote that ends the string: there is none. */
export const NO_STRING = -1;
/** This, less the state to go on with (1 for an escape, twice {@link HEX_LEFT}): the string goes on behind what was looked at. */
export const GOES_ON = -2;

// Parameters and locals of the program.
const AT = 0;
const END = 1;
/** 1: the byte at AT is escaped. */
const AFTER_ESCAPE = 2;
/** A bit for each byte from AT on that has to be a hexadecimal digit. */
const HEX_LEFT = 3;
const QUOTES = 4;
const ESCAPES = 5;
const ESCAPED = 6;
const HEX = 7;
const UP_TO_END = 8;
const BYTES = 9;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SMALL_U = 0x75;
const ODD_BITS = 0x2_aaaa;
const SIXTEEN_BITS = 0xffff;

const equal = (byte: number): Code => v128.equal(get(BYTES), v128.all(byte));
const less = (bytes: Code, byte: number): Code => v128.less(bytes, v128.all(byte));
const control: Code = less(get(BYTES), 0x20);
const digit: Code = less(v128.sub(get(BYTES), v128.all(0x30)), 10);
const letter: Code = less(v128.sub(v128.or(get(BYTES), v128.all(0x20)), v128.all(0x61)), 6);

/** What may be escaped, `"\/bfnrtu`: a bit for each upper half of a byte, in tables by its lower and by its upper half. */
const byLower = new Array<number>(16).fill(0);
const byUpper = new Array<number>(16).fill(0);
for (const [bit, upper] of [0x2, 0x5, 0x6, 0x7].entries()) {
  byUpper[upper] = 1 << bit;
}
for (const byte of Buffer.from('"\\/bfnrtu')) {
  byLower[byte & 0xf] = (byLower[byte & 0xf] ?? 0) | (byUpper[byte >> 4] ?? 0);
}
const escapable: Code = v128.differ(
  v128.and(
    v128.at(v128.of(byLower), v128.and(get(BYTES), v128.all(0xf))),
    v128.at(v128.of(byUpper), v128.shr(get(BYTES), i32.of(4))),
  ),
  v128.all(0),
);

/**
 * Sets ESCAPED to the bytes behind a backslash that is not escaped itself, and ESCAPES to those backslashes: of each run of
 * them every other one. A subtraction finds all runs at once (Keiser and Lemire, Validating and parsing JSON, 2019, 3.1.1).
 */
const findEscaped: readonly Code[] = [
  set(ESCAPED, i32.and(get(ESCAPES), i32.xor(get(AFTER_ESCAPE), i32.of(-1)))),
  set(
    ESCAPED,
    i32.xor(
      i32.sub(i32.or(i32.shl(get(ESCAPED), i32.of(1)), i32.of(ODD_BITS)), get(ESCAPED)),
      i32.of(ODD_BITS),
    ),
  ),
  set(HEX, i32.and(get(ESCAPED), get(ESCAPES))),
  set(ESCAPED, i32.and(i32.xor(get(ESCAPED), i32.or(get(ESCAPES), get(AFTER_ESCAPE))), i32.of(SIXTEEN_BITS))),
  set(AFTER_ESCAPE, i32.and(i32.shr(get(HEX), i32.of(15)), i32.of(1))),
];

const upToEnd = (bits: Code): Code => i32.and(get(UP_TO_END), bits);
const none = (bits: Code): Code => i32.xor(bits, i32.of(-1));

/** Gives up where one of the four bytes behind a `\u` is no hexadecimal digit. Most texts have none, so it is apart. */
const checkHex: readonly Code[] = [
  set(HEX, i32.or(get(HEX), i32.shl(get(HEX), i32.of(1)))),
  set(HEX, i32.or(get(HEX_LEFT), i32.or(i32.shl(get(HEX), i32.of(1)), i32.shl(get(HEX), i32.of(3))))),
  set(HEX_LEFT, i32.shr(get(HEX), i32.of(16))),
  when(
    i32.and(upToEnd(i32.and(get(HEX), none(v128.bits(v128.or(digit, letter))))), i32.of(SIXTEEN_BITS)),
    giveBack(i32.of(NO_STRING)),
  ),
];

const lookCloser: readonly Code[] = [
  set(QUOTES, v128.bits(equal(QUOTE))),
  set(ESCAPES, v128.bits(equal(BACKSLASH))),
  ...findEscaped,
  set(QUOTES, i32.and(get(QUOTES), none(get(ESCAPED)))),
  // The bytes up to the first quote with it; all where there is none.
  set(UP_TO_END, i32.xor(get(QUOTES), i32.sub(get(QUOTES), i32.of(1)))),
  when(
    upToEnd(i32.or(v128.bits(control), i32.and(get(ESCAPED), none(v128.bits(escapable))))),
    giveBack(i32.of(NO_STRING)),
  ),
  set(HEX, i32.and(get(ESCAPED), v128.bits(equal(SMALL_U)))),
  when(i32.or(get(HEX), get(HEX_LEFT)), ...checkHex),
  when(get(QUOTES), giveBack(i32.add(get(AT), i32.trailingZeros(get(QUOTES))))),
];

/**
 * Looks for the end of a JSON string in the memory of the program, 16 bytes at a time. It takes where to begin and to stop, which
 * are multiples of 16, and a state in its two parts. Undefined where it cannot run.
 */
export function loadStringProgram(): Program | undefined {
  try {
    return load(
      { parameters: 4, numbers: 5, vectors: 1 },
      forever(
        when(
          i32.isZero(i32.less(get(AT), get(END))),
          giveBack(i32.sub(i32.of(GOES_ON), i32.or(get(AFTER_ESCAPE), i32.shl(get(HEX_LEFT), i32.of(1))))),
        ),
        set(BYTES, v128.load(get(AT))),
        when(
          i32.or(
            v128.isAny(v128.or(v128.or(equal(QUOTE), equal(BACKSLASH)), control)),
            i32.or(get(AFTER_ESCAPE), get(HEX_LEFT)),
          ),
          ...lookCloser,
        ),
        set(AT, i32.add(get(AT), i32.of(16))),
      ),
    );
  } catch {
    // A processor without vectors, or no room for the program: then bytes are looked at one by one.
    return undefined;
  }
}
