import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import { UNITS, type Unit } from './units.ts';

/**
 * The words that settings are declared in. Each makes a JSON Schema fragment with a static type. Six annotations are
 * ours: `unit` (text with a unit in the file, number in the settings), `derived` (no fixed default: says in words what
 * stands in), `patternErrorMessage` (said instead of the pattern, also by editors), `format: 'uri'` (an http URL), `perUser`
 * (`${principal.…}` stays in it, to be filled in for each user), and `restart` (a running gateway keeps the value that it
 * was started with).
 */
export interface Annotations {
  readonly description?: string;
  readonly default?: unknown;
  readonly derived?: string;
  readonly unit?: Unit;
  readonly pattern?: string;
  readonly patternErrorMessage?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly perUser?: boolean;
  readonly restart?: boolean;
}

/** A mapping whose keys are known. With `default: {}` it may be absent: then each of its keys has its default. */
export function section<P extends TProperties>(about: Annotations, properties: P) {
  return Type.Object(properties, { ...about, additionalProperties: false });
}

/** A mapping whose keys the user chooses; `keys` is the pattern they must match. */
export function mapping<V extends TSchema>(about: Annotations & { readonly keys: string }, value: V) {
  const { keys, ...rest } = about;
  return Type.Record(Type.String({ pattern: keys }), value, { ...rest, additionalProperties: false });
}

export function list(about: Annotations, item: Annotations) {
  return Type.Array(text(item), { default: [], ...about });
}

/** A list of mappings whose keys are known. */
export function sections<P extends TProperties>(about: Annotations, item: TObject<P>) {
  return Type.Array(item, { default: [], ...about });
}

/** A list of words out of these. */
export function choices<const V extends readonly string[]>(
  values: V,
  about: Annotations & { readonly default: readonly V[number][] },
) {
  return Type.Array(Type.Unsafe<V[number]>({ type: 'string', enum: values }), { ...about });
}

/** A flag without a default: what is not given is left as it is. */
export function truth(description: string) {
  return Type.Boolean({ description });
}

/** What a tool says of itself: yes, no, or nothing. */
export function hint(description: string) {
  return Type.Unsafe<boolean | 'missing'>({ enum: [true, false, 'missing'], description });
}

export function text(about: Annotations) {
  return Type.String({ ...about });
}

/** A text that `null` takes out of its mapping again, for instance one that came in by a merge key. */
export function removableText(about: Annotations) {
  return Type.Unsafe<string>({ type: ['string', 'null'], ...about });
}

export function flag(byDefault: boolean, description: string, more: Annotations = {}) {
  return Type.Boolean({ default: byDefault, description, ...more });
}

export function whole(about: Annotations & { readonly minimum: number }) {
  return Type.Integer({ ...about });
}

export function oneOf<const V extends readonly [string, ...string[]]>(
  values: V,
  about: Annotations & { readonly default: V[number] },
) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: values, ...about });
}

/** The longest whole number of days that a timer can run; a longer one would fire at once. */
const LONGEST_TIMER = 24 * 86_400_000;

/** A duration, at least `minimum` and at most `maximum` ms. */
export function duration(byDefault: string, description: string, minimum = 0, maximum = LONGEST_TIMER) {
  return amount('duration', { default: byDefault, description, minimum, maximum });
}

/** A size of at least one byte. */
export function size(byDefault: string, description: string, more: Annotations = {}) {
  return amount('size', { default: byDefault, description, minimum: 1, ...more });
}

function amount(unit: Unit, about: Annotations) {
  const { pattern, says } = UNITS[unit];
  return Type.Unsafe<number>({
    type: ['integer', 'string'],
    unit,
    pattern,
    patternErrorMessage: says,
    ...about,
  });
}

/** The static type of a declaration, read-only all the way down, as the frozen settings are. */
export type Declared<S extends TSchema> = Frozen<Static<S>>;

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

/** Rules that several settings share. */
export const HTTP_URL = {
  pattern: '^[hH][tT][tT][pP][sS]?://',
  patternErrorMessage: 'must be a URL that begins with http:// or https://',
  format: 'uri',
};
export const NOT_EMPTY = { minLength: 1, patternErrorMessage: 'must not be empty' };
/** What a header can carry (RFC 9110, 5.5; Latin-1 as undici writes it). */
export const HEADER_VALUE = {
  pattern: '^[\\t\\u0020-\\u007e\\u0080-\\u00ff]*$',
  patternErrorMessage: 'must not hold line breaks, control characters or signs beyond Latin-1',
};
export const SOME_HEADER_VALUE = {
  pattern: HEADER_VALUE.pattern.replace('*', '+'),
  patternErrorMessage: `must not be empty, and ${HEADER_VALUE.patternErrorMessage}`,
};
