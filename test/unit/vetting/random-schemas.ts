import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc, { type Arbitrary } from 'fast-check';

/** Schemas and values that nobody thought of, and what the most widespread validator makes of them. */

export type Dialect = 'draft-07' | '2019-09' | '2020-12';
const SETTINGS = { strict: false, validateSchema: false, logger: false, validateFormats: false } as const;
export const PEERS = {
  'draft-07': { uri: 'http://json-schema.org/draft-07/schema#', make: () => new Ajv(SETTINGS) },
  '2019-09': { uri: 'https://json-schema.org/draft/2019-09/schema', make: () => new Ajv2019(SETTINGS) },
  '2020-12': { uri: 'https://json-schema.org/draft/2020-12/schema', make: () => new Ajv2020(SETTINGS) },
} as const;

const KEY = fc.constantFrom('a', 'b', 'ab', 'x1');
const PATTERN = fc.constantFrom('^a', 'b$', '^[a-c]+$', '\\d', '.{2}');
const SMALL = fc.nat(4);
/** Not as a key of a literal: an object with one looks like a promise. */
const THEN: string = 'then';
export const VALUE: Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, 1, 2, -1, 1.5, '', 'a', 'abc', 'b1', 'é🎉', 10),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(KEY, tie('value'), { maxKeys: 4 }),
  ),
})).value;

/** What ajv is not asked about. */
const ODD = {
  if: (schema: Arbitrary<unknown>) => schema,
  [THEN]: (schema: Arbitrary<unknown>) => schema,
  else: (schema: Arbitrary<unknown>) => schema,
  contains: (schema: Arbitrary<unknown>) => schema,
  minContains: () => SMALL,
  maxContains: () => SMALL,
} satisfies Record<string, (schema: Arbitrary<unknown>) => Arbitrary<unknown>>;

/**
 * Left out is where ajv is known to depart from the specification: siblings of `$ref` in draft-07, `contains` on an empty
 * list, and what `if`, `contains` and an empty schema have looked at (as of 8.20).
 */
export function schemas(dialect: Dialect, more: readonly (keyof typeof ODD)[] = []): Arbitrary<unknown> {
  return fc.letrec((tie) => {
    const schema = tie('schema');
    const some = (most: number) => fc.array(schema, { minLength: 1, maxLength: most });
    const types = fc.constantFrom('string', 'integer', 'number', 'object', 'array', 'null', 'boolean');
    const items = fc.oneof(schema, some(2));
    const old = { items, additionalItems: schema };
    const names = fc.uniqueArray(KEY, { maxLength: 2 });
    const since2019 = {
      $ref: fc.constantFrom('#/$defs/one', '#/$defs/two', '#named'),
      dependentRequired: fc.dictionary(KEY, names, { maxKeys: 2 }),
      dependentSchemas: fc.dictionary(KEY, schema, { maxKeys: 2 }),
      unevaluatedProperties: schema,
      unevaluatedItems: fc.constantFrom(false, { type: 'integer' }),
    };
    const keywords: Record<string, Arbitrary<unknown>> = {
      type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
      enum: fc.array(VALUE, { minLength: 1, maxLength: 3 }),
      const: VALUE,
      minimum: SMALL,
      exclusiveMaximum: SMALL,
      multipleOf: fc.constantFrom(1, 2, 0.5),
      minLength: SMALL,
      maxLength: SMALL,
      pattern: PATTERN,
      minItems: SMALL,
      maxItems: SMALL,
      uniqueItems: fc.boolean(),
      minProperties: SMALL,
      maxProperties: SMALL,
      required: names,
      properties: fc.dictionary(KEY, schema, { maxKeys: 3 }),
      patternProperties: fc.dictionary(PATTERN, schema, { maxKeys: 2 }),
      additionalProperties: schema,
      propertyNames: schema,
      allOf: some(2),
      anyOf: some(3),
      oneOf: some(3),
      not: schema,
      ...(dialect === '2020-12' ? { prefixItems: some(2), items: schema } : old),
      ...(dialect === 'draft-07'
        ? {
            if: schema,
            [THEN]: schema,
            else: schema,
            dependencies: fc.dictionary(KEY, fc.oneof(schema, names)),
          }
        : since2019),
      ...Object.fromEntries(more.map((key) => [key, ODD[key]?.(schema) ?? schema])),
    };
    const several = fc
      .uniqueArray(fc.constantFrom(...Object.keys(keywords)), { maxLength: 4 })
      .chain((keys) => fc.record(Object.fromEntries(keys.map((key) => [key, keywords[key] ?? SMALL]))));
    const weighted = [
      { weight: 1, arbitrary: fc.boolean() },
      { weight: 6, arbitrary: several },
    ];
    return { schema: fc.oneof({ depthSize: 'small', maxDepth: 4 }, ...weighted) };
  }).schema as Arbitrary<unknown>;
}

export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
export const asObject = (schema: unknown) => (typeof schema === 'object' ? schema : {});

/**
 * Undefined where ajv cannot compile it: references in a circle, for instance. What it makes fails by itself for some values
 * (as of 8.20): it says nothing about those.
 */
export function compiled(make: () => Ajv, schema: object): ((value: unknown) => unknown) | undefined {
  try {
    const check = make().compile(schema);
    return (value) => {
      try {
        return check(value);
      } catch (thrown) {
        if (thrown instanceof TypeError) {
          return undefined;
        }
        throw thrown;
      }
    };
  } catch {
    return undefined;
  }
}
