import { RE2JS } from 're2js';
import { FAILS, FITS, type Outcome, type Run, UNSURE } from './run.ts';

/** Longer patterns are not compiled: those of real schemas have less than 200 characters. */
const LONGEST = 1_000;
/** Instructions of a compiled pattern: what each character of a text may cost. */
const LARGEST = 1_500;
/** Classes such as `\p{L}` hold hundreds of ranges each, which are merged when a pattern is compiled. */
const MOST_CLASSES = 16;

/** What is blank by ECMA-262; RE2 knows only that of ASCII. */
const BLANKS =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}';

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
    const pattern = RE2JS.compile(RE2JS.translateRegExp(withBlanks(source)));
    return pattern.programSize() > LARGEST ? null : pattern;
  } catch {
    // No pattern by RE2's rules; the findings of schemas say what is wrong with it.
    return null;
  }
}

/** The pattern with every `\s` meaning what it means in JavaScript, and no `[` within a class that could begin one. */
function withBlanks(source: string): string {
  let written = '';
  let inClass = false;
  for (let at = 0; at < source.length; at += 1) {
    const sign = source[at] ?? '';
    if (sign === '\\') {
      at += 1;
      const escaped = source[at] ?? '';
      written += blankOf(escaped, inClass) ?? `\\${escaped}`;
    } else if (sign === '[') {
      written += inClass ? '\\[' : '[';
      inClass = true;
    } else {
      inClass &&= sign !== ']';
      written += sign;
    }
  }
  return written;
}

function blankOf(escaped: string, inClass: boolean): string | undefined {
  if (escaped === 's') {
    return inClass ? BLANKS : `[${BLANKS}]`;
  }
  return escaped === 'S' && !inClass ? `[^${BLANKS}]` : undefined;
}
