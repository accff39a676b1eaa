import { RE2JS } from 're2js';
import { FAILS, FITS, type Outcome, type Run, UNSURE } from './run.ts';

/** Longer patterns are not compiled: those of real schemas have less than 200 characters. */
const LONGEST = 1_000;
/** Instructions of a compiled pattern: what each character of a text may cost. */
const LARGEST = 1_500;
/** Classes such as `\p{L}` hold hundreds of ranges each, which are merged when a pattern is compiled. */
const MOST_CLASSES = 16;

/** What is blank by ECMA-262, and what is not; RE2 knows only that of ASCII. */
const BLANKS =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}';
const NOT_BLANKS =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}';
/** All but what ends a line by ECMA-262; to RE2 only `\\n` does. */
const ANY = '[^\\n\\r\\x{2028}\\x{2029}]';

/**
 * A `pattern` of somebody else's schema, run in time that is linear in the text (RE2), whatever it says. What needs to go
 * back (look-around, back-references) or is too large is not run at all: nobody knows then whether a text matches.
 */
export class LinearPattern {
  readonly source: string;
  /** Undefined until the first text; null where there is no linear form of it. */
  #compiled: RE2JS | null | undefined;

  constructor(source: string) {
    this.source = source;
  }

  test(text: string, run: Run): Outcome {
    if (this.#compiled === undefined) {
      // Compiling takes some 5 to 50 times what one step does, for each character.
      run.spend(100 + 10 * this.source.length);
      this.#compiled = compiled(this.source);
    }
    const pattern = this.#compiled;
    if (pattern === null || !run.affords(1 + Math.ceil((text.length * (8 + pattern.programSize())) / 6))) {
      return UNSURE;
    }
    return pattern.test(text) ? FITS : FAILS;
  }
}

/** Whether a pattern needs what only going back can do, or is too large to be run. */
export function isBeyondLinear(source: string): boolean {
  return source.length > LONGEST || /\(\?<?[=!]|\\[1-9]|\\k</.test(withoutEscapedSlashes(source));
}

function withoutEscapedSlashes(source: string): string {
  return source.replaceAll('\\\\', '');
}

function compiled(source: string): RE2JS | null {
  if (source.length > LONGEST || (source.match(/\\[pP]/g)?.length ?? 0) > MOST_CLASSES) {
    return null;
  }
  try {
    const meant = asMeant(source);
    const pattern = meant === undefined ? undefined : RE2JS.compile(RE2JS.translateRegExp(meant));
    return pattern === undefined || pattern.programSize() > LARGEST ? null : pattern;
  } catch {
    // No pattern by RE2's rules; the findings of schemas say what is wrong with it.
    return null;
  }
}

/** Half of a sign beyond U+FFFF, alone: what it means depends on whether the author's expressions have the flag `u`. */
const HALF = /u(?:d[89a-f][\da-f]{2}|\{0*d[89a-f][\da-f]{2}\})/iy;
/** Both halves, as JSON without them would be written. */
const PAIR = /u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})/iy;

/**
 * The pattern with every `.`, `\s` and `\u…\u…` meaning what it means in JavaScript, and no `[` within a class that could
 * begin one. Undefined where nobody knows what it means.
 */
function asMeant(source: string): string | undefined {
  let written = '';
  let inClass = false;
  for (let at = 0; at < source.length; at += 1) {
    const sign = source[at] ?? '';
    if (sign === '\\') {
      at += 1;
      const pair = matchAt(PAIR, source, at);
      if (pair === undefined && matchAt(HALF, source, at) !== undefined) {
        return undefined;
      }
      written += pair === undefined ? unescaped(source[at] ?? '', inClass) : codePointOf(pair);
      at += pair === undefined ? 0 : pair[0].length - 1;
    } else if (sign === '[') {
      written += inClass ? '\\[' : '[';
      inClass = true;
    } else {
      inClass &&= sign !== ']';
      written += sign === '.' && !inClass ? ANY : sign;
    }
  }
  return written;
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source) ?? undefined;
}

function codePointOf([, high = '', low = '']: RegExpExecArray): string {
  const sign = String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16));
  return `\\x{${sign.codePointAt(0)?.toString(16)}}`;
}

function unescaped(escaped: string, inClass: boolean): string {
  const signs = { s: BLANKS, S: NOT_BLANKS }[escaped];
  return signs === undefined ? `\\${escaped}` : inClass ? signs : `[${signs}]`;
}
