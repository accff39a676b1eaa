import { putLongTexts, standIn } from '../base/long-text.ts';
import { type Bytes, inPieces, type Pieces } from '../base/pieces.ts';
import { StringEnd } from '../base/string-end.ts';
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
/** Members of a result that make it a list: all of it is read, so it is parsed whole. */
const LISTS: ReadonlySet<string> = new Set(['tools', 'prompts', 'resources', 'resourceTemplates']);
/** Members of content and of resources (spec: server/tools, server/resources, server/prompts). */
const TEXTS: ReadonlySet<string> = new Set(['text', 'data', 'blob']);

/**
 * Parses what a peer sent, as {@link readJson}. Long strings that nobody reads on their way stay bytes: see
 * base/long-text.ts.
 */
export function readJsonBytes(given: Bytes, mostBytes: number): ReadJson {
  const bytes = given.length < SHORT ? undefined : inPieces(given);
  const found = bytes === undefined ? [] : longStrings(bytes);
  if (bytes === undefined || found.length === 0) {
    return readJson(given.toString(), mostBytes);
  }
  let around = '';
  let done = 0;
  for (const [at, { from, to }] of found.entries()) {
    around += bytes.toString('utf8', done, from) + standIn(at);
    done = to;
  }
  const read = readJson(around + bytes.toString('utf8', done), mostBytes);
  if (read.kind !== 'value' || typeof read.value !== 'object' || read.value === null) {
    return readJson(bytes.toString(), mostBytes);
  }
  putLongTexts(
    read.value,
    found.map(({ text }) => text),
  );
  return read;
}

/** A string with its quotes. */
interface Span {
  readonly from: number;
  readonly to: number;
}

interface LongString extends Span {
  readonly text: Pieces;
}

const NOWHERE: Span = { from: 0, to: 0 };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The long strings that may stay bytes; none where this is no JSON, a list, or too deep to be looked at here. */
function longStrings(bytes: Pieces): readonly LongString[] {
  const look = new Look(bytes);
  let start = 0;
  for (const piece of bytes.all) {
    if (!look.through(piece, start)) {
      return [];
    }
    start += piece.length;
  }
  return look.found;
}

/** One look over a message from piece to piece. */
class Look {
  readonly #bytes: Pieces;
  readonly #end = new StringEnd();
  readonly #isObject: boolean[] = [];
  readonly found: LongString[] = [];
  /** Where the string began that goes on from the piece before. */
  #begun: number | undefined;
  /** The name that was read last: of the value that comes, where one comes. */
  #name = NOWHERE;
  #namesNext = false;
  #outermost: Readonly<Record<string, Region>> | undefined;
  #region: Region | undefined;

  constructor(bytes: Pieces) {
    this.#bytes = bytes;
  }

  /** Looks at the piece that begins at `start`. False: there is nothing to be found in this message. */
  through(piece: Buffer, start: number): boolean {
    let at = 0;
    if (this.#begun !== undefined) {
      at = this.#ended(this.#begun, start, this.#end.further(piece, 0), piece.length);
    }
    while (at >= 0 && at < piece.length) {
      if (piece[at] === QUOTE) {
        at = this.#ended(start + at, start, this.#end.first(piece, at + 1), piece.length);
      } else if (this.#sign(piece[at])) {
        at += 1;
      } else {
        return false;
      }
    }
    return at >= 0;
  }

  /** Takes note of a string; returns where to go on in the piece, -1 where it was none. `end`: in the piece. */
  #ended(from: number, start: number, end: number | undefined, length: number): number {
    this.#begun = end === undefined ? from : undefined;
    if (end === undefined || end === -1) {
      return end ?? length;
    }
    const to = start + end;
    if (this.#namesNext) {
      this.#name = { from, to };
    } else if (to - from >= LONG && this.#isUnread()) {
      const text = this.#bytes.between(from, to);
      if (text.isUtf8) {
        this.found.push({ from, to, text });
      }
    }
    return end;
  }

  /** Anything but a string. False: deeper than is looked at here, or a list. */
  #sign(sign: number | undefined): boolean {
    const isObject = this.#isObject;
    switch (sign) {
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (isObject.length === 1) {
          this.#outermost = this.#memberOf(REGIONS);
        } else if (isObject.length === 2 && this.#outermost !== undefined) {
          this.#region = this.#memberOf(this.#outermost);
          if (sign === OPEN_BRACKET && this.#outermost === REGIONS['result'] && LISTS.has(this.#key())) {
            return false;
          }
        }
        this.#namesNext = sign === OPEN_BRACE;
        return isObject.push(this.#namesNext) <= DEEPEST;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        isObject.pop();
        this.#namesNext = false;
        this.#region = isObject.length > 2 ? this.#region : undefined;
        return true;
      case COMMA:
        this.#namesNext = isObject.at(-1) === true;
        return true;
      case COLON:
        this.#namesNext = false;
        return true;
      default:
        return true;
    }
  }

  #isUnread(): boolean {
    const region = this.#region;
    return (
      region === 'all' || (region === 'texts' && this.#isObject.at(-1) === true && TEXTS.has(this.#key()))
    );
  }

  #memberOf<T>(table: Readonly<Record<string, T>>): T | undefined {
    const key = this.#key();
    return Object.hasOwn(table, key) ? table[key] : undefined;
  }

  /** A name that is written with escapes is none of those that are looked for. */
  #key(): string {
    const { from, to } = this.#name;
    return this.#bytes.toString('latin1', from + 1, to - 1);
  }
}
