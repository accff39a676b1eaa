import { describe, expect, it } from 'vitest';
import { CompiledSchemas } from '../../../src/vetting/compiled-schemas.ts';

const judged = (schema: Record<string, unknown>, value: unknown) =>
  new CompiledSchemas().judge(schema, value).fits;

const D7 = { $schema: 'http://json-schema.org/draft-07/schema#' };
const D2019 = { $schema: 'https://json-schema.org/draft/2019-09/schema' };
const D2020 = { $schema: 'https://json-schema.org/draft/2020-12/schema' };
/** Not written as a literal: an object with a `then` looks like a promise. */
const either = (condition: unknown, yes: unknown, no: unknown) =>
  Object.fromEntries(Object.entries({ if: condition, else: no }).concat([['then', yes]]));
const property = (schema: unknown) => ({ type: 'object', properties: { a: schema } });

describe('dialects', () => {
  it.each<[string, Record<string, unknown>, unknown, boolean | undefined]>([
    ['none is 2020-12', { prefixItems: [{ type: 'null' }] }, [1], false],
    ['2020-12', { ...D2020, prefixItems: [{ type: 'null' }] }, [1], false],
    ['2019-09', { ...D2019, items: [{ type: 'null' }], additionalItems: false }, [null, 1], false],
    ['draft-07', { ...D7, items: [{ type: 'null' }], additionalItems: false }, [null, 1], false],
    [
      'nothing beside a $ref in draft-07',
      { ...D7, $ref: '#/definitions/a', type: 'null', definitions: { a: {} } },
      1,
      true,
    ],
    [
      'nothing at all: no other combination, no id',
      {
        ...D7,
        $id: 'https://x.example/a.json',
        ...property({
          $ref: '#/definitions/a',
          $id: 'https://y.example/b.json',
          not: {},
          anyOf: [{ type: 'null' }],
        }),
        definitions: { a: { type: 'string' } },
      },
      { a: 'x' },
      true,
    ],
    [
      'what stands beside a $ref counts since',
      { ...D2019, $ref: '#/$defs/a', type: 'null', $defs: { a: {} } },
      1,
      false,
    ],
    ['dependencies of draft-07', { ...D7, dependencies: { a: ['b'] } }, { a: 1 }, false],
    ['minContains is none of draft-07', { ...D7, contains: { const: 1 }, minContains: 2 }, [1], true],
    [
      'another one is not checked',
      { $schema: 'http://json-schema.org/draft-04/schema#', type: 'null' },
      1,
      undefined,
    ],
    ['nor is one of somebody', { $schema: 'https://example.com/mine', type: 'null' }, 1, undefined],
  ])('%s', (_, schema, value, expected) => {
    expect(judged(schema, value)).toBe(expected);
  });
});

describe('references stay within the schema', () => {
  it.each<[string, Record<string, unknown>, unknown, boolean | undefined]>([
    [
      'a pointer',
      { ...property({ $ref: '#/$defs/b~1c%25' }), $defs: { 'b/c%': { type: 'null' } } },
      { a: 1 },
      false,
    ],
    [
      'a pointer to anywhere',
      { ...property({ $ref: '#/x/y' }), x: { y: { type: 'null' } } },
      { a: 1 },
      false,
    ],
    [
      'an anchor',
      { ...property({ $ref: '#b' }), $defs: { b: { $anchor: 'b', type: 'null' } } },
      { a: 1 },
      false,
    ],
    [
      'an anchor of draft-07',
      { ...D7, ...property({ $ref: '#b' }), definitions: { b: { $id: '#b', type: 'null' } } },
      { a: 1 },
      false,
    ],
    [
      'an id',
      {
        ...property({ $ref: 'b.json' }),
        $id: 'https://x.example/a.json',
        $defs: { b: { $id: 'b.json', type: 'null' } },
      },
      { a: 1 },
      false,
    ],
    ['itself', { ...property({ $ref: '#' }), additionalProperties: false }, { a: { a: { b: 1 } } }, false],
    [
      'itself, by a dynamic anchor',
      { ...property({ $dynamicRef: '#me' }), $dynamicAnchor: 'me', additionalProperties: false },
      { a: { b: 1 } },
      false,
    ],
    [
      'itself, as 2019-09 has it',
      { ...D2019, ...property({ $recursiveRef: '#' }), additionalProperties: false },
      { a: { b: 1 } },
      false,
    ],
    ['elsewhere: nobody knows', property({ $ref: 'https://x.example/a.json' }), { a: 1 }, undefined],
    ['nowhere: nobody knows', property({ $ref: '#/$defs/gone' }), { a: 1 }, undefined],
    [
      'nowhere, and something else is wrong',
      { ...property({ $ref: '#/$defs/gone' }), required: ['b'] },
      { a: 1 },
      false,
    ],
    [
      'in a circle without an end: nobody knows',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } },
      1,
      undefined,
    ],
  ])('%s', (_, schema, value, expected) => {
    expect(judged(schema, value)).toBe(expected);
  });
});

/** What cannot be judged refuses nothing, and excuses nothing that is known to be wrong. */
describe('a part that nobody can judge', () => {
  const open = { pattern: '^(?!a)' };
  it.each<[string, Record<string, unknown>, unknown, boolean | undefined]>([
    ['alone', open, 'abc', undefined],
    ['does not bear on numbers', open, 1, true],
    ['within not', { not: open }, 'abc', undefined],
    ['in one of two', { anyOf: [open, { type: 'string' }] }, 'abc', true],
    ['in one of two that have to be one', { oneOf: [open, { type: 'string' }] }, 'abc', undefined],
    ['in both', { allOf: [open, { type: 'null' }] }, 'abc', false],
    ['as a condition, and both ways fit', either(open, { minLength: 1 }, true), 'abc', true],
    ['as a condition that matters', either(open, { minLength: 9 }, true), 'abc', undefined],
    ['in a list that needs one', { contains: open }, ['abc'], undefined],
    ['in a list that needs more than there are', { contains: open, minContains: 2 }, ['abc'], false],
    [
      'for names',
      { patternProperties: { '(?=a)': { type: 'null' } }, additionalProperties: false },
      { a: 1 },
      undefined,
    ],
    [
      'before what is left over',
      { anyOf: [{ properties: { a: open } }], unevaluatedProperties: false },
      { a: 'x' },
      undefined,
    ],
    ['a keyword of a wrong type', { type: 'strng' }, 1, undefined],
    ['a bound of draft-04', { exclusiveMinimum: true, minimum: 5 }, 3, false],
    ['required as draft-03 has it', property({ type: 'string', required: true }), { a: 'x' }, undefined],
  ])('%s', (_, schema, value, expected) => {
    expect(judged(schema, value)).toBe(expected);
  });
});

describe('what is meant, though it is not written so', () => {
  it.each<[string, Record<string, unknown>, unknown, boolean]>([
    ['nullable of OpenAPI', { type: 'string', nullable: true }, null, true],
    ['nullable, and another type', { type: 'string', nullable: true }, 1, false],
    ['a format is a note', { type: 'string', format: 'date-time' }, 'tomorrow', true],
    ['a list of items under 2020-12', { items: [{ type: 'null' }] }, [1], false],
    ['fractions', { multipleOf: 0.01 }, 19.99, true],
    ['large fractions', { multipleOf: 0.01 }, 123_456_789.01, true],
    ['no multiple, far from 0', { multipleOf: 1_000 }, 1_700_000_000_123, false],
    ['no multiple, far from 0, of a fraction', { multipleOf: 0.1 }, 1e11 + 0.25, false],
    ['no multiple, near to 0', { multipleOf: 1 }, 1e-12, false],
    ['a multiple beyond the safe integers', { multipleOf: 10 }, JSON.parse('12345678901234567890'), true],
    ['of nothing', { multipleOf: 0 }, 5, true],
    ['whole numbers', { type: 'integer' }, 1.0, true],
    ['characters, not code units', { maxLength: 2 }, '🎉🎉', true],
    [
      'a member called like one of every object',
      { additionalProperties: { type: 'null' } },
      JSON.parse('{"__proto__":1}'),
      false,
    ],
    ['the same', { required: ['constructor'] }, {}, false],
  ])('%s', (_, schema, value, expected) => {
    expect(judged(schema, value)).toBe(expected);
  });
});

describe('patterns, as JavaScript means them', () => {
  it.each<[string, string, boolean | undefined]>([
    ['^[\\w.-]+$', 'a.b-c', true],
    ['^\\S+$', 'a\u00a0b', false],
    ['^[^\\s]+$', 'a\u2003b', false],
    ['^\\u{1F389}$', '🎉', true],
    ['^\\u00e9\\x41\\/$', 'éA/', true],
    ['^[[a]$', '[', true],
    ['^.$', '🎉', true],
    ['a$', 'a\n', false],
    ['^.$', '\r', false],
    ['^[.]$', 'a', false],
    ['^[\\S]$', '\u00a0', false],
    ['^[^\\S\\n]$', '\u00a0', true],
    ['^[\\s\\S]$', '🎉', true],
    ['^\\ud83c\\udf89+$', '🎉🎉', true],
    ['^[\\uD83C\\uDF89-\\uD83C\\uDF8B]$', '🎊', true],
    ['^\\\\ud83c$', '\\ud83c', true],
    ['^[\\ud800-\\udbff][\\udc00-\\udfff]$', '🎉', undefined],
    ['^\\u{d83c}$', 'x', undefined],
    ['(?<year>\\d{4})', '2026', true],
    ['^(a)\\1$', 'aa', undefined],
    ['(?<=a)b', 'ab', undefined],
    ['(', 'x', undefined],
    [`^${'a'.repeat(2_000)}$`, 'x', undefined],
  ])('%s on %s', (pattern, value, expected) => {
    expect(judged({ pattern }, value)).toBe(expected);
  });
});

/** Steps are counted, not time: each of these would take longer than anybody waits, or all the stack there is. */
describe('C-014: bombs', () => {
  const chain = (make: (next: object) => object, last: object = { type: 'string' }) => {
    const $defs: Record<string, unknown> = { d60: last };
    for (let level = 0; level < 60; level += 1) {
      $defs[`d${level}`] = make({ $ref: `#/$defs/d${level + 1}` });
    }
    return { $ref: '#/$defs/d0', $defs };
  };
  const nested = (levels: number, make: (inner: unknown) => unknown): unknown => {
    let value: unknown = {};
    for (let level = 0; level < levels; level += 1) {
      value = make(value);
    }
    return value;
  };
  const text = 'a'.repeat(50_000);
  it.each<[string, Record<string, unknown>, unknown]>([
    ['anyOf', chain((next) => ({ anyOf: [next, next] })), 1],
    ['oneOf', chain((next) => ({ oneOf: [next, next] })), 1],
    ['not', chain((next) => ({ allOf: [{ not: next }, { not: next }] }), { type: 'string' }), 'x'],
    ['if', chain((next) => either(next, next, next)), 1],
    [
      'unevaluatedProperties',
      { ...chain((next) => ({ allOf: [next, next] }), {}), unevaluatedProperties: false },
      { a: 1 },
    ],
    ['a schema 2,000 deep', nested(2_000, (inner) => ({ not: inner })) as Record<string, unknown>, 1],
    ['a value 20,000 deep', { items: { $ref: '#' } }, nested(20_000, (inner) => [inner])],
    ['a value 20,000 deep that has to be unique', { uniqueItems: true }, nested(20_000, (inner) => [inner])],
    [
      'the names of a large object',
      { propertyNames: { maxLength: 9 } },
      Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`x${at}`, 1])),
    ],
    ['a pattern over a long text', { pattern: '^([a-c]+|d){1,200}!$' }, text],
    ['a pattern that goes back', { pattern: '^(a+)+$' }, `${text.slice(0, 9_000)}!`],
    ['a pattern with many states', { pattern: '(a|b)*a(a|b){400}$' }, 'ab'.repeat(20_000)],
  ])('%s', (_, schema, value) => {
    const began = process.cpuUsage().user;
    expect([undefined, false]).toContain(judged(schema, value));
    // Not how long it takes, but that it does not take a thousand times as long.
    expect(process.cpuUsage().user - began).toBeLessThan(2e6);
  });

  it('equal ones are compiled once, whoever brings them, and those that are not used go', () => {
    const schemas = new CompiledSchemas();
    for (let user = 0; user < 100; user += 1) {
      schemas.judge({ type: 'object', properties: { a: { type: 'string' } } }, {});
    }
    expect(schemas.size).toBe(1);
    for (let each = 0; each < 2_500; each += 1) {
      schemas.judge({ const: each }, each);
    }
    expect(schemas.size).toBe(2_000);
    // By their size as well: no more than 64 MiB in all.
    for (let each = 0; each < 20; each += 1) {
      schemas.judge({ enum: ['x'.repeat(500_000), each] }, each);
    }
    expect(schemas.size).toBeLessThan(10);
  });
});
