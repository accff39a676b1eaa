import { randomBytes } from 'node:crypto';
import { ExactNumber } from '../base/exact-number.ts';
import { objectAt } from '../base/json.ts';

/** Members of params and of results that are data of others, in which no number has a meaning for the protocol. */
const DATA = ['arguments', 'inputResponses', 'structuredContent', 'content'] as const;

/** Where a number may be that a double cannot hold: of more than 15 digits, or with a large exponent. Linear. */
const SUSPICIOUS = /[:,[\s]-?\d(?:[\d.]{15}|[\d.]*[eE]\+?\d{3})/;
const MOST_DIGITS = 15;
/** Each takes some microseconds. Where there are more in one message, none is kept. */
const MOST_NUMBERS = 10_000;

/** Stands for such a number while the JSON around it is parsed. Never leaves the process, so nobody can send it. */
const STAND_IN = `exact number ${randomBytes(16).toString('hex')} `;

const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LARGE_E = 0x45;
const SMALL_E = 0x65;

/**
 * A message, or a batch, with the numbers of its data as their peer wrote them, where JavaScript's would be other ones:
 * identifiers of 64 bits are common in other languages. `value` is what `text` says, and comes back where there is none.
 * `stringEnd`: index of the quote that ends the string which begins there. `isData`: all of it is data.
 */
export function withExactNumbers(
  value: unknown,
  text: string,
  stringEnd: (text: string, from: number) => number,
  isData = false,
): unknown {
  if (typeof value !== 'object' || value === null || !SUSPICIOUS.test(text)) {
    return value;
  }
  const found: string[] = [];
  const around: string[] = [];
  let done = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) {
      at = stringEnd(text, at);
    } else if (sign === MINUS || (sign >= ZERO && sign <= NINE)) {
      const { end, isBeyond } = numberAt(text, at);
      if (isBeyond && found.length === MOST_NUMBERS) {
        return value;
      }
      if (isBeyond) {
        around.push(text.slice(done, at), `"${STAND_IN}${found.push(text.slice(at, end)) - 1}"`);
        done = end;
      }
      at = end - 1;
    }
  }
  return found.length === 0 ? value : put(JSON.parse(around.join('') + text.slice(done)), found, isData);
}

/** A number of valid JSON, and whether JavaScript's is another one. */
function numberAt(text: string, from: number): { readonly end: number; readonly isBeyond: boolean } {
  let digits = 0;
  let isScaled = false;
  let end = from;
  for (; end < text.length; end += 1) {
    const sign = text.charCodeAt(end);
    if (sign >= ZERO && sign <= NINE) {
      digits += isScaled || (digits === 0 && sign === ZERO) ? 0 : 1;
    } else if (sign === SMALL_E || sign === LARGE_E) {
      isScaled = true;
    } else if (sign !== DOT && sign !== MINUS && sign !== PLUS) {
      break;
    }
  }
  if (digits <= MOST_DIGITS && !isScaled) {
    return { end, isBeyond: false };
  }
  const source = text.slice(from, end);
  const value = Number(source);
  const isBeyond = digits > MOST_DIGITS ? String(value) !== source : !Number.isFinite(value);
  return { end, isBeyond };
}

/** Puts numbers into the places of their stand-ins: exact ones in data, the nearest ones elsewhere. */
function put(value: unknown, found: readonly string[], isAllData: boolean): unknown {
  const data = new Set(dataIn(value));
  const open: { readonly holder: object; readonly isData: boolean }[] = [
    { holder: value as object, isData: isAllData },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { holder, isData } = next;
    for (const key of Object.keys(holder)) {
      const member: unknown = Reflect.get(holder, key);
      if (typeof member === 'object' && member !== null) {
        open.push({ holder: member, isData: isData || data.has(member) });
      } else if (typeof member === 'string' && member.startsWith(STAND_IN)) {
        const number = new ExactNumber(found[Number(member.slice(STAND_IN.length))] ?? '');
        Reflect.set(holder, key, isData ? number : number.nearest);
      }
    }
  }
  return value;
}

/** The result of a task stands in that of the request for it (SEP-2663). */
function dataIn(value: unknown): readonly unknown[] {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  return messages.flatMap((message) => {
    const result = objectAt(message, 'result');
    const holders = [objectAt(message, 'params'), result, objectAt(result, 'result')];
    return holders.flatMap((holder) => DATA.map((name) => holder?.[name]));
  });
}
