import { withExactNumbers } from './exact-numbers.ts';

/** What a peer's text turned out to be: a JSON value, no JSON, or JSON of a shape that costs more than its length tells. */
export type ReadJson =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'not-json'; readonly cause: unknown }
  | { readonly kind: 'excessive'; readonly excess: string };

/**
 * Deepest nesting of a message. Writing JSON is recursive where keys are numbers, here and in most peers, and overflows
 * the stack at about 2,700 levels. An item of a list that is too deep is left out alone (case C-014), so lists have to
 * get through with one of 2,000. @internal
 */
export const MOST_LEVELS = 2_048;
/**
 * Parts (objects, arrays, members) for each so many bytes that a message may have. A part takes up to 64 bytes of memory
 * and a microsecond or two of parsing however short it is written, so text of nothing but `{},{},` would cost thirty
 * times its length.
 */
const BYTES_PER_PART = 16;
/** So many parts are fine in any case: no message this small is worth a look. */
const FREE_PARTS = 4_096;

/**
 * Parses what a peer sent, after one look over the text that bounds what the value can cost. `mostBytes` is the largest
 * message there may be: its sixteenth part is the most parts that any message may have.
 */
export function readJson(text: string, mostBytes: number): ReadJson {
  const excess = excessOf(text, Math.max(FREE_PARTS, Math.floor(mostBytes / BYTES_PER_PART)));
  if (excess !== undefined) {
    return { kind: 'excessive', excess };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    return { kind: 'not-json', cause: thrown };
  }
  return { kind: 'value', value: withExactNumbers(value, text, stringEnd) };
}

/** The value of a text that is data as a whole, from somebody who is trusted with its size. Throws what `JSON.parse` throws. */
export function parseData(text: string): unknown {
  return withExactNumbers(JSON.parse(text), text, stringEnd, true);
}

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What is too much about the text, or undefined. Linear, whatever the text is; for what is no JSON it may say either. */
function excessOf(text: string, mostParts: number): string | undefined {
  if (text.length <= MOST_LEVELS) {
    return undefined;
  }
  let parts = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = stringEnd(text, at);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth += 1;
        parts += 1;
        if (depth > MOST_LEVELS) {
          return `nested more than ${MOST_LEVELS} levels deep`;
        }
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth -= 1;
        break;
      case COLON:
        parts += 1;
        break;
      default:
    }
    if (parts > mostParts) {
      return `of more than ${mostParts} parts`;
    }
  }
  return undefined;
}

/** Most strings are short: so many signs are looked at one by one before the text is searched. */
const NEAR = 64;

/** Where the string that begins at `from` ends; the end of the text where it does not. */
function stringEnd(text: string, from: number): number {
  let at = from + 1;
  for (const near = Math.min(text.length, from + NEAR); at < near; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) {
      return at;
    }
    at += sign === BACKSLASH ? 1 : 0;
  }
  // What was escaped before is behind `at`, so the escapes in front of a quote are counted from there.
  for (let end = text.indexOf('"', at); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (end - escapes > at && text.charCodeAt(end - 1 - escapes) === BACKSLASH) {
      escapes += 1;
    }
    if (escapes % 2 === 0) {
      return end;
    }
  }
  return text.length;
}
