import { isUtf8 } from 'node:buffer';
import { putLongTexts, standIn } from '../base/long-text.ts';
import { type ReadJson, readJson } from './json-text.ts';

/** A shorter message is parsed whole: there is nothing to be saved. */
const SHORT = 8_192;
/** A shorter string is parsed with the rest. */
const LONG = 1_024;
/** Deeper values are parsed whole. */
const DEEPEST = 64;

/**
 * Where long strings may stay as they are, by the member of the message's outermost object, and of that: nothing there is
 * read on its way. texts: only in members that hold a text or bytes; all: anywhere.
 */
const REGIONS: Readonly<Record<string, Readonly<Record<string, Region>>>> = {
  params: { arguments: 'all' },
  result: { content: 'texts', contents: 'texts', messages: 'texts', structuredContent: 'all' },
};
type Region = 'texts' | 'all';
/** Members of content and of resources (spec: server/tools, server/resources, server/prompts). */
const TEXTS: ReadonlySet<string> = new Set(['text', 'data', 'blob']);

/**
 * Parses what a peer sent, as {@link readJson}. Long strings that nobody reads on their way stay bytes: see
 * base/long-text.ts.
 */
export function readJsonBytes(bytes: Buffer, mostBytes: number): ReadJson {
  const found = bytes.length < SHORT || !isUtf8(bytes) ? [] : longStrings(bytes);
  if (found === undefined || found.length === 0) {
    return readJson(bytes.toString('utf8'), mostBytes);
  }
  let around = '';
  let done = 0;
  for (const [at, { from, to }] of found.entries()) {
    around += bytes.toString('utf8', done, from) + standIn(at);
    done = to;
  }
  const read = readJson(around + bytes.toString('utf8', done), mostBytes);
  if (read.kind !== 'value' || typeof read.value !== 'object' || read.value === null) {
    return readJson(bytes.toString('utf8'), mostBytes);
  }
  putLongTexts(
    read.value,
    found.map(({ from, to }) => bytes.subarray(from, to)),
  );
  return read;
}

/** A string with its quotes. */
interface Span {
  readonly from: number;
  readonly to: number;
}

const NOWHERE: Span = { from: 0, to: 0 };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const SMALL_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The long strings that may stay bytes. Undefined: this is no JSON, or too deep to be looked at here. */
function longStrings(bytes: Buffer): readonly Span[] | undefined {
  const found: Span[] = [];
  const isObject: boolean[] = [];
  /** The name that was read last: of the value that comes, where one comes. */
  let name: Span = NOWHERE;
  let namesNext = false;
  let outermost: Readonly<Record<string, Region>> | undefined;
  let region: Region | undefined;
  for (let at = 0; at < bytes.length; at += 1) {
    const sign = bytes[at];
    switch (sign) {
      case QUOTE: {
        const span = { from: at, to: stringEnd(bytes, at) };
        if (span.to === -1) {
          return undefined;
        }
        if (namesNext) {
          name = span;
        } else if (span.to - at >= LONG && isUnread(region, isObject, bytes, name)) {
          found.push(span);
        }
        at = span.to - 1;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (isObject.length === 1) {
          outermost = memberOf(REGIONS, bytes, name);
        } else if (isObject.length === 2) {
          region = outermost === undefined ? undefined : memberOf(outermost, bytes, name);
        }
        namesNext = sign === OPEN_BRACE;
        if (isObject.push(namesNext) > DEEPEST) {
          return undefined;
        }
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        isObject.pop();
        namesNext = false;
        region = isObject.length > 2 ? region : undefined;
        break;
      case COMMA:
        namesNext = isObject.at(-1) === true;
        break;
      case COLON:
        namesNext = false;
        break;
      default:
    }
  }
  return found;
}

function isUnread(
  region: Region | undefined,
  isObject: readonly boolean[],
  bytes: Buffer,
  name: Span,
): boolean {
  const isText = () => isObject.at(-1) === true && TEXTS.has(nameAt(bytes, name));
  return region === 'all' || (region === 'texts' && isText());
}

function memberOf<T>(table: Readonly<Record<string, T>>, bytes: Buffer, name: Span): T | undefined {
  const key = nameAt(bytes, name);
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A name that is written with escapes is none of those that are looked for. */
function nameAt(bytes: Buffer, { from, to }: Span): string {
  return bytes.toString('latin1', from + 1, to - 1);
}

/** What a byte in a string is: a part of it as it stands, or one of these. */
const PLAIN = 0;
const ENDS = 1;
const ESCAPES = 2;
const FORBIDDEN = 3;
const KIND_OF = new Uint8Array(256);
KIND_OF.fill(FORBIDDEN, 0, 0x20);
KIND_OF[QUOTE] = ENDS;
KIND_OF[BACKSLASH] = ESCAPES;
const IS_ESCAPED = new Uint8Array(256);
for (const sign of Buffer.from('"\\/bfnrt')) {
  IS_ESCAPED[sign] = 1;
}
const HEX = /^[0-9a-fA-F]{4}$/;

function kindAt(bytes: Buffer, at: number): number {
  return KIND_OF[bytes[at] ?? 0] ?? FORBIDDEN;
}

/**
 * Behind the quote that ends the string whose first quote is at `from`; -1 where it does not end, or is none (RFC 8259, 7).
 * Looks at bytes rather than letting V8 parse them, so that nothing has to be allocated for a text of megabytes.
 */
function stringEnd(bytes: Buffer, from: number): number {
  const fours = bytes.length - 4;
  let at = from + 1;
  for (;;) {
    while (
      at <= fours &&
      (kindAt(bytes, at) | kindAt(bytes, at + 1) | kindAt(bytes, at + 2) | kindAt(bytes, at + 3)) === PLAIN
    ) {
      at += 4;
    }
    while (at < bytes.length && kindAt(bytes, at) === PLAIN) {
      at += 1;
    }
    const kind = at < bytes.length ? kindAt(bytes, at) : FORBIDDEN;
    if (kind === ENDS) {
      return at + 1;
    }
    const length = kind === ESCAPES ? escapeAt(bytes, at + 1) : 0;
    if (length === 0) {
      return -1;
    }
    at += length;
  }
}

/** Length of an escape whose second byte is there; 0 where it is none. */
function escapeAt(bytes: Buffer, second: number): number {
  const sign = bytes[second] ?? 0;
  if (IS_ESCAPED[sign] === 1) {
    return 2;
  }
  return sign === SMALL_U && HEX.test(bytes.toString('latin1', second + 1, second + 5)) ? 6 : 0;
}
