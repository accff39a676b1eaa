import Type, { type TSchema } from 'typebox';
import { nearest } from '../base/nearest.ts';
import type { Annotations } from './declare.ts';
import { amountText, parseAmount, type Unit } from './units.ts';

export type Verdict =
  | { readonly value: unknown }
  | { readonly wrong: string; readonly nearest?: string | undefined };

/** What a declaration says of a single value, read as plain JSON Schema. */
interface Rules extends Annotations {
  readonly type?: string | readonly string[];
  readonly enum?: readonly (string | boolean)[];
}

/** The rules of a declaration; every fragment is made by `declare.ts`, whose annotations these are. */
export const rulesOf = (schema: TSchema): Rules => schema as Rules;

/**
 * Judges one value that stands alone by its declaration: the value as the settings hold it (amounts as numbers), or what
 * it must be. Never says what it is. A list or a mapping, which cannot stand here, comes as undefined.
 */
export function judge(schema: TSchema, value: unknown): Verdict {
  const rules = rulesOf(schema);
  if (rules.unit !== undefined) {
    return judgeAmount(rules, rules.unit, parseAmount(rules.unit, value));
  }
  if (Type.IsBoolean(schema)) {
    return typeof value === 'boolean' ? { value } : { wrong: 'must be true or false, without quotes' };
  }
  if (Type.IsInteger(schema)) {
    return judgeWhole(rules, value);
  }
  if (rules.enum !== undefined) {
    return judgeChoice(rules.enum, value);
  }
  return judgeText(rules, value);
}

/**
 * What came out of a reference is text; where a number or a flag is declared, text that is plainly one is taken as it.
 * By the declaration, never by the look of the text alone: a token of digits stays text.
 */
export function typed(schema: TSchema, text: string): unknown {
  if (Type.IsInteger(schema) && /^\d{1,15}$/.test(text)) {
    return Number(text);
  }
  return Type.IsBoolean(schema) && (text === 'true' || text === 'false') ? text === 'true' : text;
}

function judgeAmount(rules: Rules, unit: Unit, amount: number | undefined): Verdict {
  const { patternErrorMessage = 'must be an amount', minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = rules;
  if (amount === undefined) {
    return { wrong: patternErrorMessage };
  }
  if (amount < minimum) {
    return { wrong: `must be at least ${amountText(unit, minimum)}` };
  }
  return amount > maximum ? { wrong: `must be at most ${amountText(unit, maximum)}` } : { value: amount };
}

function judgeWhole({ minimum = 0, maximum }: Rules, value: unknown): Verdict {
  const fits =
    Number.isSafeInteger(value) &&
    Number(value) >= minimum &&
    Number(value) <= (maximum ?? Number.MAX_SAFE_INTEGER);
  const range = maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  return fits ? { value } : { wrong: `must be a whole number ${range}` };
}

function judgeChoice(choices: readonly (string | boolean)[], value: unknown): Verdict {
  if ((typeof value === 'string' || typeof value === 'boolean') && choices.includes(value)) {
    return { value };
  }
  if (choices.length === 1) {
    return { wrong: `must be ${choices.join()}` };
  }
  const words = choices.filter((choice) => typeof choice === 'string');
  const meant = typeof value === 'string' ? nearest(value, words) : undefined;
  return { wrong: `must be one of ${choices.join(', ')}`, nearest: meant };
}

function judgeText(rules: Rules, value: unknown): Verdict {
  if (value === null) {
    return { wrong: 'must be text, and nothing stands here' };
  }
  if (value === undefined) {
    return { wrong: 'must be text, not a list or a mapping' };
  }
  if (typeof value !== 'string') {
    // As an unquoted number 1.10 would arrive as 1.1 and 0123 as 123.
    return { wrong: 'must be text: put it in quotes' };
  }
  const { pattern, patternErrorMessage = 'does not have the right form', minLength = 0, format } = rules;
  if (value.length < minLength || (pattern !== undefined && !new RegExp(pattern, 'u').test(value))) {
    return { wrong: patternErrorMessage };
  }
  return format === 'uri' ? judgeUrl(value) : { value };
}

function judgeUrl(value: string): Verdict {
  if (!URL.canParse(value)) {
    return { wrong: 'must be a complete URL' };
  }
  const { username, password } = new URL(value);
  return username === '' && password === ''
    ? { value }
    : { wrong: 'must not hold a user name or password, since URLs end up in logs: send them in a header' };
}
