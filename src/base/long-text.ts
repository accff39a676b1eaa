import { randomBytes } from 'node:crypto';
import { ExactNumber } from './exact-number.ts';
import type { Pieces } from './pieces.ts';

/** Stands for a long text while the JSON around it is parsed or written. Never leaves the process, so nobody can send it. */
const STAND_IN = `long text ${randomBytes(16).toString('hex')} `;

const BACKSLASH = 0x5c;

/** Those that were met while {@link writeJson} is at work. */
let met: LongText[] | undefined;

/**
 * A long string of a JSON text that nobody here has to read: kept as its peer wrote it, and written so again. Whoever
 * needs the text has it decoded then. `JSON.stringify` writes it as the string that it is.
 */
export class LongText {
  readonly #json: Pieces;

  /** `json`: the JSON string with its quotes; known to be one, in UTF-8. */
  constructor(json: Pieces) {
    this.#json = json;
  }

  /** In bytes, with quotes and escapes. */
  get length(): number {
    return this.#json.length;
  }

  get pieces(): readonly Buffer[] {
    return this.#json.all;
  }

  /** In one; put together anew each time. */
  get json(): Buffer {
    return this.#json.joined();
  }

  /** What is written between the quotes; at most so many bytes of it. */
  start(most: number): Buffer {
    return this.#json.between(1, Math.min(this.length - 1, Math.max(1, most + 1))).joined();
  }

  /** Decoded anew each time. */
  get text(): string {
    const json = this.json;
    return json.includes(BACKSLASH)
      ? (JSON.parse(json.toString('utf8')) as string)
      : json.toString('utf8', 1, json.length - 1);
  }

  toJSON(): string {
    if (met === undefined) {
      return this.text;
    }
    met.push(this);
    return STAND_IN;
  }
}

/** JSON text in parts, some of them as bytes in UTF-8. */
export class JsonParts {
  readonly #parts: readonly (string | Buffer)[];
  readonly byteLength: number;

  constructor(parts: readonly (string | Buffer)[]) {
    this.#parts = parts;
    this.byteLength = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  }

  [Symbol.iterator](): Iterator<string | Buffer> {
    return this.#parts[Symbol.iterator]();
  }

  toBuffer(): Buffer {
    const whole = Buffer.allocUnsafe(this.byteLength);
    let at = 0;
    for (const part of this.#parts) {
      at += typeof part === 'string' ? whole.write(part, at) : part.copy(whole, at);
    }
    return whole;
  }

  toString(): string {
    // Decoded in one: a character may be in two parts.
    return this.toBuffer().toString('utf8');
  }
}

/** A value as `JSON.stringify` writes it; in parts where there are long texts in it, which go as they came. */
export function writeJson(value: object): string | JsonParts {
  const outer = met;
  const here: LongText[] = [];
  met = here;
  let written: string;
  try {
    written = JSON.stringify(value);
  } finally {
    met = outer;
  }
  if (here.length === 0) {
    return written;
  }
  const around = written.split(`"${STAND_IN}"`);
  if (around.length !== here.length + 1) {
    return JSON.stringify(value);
  }
  return new JsonParts(around.flatMap((text, at) => [text, ...(here[at]?.pieces ?? [])]));
}

/** What a long text is replaced by in JSON text that is parsed around it. */
export function standIn(at: number): string {
  return `"${STAND_IN}${at}"`;
}

/** Puts long texts into the places of their {@link standIn}s. The value is changed, which was parsed for this. */
export function putLongTexts(value: object, texts: readonly Pieces[]): void {
  const open: object[] = [value];
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    for (const key of Object.keys(holder)) {
      const member: unknown = Reflect.get(holder, key);
      if (typeof member === 'string') {
        const json = member.startsWith(STAND_IN) ? texts[Number(member.slice(STAND_IN.length))] : undefined;
        if (json !== undefined) {
          Reflect.set(holder, key, new LongText(json));
        }
      } else if (typeof member === 'object' && member !== null) {
        open.push(member);
      }
    }
  }
}

/**
 * A JSON value with every long text in it as a string, and every exact number as the nearest one; the same object where
 * there is none. `read` says as which string; undefined: as the one that it is.
 */
export function whole(value: unknown, read?: (text: LongText) => string): unknown {
  if (value instanceof LongText) {
    return read === undefined ? value.text : read(value);
  }
  if (value instanceof ExactNumber) {
    return value.nearest;
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  let copy: unknown[] | Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member: unknown = Reflect.get(value, key);
    const now = typeof member === 'object' ? whole(member, read) : member;
    if (now !== member) {
      copy ??= Array.isArray(value) ? [...(value as unknown[])] : { ...value };
      // Its own in the copy too, so this sets even one that came as `__proto__`.
      Reflect.set(copy, key, now);
    }
  }
  return copy ?? value;
}
