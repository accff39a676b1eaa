import { LongText } from './long-text.ts';

/**
 * Texts that must not get out. Secrets are those that no log may hold: tokens got at run time, and whatever the
 * configuration took from variables and files. Credentials are those of them that sign somebody in: nothing that leaves
 * the gateway may hold them, in whichever form (case C-095). One list of each for the process, so that there is no log
 * and no answer that does not know it.
 */

const MASK = '[secret]';
/** Shorter texts are no secrets worth the name, and masking them would make texts unreadable. */
const SHORTEST = 6;
/** The same of credentials, which are masked in other people's texts too. */
const SHORTEST_CREDENTIAL = 8;
/** A word or a number that is shorter than this could stand anywhere for reasons of its own. */
const SHORTEST_WORD = 16;
/** Of a credential that was cut, this much of its beginning is masked in the log too. */
const RECOGNISED = 12;

/** So many characters at the start of a text choose its entry in the table below. */
const WINDOW = 4;
const TABLE = 2 ** 16;
/** Of more texts than these, each looked for by itself, decoding costs less. */
const MOST_SEARCHED = 32;

/** Texts to look for, and one pass over a text for all of them, however many there are. */
class Texts {
  /** How often each text was added, under its first characters. */
  readonly #known = new Map<string, Map<string, number>>();
  #size = 0;
  /** How many texts begin so: most places of a text are done with by one look here. */
  readonly #begins = new Uint32Array(TABLE);

  get empty(): boolean {
    return this.#known.size === 0;
  }

  /** Until the returned function is called; adding a text twice counts. */
  add(text: string): () => void {
    const head = text.slice(0, SHORTEST);
    const alike = this.#known.get(head) ?? new Map<string, number>();
    this.#known.set(head, alike);
    alike.set(text, (alike.get(text) ?? 0) + 1);
    this.#count(text, 1);
    let kept = true;
    return () => {
      if (kept) {
        kept = false;
        this.#remove(head, text);
      }
    };
  }

  #remove(head: string, text: string): void {
    this.#count(text, -1);
    const alike = this.#known.get(head);
    const left = (alike?.get(text) ?? 1) - 1;
    if (left > 0) {
      alike?.set(text, left);
      return;
    }
    alike?.delete(text);
    if (alike?.size === 0) {
      this.#known.delete(head);
    }
  }

  #count(text: string, change: 1 | -1): void {
    let sign = 0;
    for (let at = 0; at < WINDOW; at += 1) {
      sign = rolled(sign, text.charCodeAt(at));
    }
    this.#begins[sign] = (this.#begins[sign] ?? 0) + change;
    this.#size += change;
  }

  /**
   * Whether one of the texts may stand in a string that is still JSON. Certain without decoding it where every character
   * can be written in one way only: `\\u` and `\\/` are other ways.
   */
  mayBeIn(json: Buffer): boolean {
    if (this.empty) {
      return false;
    }
    if (this.#size > MOST_SEARCHED || json.includes('\\u') || json.includes('\\/')) {
      return true;
    }
    return [...this.#known.values()].some((alike) =>
      [...alike.keys()].some((text) => json.includes(asJson(text))),
    );
  }

  /** The same string where nothing was found. `recognised`: this much of the beginning of one is enough. */
  masked(text: string, recognised = Number.POSITIVE_INFINITY): string {
    if (this.empty || text.length < SHORTEST) {
      return text;
    }
    const begins = this.#begins;
    const { length } = text;
    let masked = '';
    let done = 0;
    let sign = 0;
    for (let at = 0; at < length; at += 1) {
      sign = rolled(sign, text.charCodeAt(at));
      const start = at - WINDOW + 1;
      if (begins[sign] !== 0 && start >= done) {
        const agreeing = this.#agreeing(text, start, recognised);
        if (agreeing > 0) {
          masked += text.slice(done, start) + MASK;
          done = start + agreeing;
          at = done - 1;
        }
      }
    }
    return done === 0 ? text : masked + text.slice(done);
  }

  /** Characters from `start` on that belong to one of the texts: all of it, or enough of its beginning; else 0. */
  #agreeing(text: string, start: number, recognised: number): number {
    let longest = 0;
    for (const known of this.#known.get(text.slice(start, start + SHORTEST))?.keys() ?? []) {
      let length = SHORTEST;
      while (length < known.length && text[start + length] === known[length]) {
        length += 1;
      }
      longest = Math.max(longest, length === known.length || length >= recognised ? length : 0);
    }
    return longest;
  }
}

/** The last four characters as 16 bits. */
function rolled(sign: number, character: number): number {
  return ((sign << 4) ^ character) & (TABLE - 1);
}

const secrets = new Texts();
const credentials = new Texts();

/** In a log line a text stands as JSON writes it. */
const asJson = (text: string) => JSON.stringify(text).slice(1, -1);

/** From now on `text` is masked in every log line, until the returned function is called; adding it twice counts. */
export function keepSecret(text: string): () => void {
  return text.length < SHORTEST ? () => {} : secrets.add(asJson(text));
}

/**
 * From now on `text` is masked in every log line and in whatever servers say, until the returned function is called;
 * adding it twice counts. So are its forms in base64 (also as a part of something longer) and in URLs.
 */
export function keepCredential(text: string): () => void {
  if (text.length < SHORTEST_CREDENTIAL || (text.length < SHORTEST_WORD && /^(?:\p{L}+|\d+)$/u.test(text))) {
    return keepSecret(text);
  }
  const forget = formsOf(text).map((form) => credentials.add(form));
  return () => {
    for (const each of forget) {
      each();
    }
  };
}

function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  // Through bytes, since half a surrogate pair cannot be written in a URL.
  const inUrl = encodeURIComponent(bytes.toString());
  const inBase64 = [0, 1, 2].map((before) => base64Core(bytes, before));
  return [
    ...new Set([
      text,
      asJson(text),
      inUrl,
      inUrl.replaceAll(/%../g, (code) => code.toLowerCase()),
      ...inBase64,
      ...inBase64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
    ]),
  ];
}

/** What stands in the base64 form of every text in which so many bytes (modulo 3) come before these. */
function base64Core(bytes: Buffer, before: number): string {
  const form = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
  return form.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
}

/** The line without what no log may hold. */
export function withoutSecrets(line: string): string {
  return credentials.masked(secrets.masked(line), RECOGNISED);
}

/** The text without credentials; the same string where there are none. */
export function withoutCredentials(text: string): string {
  return credentials.masked(text);
}

/**
 * Masks credentials in all strings and member names of a parsed JSON value that nobody else holds, however deep it is.
 * `except` names members of the value itself that are left alone. One pass, and none where no credential is known.
 */
export function scrub(value: object, except?: ReadonlySet<string>): void {
  if (credentials.empty) {
    return;
  }
  const left: object[] = [];
  scrubMembers(value, left, except);
  for (let holder = left.pop(); holder !== undefined; holder = left.pop()) {
    if (Array.isArray(holder)) {
      scrubItems(holder, left);
    } else {
      scrubMembers(holder, left);
    }
  }
}

function scrubItems(items: unknown[], left: object[]): void {
  for (let at = 0; at < items.length; at += 1) {
    items[at] = scrubbed(items[at], left);
  }
}

function scrubMembers(holder: object, left: object[], except?: ReadonlySet<string>): void {
  for (const name of Object.keys(holder)) {
    const member: unknown = Reflect.get(holder, name);
    const clean = except?.has(name) && typeof member === 'string' ? member : scrubbed(member, left);
    const cleanName = credentials.masked(name);
    if (name !== cleanName) {
      Reflect.deleteProperty(holder, name);
    }
    if (clean !== member || cleanName !== name) {
      // Defined, not assigned: a member that came as `__proto__` is a member.
      const writable = { enumerable: true, writable: true, configurable: true };
      Object.defineProperty(holder, cleanName, { value: clean, ...writable });
    }
  }
}

/** What goes into the place of a value; what is in it is added to what is left to do. */
function scrubbed(value: unknown, left: object[]): unknown {
  if (typeof value === 'string') {
    return credentials.masked(value);
  }
  if (value instanceof LongText) {
    return credentials.mayBeIn(value.json) ? credentials.masked(value.text) : value;
  }
  if (typeof value === 'object' && value !== null) {
    left.push(value);
  }
  return value;
}
