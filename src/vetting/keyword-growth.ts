import { isObject, own } from '../base/json.ts';
import { canonical } from './definition.ts';

/**
 * What a change does to the set of values that fit. wider and narrower are told apart by which way the values go: for
 * arguments wider is harmless, for results narrower. meaning: the same values may stand for something else, or nobody can
 * tell. added, removed: a named value came or went. harmless: nothing that anybody relies on.
 */
export type Effect = 'wider' | 'narrower' | 'meaning' | 'added' | 'removed' | 'harmless';

/** What a model reads as the meaning of a value, and what it fills in by itself. */
export const MEANS: ReadonlySet<string> = new Set([
  'description',
  'title',
  'default',
  'examples',
  'format',
  '$ref',
  '$schema',
]);

/** Words about a schema that nobody relies on. */
export const HARMLESS: ReadonlySet<string> = new Set(['$comment', 'deprecated']);

/** Values have to fit these as well: one more makes the schema narrower. */
export const ALSO: ReadonlySet<string> = new Set(['contains', 'propertyNames']);

/** Without one of these everything fits. */
export const OPEN: ReadonlySet<string> = new Set([
  'additionalItems',
  'additionalProperties',
  'items',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Keywords that look at members or items in place, and those about what none of them looked at. */
export const LOOKS: ReadonlySet<string> = new Set([
  'additionalItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'contains',
  'dependencies',
  'dependentSchemas',
  'else',
  'if',
  'items',
  'oneOf',
  'patternProperties',
  'prefixItems',
  'then',
]);
export const UNLOOKED = ['unevaluatedProperties', 'unevaluatedItems'] as const;

/** Whether everything fits it. */
export function isOpen(schema: unknown): boolean {
  return schema === undefined || schema === true || (isObject(schema) && Object.keys(schema).length === 0);
}

/** What only ever takes values away: added it narrows, removed it widens, changed nobody can tell. */
export const NARROWS: ReadonlySet<string> = new Set([
  'const',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'if',
  'items',
  'not',
  'pattern',
  'prefixItems',
  'then',
]);

/** Numeric keywords: whether a larger number lets more values in. */
export const BOUNDS: Readonly<
  Record<string, 'larger is wider' | 'larger is narrower' | 'multiple' | 'flag'>
> = {
  maximum: 'larger is wider',
  exclusiveMaximum: 'larger is wider',
  maxLength: 'larger is wider',
  maxItems: 'larger is wider',
  maxProperties: 'larger is wider',
  maxContains: 'larger is wider',
  minimum: 'larger is narrower',
  exclusiveMinimum: 'larger is narrower',
  minLength: 'larger is narrower',
  minItems: 'larger is narrower',
  minProperties: 'larger is narrower',
  minContains: 'larger is narrower',
  multipleOf: 'multiple',
  uniqueItems: 'flag',
};

export function boundEffect(key: string, before: unknown, after: unknown): Effect {
  const way = own(BOUNDS, key);
  if (way === 'flag') {
    return after === true ? 'narrower' : 'wider';
  }
  if (before === undefined) {
    // Without it one match is needed; 0 takes that away.
    return key === 'minContains' && after === 0 ? 'wider' : 'narrower';
  }
  if (after === undefined) {
    return key === 'minContains' && before === 0 ? 'narrower' : 'wider';
  }
  if (typeof before !== 'number' || typeof after !== 'number') {
    return 'meaning';
  }
  if (way === 'multiple') {
    return isMultiple(before, after) ? 'wider' : isMultiple(after, before) ? 'narrower' : 'meaning';
  }
  return after > before === (way === 'larger is wider') ? 'wider' : 'narrower';
}

function isMultiple(number: number, of: number): boolean {
  return of !== 0 && Number.isInteger(number / of);
}

/** An absent type is any type, and an integer is a number. */
export function typeEffect(before: unknown, after: unknown): Effect {
  const [old, now] = [typesOf(before), typesOf(after)];
  const more = now === undefined || (old !== undefined && [...old].every((type) => now.has(type)));
  const fewer = old === undefined || (now !== undefined && [...now].every((type) => old.has(type)));
  return more && fewer ? 'harmless' : more ? 'wider' : fewer ? 'narrower' : 'meaning';
}

function typesOf(type: unknown): ReadonlySet<unknown> | undefined {
  if (type === undefined) {
    return undefined;
  }
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return new Set(types.includes('number') ? [...types, 'integer'] : types);
}

export function enumEffect(before: unknown, after: unknown): Effect {
  if (!Array.isArray(before) || !Array.isArray(after)) {
    return before === undefined ? 'narrower' : after === undefined ? 'wider' : 'meaning';
  }
  const [old, now] = [new Set(before.map(canonical)), new Set(after.map(canonical))];
  const more = [...old].every((value) => now.has(value));
  const fewer = [...now].every((value) => old.has(value));
  return more && fewer ? 'harmless' : more ? 'wider' : fewer ? 'narrower' : 'meaning';
}
