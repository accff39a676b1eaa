import { CONNECTION, type CredentialFormat, FORMATS, SHOWN } from './credential-formats.ts';

/** Something in a text that looks like a credential. */
export interface Seen {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** No format is shorter: what has fewer signs in a row is stepped over, so that most of a text is never looked at. */
const SHORTEST = 20;
/** A real one holds at least so many different signs; `ghp_xxxxxxxx…` shows where one goes. */
const FEWEST_SIGNS = 8;
const HEAD = 3;

interface Compiled {
  readonly format: CredentialFormat;
  readonly start: string;
  readonly whole: RegExp;
}

const BY_HEAD = new Map<string, Compiled[]>();
for (const format of FORMATS) {
  for (const start of format.starts) {
    const head = start.slice(0, HEAD);
    const escaped = start.replaceAll('.', '\\.');
    const whole = new RegExp(`${escaped}${format.rest}(?![A-Za-z0-9_-])`, 'y');
    BY_HEAD.set(head, [...(BY_HEAD.get(head) ?? []), { format, start, whole }]);
  }
}

/** Signs that credentials are made of: letters, digits, `-`, `.` and `_`. */
const IS_SIGN = new Uint8Array(128);
for (const sign of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._') {
  IS_SIGN[sign.charCodeAt(0)] = 1;
}

const isSign = (text: string, at: number): boolean => IS_SIGN[text.charCodeAt(at)] === 1;

/** What looks like a credential, in order; about 1 ns for each character of plain text. */
export function credentialsIn(text: string): readonly Seen[] {
  const seen: Seen[] = [];
  for (let at = SHORTEST - 1; at < text.length; at += SHORTEST) {
    if (!isSign(text, at)) {
      continue;
    }
    let from = at;
    while (from > 0 && isSign(text, from - 1)) {
      from -= 1;
    }
    let to = at + 1;
    while (to < text.length && isSign(text, to)) {
      to += 1;
    }
    const found = to - from < SHORTEST ? undefined : tokenAt(text, from);
    if (found !== undefined) {
      seen.push(found);
    }
    // The next run begins after this one at the earliest.
    at = Math.max(at, to - 1);
  }
  seen.push(...privateKeys(text), ...connections(text));
  return seen.length < 2 ? seen : apart(seen);
}

/** A run of signs is one token; in JSON within a text `\n` may stand right before it. */
function tokenAt(text: string, run: number): Seen | undefined {
  const from = text[run - 1] === '\\' && /[nrt]/.test(text[run] ?? '') ? run + 1 : run;
  for (const { format, start, whole } of BY_HEAD.get(text.slice(from, from + HEAD)) ?? []) {
    if (text.startsWith(start, from)) {
      whole.lastIndex = from;
      const [token = ''] = whole.exec(text) ?? [];
      if (token !== '' && new Set(token).size >= FEWEST_SIGNS && !token.includes('EXAMPLE')) {
        return { name: format.name, from, to: from + token.length };
      }
    }
  }
  return undefined;
}

const BEGIN = 'PRIVATE KEY';
/** `-----BEGIN ENCRYPTED ` and the like. */
const LONGEST_HEAD = 32;
/** Longer than any key in PEM. */
const LONGEST_KEY = 16_384;

/** Whole blocks up to their end, or what is there of one that was cut. */
function privateKeys(text: string): readonly Seen[] {
  const seen: Seen[] = [];
  let at = text.indexOf(BEGIN);
  while (at !== -1) {
    const before = text.slice(Math.max(0, at - LONGEST_HEAD), at).lastIndexOf('-----BEGIN ');
    const after = at + BEGIN.length;
    const [head = ''] = /^(?: BLOCK)?-----/.exec(text.slice(after, after + 12)) ?? [];
    const isBegin = before !== -1 && head !== '';
    const most = Math.min(text.length, after + LONGEST_KEY);
    // The next dashes end it, whatever they begin: each sign is looked at once.
    const end = isBegin ? text.indexOf('-----', after + head.length) : -1;
    const to = end === -1 ? most : Math.min(most, end);
    // Without some text in it there is no key: documentation shows the first line alone.
    if (isBegin && /[A-Za-z0-9+/]{40}/.test(text.slice(after, to))) {
      seen.push({ name: 'private key', from: Math.max(0, at - LONGEST_HEAD) + before, to });
    }
    at = text.indexOf(BEGIN, isBegin ? to : after);
  }
  return seen;
}

function connections(text: string): readonly Seen[] {
  const seen: Seen[] = [];
  for (let at = text.indexOf('://'); at !== -1; at = text.indexOf('://', at + 3)) {
    let from = at;
    while (from > 0 && at - from < 12 && /[a-z+]/.test(text[from - 1] ?? '')) {
      from -= 1;
    }
    const [whole = '', password = ''] = CONNECTION.exec(text.slice(from, at + 256)) ?? [];
    if (password !== '' && !SHOWN.test(password)) {
      const to = from + whole.length - 1;
      seen.push({ name: 'password of a database', from: to - password.length, to });
    }
  }
  return seen;
}

/** In order; of two that overlap the first. */
function apart(seen: readonly Seen[]): readonly Seen[] {
  const sorted = seen.toSorted((one, other) => one.from - other.from);
  return sorted.filter(({ from }, index) => from >= (sorted[index - 1]?.to ?? 0));
}

const MASK = '[secret]';

/** The text with each of them masked; the same string where there is none. */
export function maskedCredentials(text: string, seen: readonly Seen[] = credentialsIn(text)): string {
  let masked = '';
  let done = 0;
  for (const { from, to } of seen) {
    masked += text.slice(done, from) + MASK;
    done = to;
  }
  return done === 0 ? text : masked + text.slice(done);
}
