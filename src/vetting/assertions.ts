import { isObject, type JsonObject, own } from '../base/json.ts';
import { LinearPattern } from './linear-pattern.ts';
import { both, type Check, FAILS, FITS, type Outcome, type Run, UNSURE } from './run.ts';
import { named, nounOf } from './told-value.ts';

/** What nobody can judge: a keyword whose value is not what it has to be. It never refuses anything. */
export const UNKNOWN: Check = () => UNSURE;

/** A keyword as a check, or undefined where a schema does not have it. */
export type Keyword = (schema: JsonObject) => Check | undefined;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  array: Array.isArray,
  null: (value) => value === null,
};

/** `nullable: true` is of OpenAPI, and stands in many schemas that were made of one: it is taken as it was meant. */
export function type({ type: given, nullable }: JsonObject): Check | undefined {
  if (given === undefined) {
    return undefined;
  }
  const names: readonly unknown[] = Array.isArray(given) ? given : [given];
  const tests = names.map((name) => (typeof name === 'string' ? own(TYPES, name) : undefined));
  if (tests.length === 0 || tests.some((test) => test === undefined)) {
    return UNKNOWN;
  }
  const all = [...tests, ...(nullable === true ? [TYPES['null']] : [])].filter((test) => test !== undefined);
  const [only] = all;
  const expected = names.map((name) => named(String(name))).join(' or ');
  const fails = (value: unknown, run: Run) => run.fails(() => `expected ${expected}, got ${nounOf(value)}`);
  return only !== undefined && all.length === 1
    ? (value, run) => (only(value) ? FITS : fails(value, run))
    : (value, run) => (all.some((test) => test(value)) ? FITS : fails(value, run));
}

export function choice({ enum: choices, nullable }: JsonObject): Check | undefined {
  if (choices === undefined) {
    return undefined;
  }
  if (!Array.isArray(choices)) {
    return UNKNOWN;
  }
  const given: readonly unknown[] = nullable === true ? [...choices, null] : choices;
  const scalars = new Set(given.filter((each) => !isComposite(each)));
  const composites = given.filter(isComposite);
  return (value, run) => {
    const fits = isComposite(value) ? composites.some((each) => equal(each, value, run)) : scalars.has(value);
    return fits ? FITS : run.fails(() => `expected ${oneOf(given)}, got ${nounOf(value)}`);
  };
}

export function constant(schema: JsonObject): Check | undefined {
  if (!Object.hasOwn(schema, 'const')) {
    return undefined;
  }
  const { const: wanted } = schema;
  return (value, run) =>
    equal(wanted, value, run) ? FITS : run.fails(() => `expected ${nounOf(wanted)}, got ${nounOf(value)}`);
}

const MOST_CHOICES = 20;

function oneOf(choices: readonly unknown[]): string {
  const more = choices.length - MOST_CHOICES;
  const shown = choices.slice(0, MOST_CHOICES).map((each) => nounOf(each, true));
  return `${shown.length === 1 ? '' : 'one of '}${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function isComposite(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** As JSON: the order of members does not count. As deep as the first, which a schema holds and is bounded. */
function equal(wanted: unknown, value: unknown, run: Run): boolean {
  run.spend(1);
  if (!isComposite(wanted) || !isComposite(value)) {
    return wanted === value;
  }
  if (Array.isArray(wanted) || Array.isArray(value)) {
    return (
      Array.isArray(wanted) &&
      Array.isArray(value) &&
      wanted.length === value.length &&
      wanted.every((each, index) => equal(each, value[index], run))
    );
  }
  const keys = Object.keys(wanted);
  return (
    keys.length === Object.keys(value).length &&
    keys.every(
      (key) => Object.hasOwn(value, key) && equal(Reflect.get(wanted, key), Reflect.get(value, key), run),
    )
  );
}

/** A keyword about numbers or about a size: its value has to be a number, and what it does not concern fits. */
type Bound = readonly [
  key: string,
  sizeOf: (value: unknown, bound: number, run: Run) => number | undefined,
  fits: (size: number, bound: number) => boolean,
  says: string,
];

const asNumber = (value: unknown) => (typeof value === 'number' ? value : undefined);
const asItems = (value: unknown) => (Array.isArray(value) ? value.length : undefined);
const asMembers = (value: unknown) => (isObject(value) ? Object.keys(value).length : undefined);
const atLeast = (size: number, bound: number) => size >= bound;
const atMost = (size: number, bound: number) => size <= bound;

const BOUNDS: readonly Bound[] = [
  ['minimum', asNumber, atLeast, 'at least'],
  ['maximum', asNumber, atMost, 'at most'],
  ['exclusiveMinimum', asNumber, (size, bound) => size > bound, 'more than'],
  ['exclusiveMaximum', asNumber, (size, bound) => size < bound, 'less than'],
  ['multipleOf', asNumber, isMultiple, 'a multiple of'],
  ['minLength', charactersOf, atLeast, 'characters: at least'],
  ['maxLength', charactersOf, atMost, 'characters: at most'],
  ['minItems', asItems, atLeast, 'items: at least'],
  ['maxItems', asItems, atMost, 'items: at most'],
  ['minProperties', asMembers, atLeast, 'members: at least'],
  ['maxProperties', asMembers, atMost, 'members: at most'],
];

export const BOUND_KEYWORDS: readonly Keyword[] = BOUNDS.map(([key, sizeOf, fits, says]) => (schema) => {
  const bound = schema[key];
  if (bound === undefined) {
    return undefined;
  }
  if (typeof bound !== 'number') {
    return UNKNOWN;
  }
  return (value, run) => {
    const size = sizeOf(value, bound, run);
    return size === undefined || fits(size, bound)
      ? FITS
      : run.fails(() => `expected ${says} ${bound}, got ${sizeOf === asNumber ? nounOf(value) : size}`);
  };
});

/**
 * Whole numbers are exact. Fractions such as 0.1 are none in binary: a quotient that is a whole number but for what both and
 * the division were rounded by is one.
 */
function isMultiple(size: number, of: number): boolean {
  const quotient = size / of;
  if (Number.isSafeInteger(size) && Number.isSafeInteger(of) && of !== 0) {
    return size % of === 0;
  }
  const isWhole = Math.abs(quotient - Math.round(quotient)) <= 2 * Number.EPSILON * Math.abs(quotient);
  return !Number.isFinite(quotient) || isWhole;
}

/** Unicode characters; counted only where the length in UTF-16 leaves it open. */
function charactersOf(value: unknown, bound: number, run: Run): number | undefined {
  if (typeof value !== 'string') {
    return undefined;
  }
  const { length } = value;
  if (length < bound || length > 2 * bound) {
    return length;
  }
  run.spend(1 + Math.ceil(length / 16));
  let pairs = 0;
  for (let at = 0; at + 1 < length; at += 1) {
    const [first, second] = [value.charCodeAt(at), value.charCodeAt(at + 1)];
    pairs += first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000 ? 1 : 0;
  }
  return length - pairs;
}

export function pattern({ pattern: source }: JsonObject): Check | undefined {
  if (source === undefined) {
    return undefined;
  }
  if (typeof source !== 'string') {
    return UNKNOWN;
  }
  const matcher = new LinearPattern(source);
  return (value, run) => {
    const outcome = typeof value === 'string' ? matcher.test(value, run) : FITS;
    return outcome === FAILS
      ? run.fails(() => `expected a text that matches ${source.slice(0, 200)}, got ${nounOf(value)}`)
      : outcome;
  };
}

export function unique({ uniqueItems }: JsonObject): Check | undefined {
  if (uniqueItems === undefined || uniqueItems === false) {
    return undefined;
  }
  return (value, run) => {
    if (!Array.isArray(value)) {
      return FITS;
    }
    const known = new Set<string>();
    for (const item of value) {
      run.spend(1);
      const key = keyOf(item, run);
      if (known.has(key)) {
        return run.fails(() => `expected items that differ, got ${nounOf(item)} twice`);
      }
      known.add(key);
    }
    return FITS;
  };
}

/** A text that equal values have in common, and no others. */
function keyOf(value: unknown, run: Run): string {
  run.enter();
  const key = composedKey(value, run);
  run.spend(Math.ceil(key.length / 64));
  run.leave();
  return key;
}

function composedKey(value: unknown, run: Run): string {
  if (Array.isArray(value)) {
    return `[${value.map((each) => keyOf(each, run)).join()}]`;
  }
  if (isObject(value)) {
    const keys = Object.keys(value).toSorted();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${keyOf(value[key], run)}`).join()}}`;
  }
  return JSON.stringify(value) ?? '';
}

/** All of them have to fit; where problems are wanted the others are asked as well. */
export function every(checks: readonly Check[], value: unknown, run: Run): Outcome {
  let outcome: Outcome = FITS;
  for (const check of checks) {
    outcome = both(outcome, check(value, run));
    if (outcome === FAILS && !run.collects) {
      return FAILS;
    }
  }
  return outcome;
}
