import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/protocol/model.ts';
import type { PinnedKind } from '../../../src/vetting/definition.ts';
import { growth } from '../../../src/vetting/growth.ts';

/** What becomes of whoever relies on the first: one difference that breaks is enough. */
function classes(kind: PinnedKind, before: Item, after: Item): readonly string[] {
  const all = growth(kind, before, after).map((each) => each.growth);
  return all.length === 0 ? [] : [all.includes('broken') ? 'broken' : 'grown'];
}

const ARGUMENTS = {
  type: 'object',
  properties: { path: { type: 'string' }, count: { type: 'integer', minimum: 1, maximum: 10 } },
  required: ['path'],
};
const TOOL: Item = {
  name: 'read_file',
  title: 'Read a file',
  description: 'Reads one file.',
  inputSchema: ARGUMENTS,
  outputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

type Row = readonly [what: string, before: unknown, after: unknown, expected: 'grown' | 'broken' | 'same'];

/** Each row is one keyword of one schema. What a tool takes may only widen, what it returns may only narrow. */
const KEYWORDS: readonly (readonly [what: string, before: object, after: object, effect: string])[] = [
  [
    'nothing but the order of keys',
    { type: 'string', minLength: 1 },
    { minLength: 1, type: 'string' },
    'same',
  ],
  ['type, one more', { type: 'string' }, { type: ['string', 'null'] }, 'wider'],
  ['type, one fewer', { type: ['string', 'null'] }, { type: 'string' }, 'narrower'],
  ['type, another', { type: 'string' }, { type: 'boolean' }, 'meaning'],
  ['type, integer to number', { type: 'integer' }, { type: 'number' }, 'wider'],
  ['type, number to integer', { type: 'number' }, { type: 'integer' }, 'narrower'],
  ['type, gone', { type: 'string' }, {}, 'wider'],
  ['type, come', {}, { type: 'string' }, 'narrower'],
  ['enum, one more', { enum: ['a'] }, { enum: ['a', 'b'] }, 'wider'],
  ['enum, one fewer', { enum: ['a', 'b'] }, { enum: ['a'] }, 'narrower'],
  ['enum, another', { enum: ['a'] }, { enum: ['b'] }, 'meaning'],
  ['enum, come', {}, { enum: ['a'] }, 'narrower'],
  ['enum, gone', { enum: ['a'] }, {}, 'wider'],
  ['enum, another order', { enum: ['a', 'b'] }, { enum: ['b', 'a'] }, 'harmless'],
  ['const, come', {}, { const: 1 }, 'narrower'],
  ['const, gone', { const: 1 }, {}, 'wider'],
  ['const, another', { const: 1 }, { const: 2 }, 'meaning'],
  ...(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'] as const).flatMap((key) => [
    [`${key}, raised`, { [key]: 1 }, { [key]: 2 }, 'narrower'] as const,
    [`${key}, lowered`, { [key]: 2 }, { [key]: 1 }, 'wider'] as const,
    [`${key}, come`, {}, { [key]: 2 }, 'narrower'] as const,
    [`${key}, gone`, { [key]: 2 }, {}, 'wider'] as const,
  ]),
  ...(
    ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains'] as const
  ).flatMap((key) => [
    [`${key}, raised`, { [key]: 1 }, { [key]: 2 }, 'wider'] as const,
    [`${key}, lowered`, { [key]: 2 }, { [key]: 1 }, 'narrower'] as const,
    [`${key}, come`, {}, { [key]: 2 }, 'narrower'] as const,
    [`${key}, gone`, { [key]: 2 }, {}, 'wider'] as const,
  ]),
  ['minContains, raised', { contains: {}, minContains: 1 }, { contains: {}, minContains: 2 }, 'narrower'],
  ['minContains, 0 comes', { contains: {} }, { contains: {}, minContains: 0 }, 'wider'],
  ['multipleOf, a part of it', { multipleOf: 10 }, { multipleOf: 5 }, 'wider'],
  ['multipleOf, a multiple of it', { multipleOf: 5 }, { multipleOf: 10 }, 'narrower'],
  ['multipleOf, another', { multipleOf: 4 }, { multipleOf: 6 }, 'meaning'],
  ['multipleOf, come', {}, { multipleOf: 4 }, 'narrower'],
  ['uniqueItems, come', {}, { uniqueItems: true }, 'narrower'],
  ['uniqueItems, gone', { uniqueItems: true }, { uniqueItems: false }, 'wider'],
  ['pattern, come', {}, { pattern: '^a' }, 'narrower'],
  ['pattern, gone', { pattern: '^a' }, {}, 'wider'],
  ['pattern, another', { pattern: '^a' }, { pattern: '^b' }, 'meaning'],
  ['format', { format: 'date' }, { format: 'date-time' }, 'meaning'],
  ['format, come', {}, { format: 'date' }, 'meaning'],
  ['contentEncoding', { contentEncoding: 'base64' }, { contentEncoding: 'base32' }, 'meaning'],
  ['contentMediaType, come', {}, { contentMediaType: 'text/html' }, 'narrower'],
  ['description', { description: 'One.' }, { description: 'Two.' }, 'meaning'],
  ['title', { title: 'One' }, { title: 'Two' }, 'meaning'],
  ['default', { default: 1 }, { default: 2 }, 'meaning'],
  ['default, come', {}, { default: 2 }, 'meaning'],
  ['examples', { examples: [1] }, { examples: [2] }, 'meaning'],
  ['deprecated', {}, { deprecated: true }, 'harmless'],
  ['$comment', { $comment: 'a' }, { $comment: 'b' }, 'harmless'],
  ['$ref', { $ref: '#/a' }, { $ref: '#/b' }, 'meaning'],
  ['$schema', {}, { $schema: 'http://json-schema.org/draft-07/schema#' }, 'meaning'],
  ['readOnly', {}, { readOnly: true }, 'meaning'],
  ['an unknown keyword', { 'x-vendor': 1 }, { 'x-vendor': 2 }, 'meaning'],
  ['property, come', { properties: {} }, { properties: { b: {} } }, 'added'],
  ['property, gone', { properties: { b: {} } }, { properties: {} }, 'removed'],
  [
    'property called like a member of every object',
    { properties: {} },
    { properties: { constructor: {} } },
    'added',
  ],
  ['property, narrower', { properties: { b: {} } }, { properties: { b: { type: 'null' } } }, 'narrower'],
  ['required, one more', { required: [] }, { required: ['b'] }, 'narrower'],
  ['required, one fewer', { required: ['b'] }, {}, 'wider'],
  ['required, another order', { required: ['a', 'b'] }, { required: ['b', 'a'] }, 'same'],
  ['additionalProperties, forbidden', {}, { additionalProperties: false }, 'narrower'],
  ['additionalProperties, allowed', { additionalProperties: false }, {}, 'wider'],
  ['additionalProperties, typed', {}, { additionalProperties: { type: 'string' } }, 'narrower'],
  ['additionalProperties, said as it is', {}, { additionalProperties: true }, 'same'],
  ['unevaluatedProperties, forbidden', {}, { unevaluatedProperties: false }, 'narrower'],
  ['patternProperties, come', {}, { patternProperties: { '^a': {} } }, 'narrower'],
  ['patternProperties, gone', { patternProperties: { '^a': {} } }, {}, 'wider'],
  [
    'patternProperties, wider',
    { patternProperties: { a: { type: 'null' } } },
    { patternProperties: { a: {} } },
    'wider',
  ],
  ['propertyNames, come', {}, { propertyNames: { maxLength: 3 } }, 'narrower'],
  ['propertyNames, wider', { propertyNames: { maxLength: 3 } }, { propertyNames: { maxLength: 4 } }, 'wider'],
  ['dependentRequired, come', {}, { dependentRequired: { a: ['b'] } }, 'narrower'],
  [
    'dependentRequired, another',
    { dependentRequired: { a: ['b'] } },
    { dependentRequired: { a: ['c'] } },
    'meaning',
  ],
  ['dependentSchemas, gone', { dependentSchemas: { a: {} } }, {}, 'wider'],
  ['items, typed', {}, { items: { type: 'string' } }, 'narrower'],
  ['items, wider', { items: { type: 'string' } }, { items: { type: ['string', 'null'] } }, 'wider'],
  ['items, forbidden', {}, { items: false }, 'narrower'],
  ['prefixItems, come', {}, { prefixItems: [{}] }, 'narrower'],
  ['prefixItems, wider', { prefixItems: [{ type: 'null' }] }, { prefixItems: [{}] }, 'wider'],
  ['prefixItems, one more', { prefixItems: [{}] }, { prefixItems: [{}, {}] }, 'meaning'],
  ['unevaluatedItems, forbidden', {}, { unevaluatedItems: false }, 'narrower'],
  ['contains, come', {}, { contains: { const: 1 } }, 'narrower'],
  ['contains, gone', { contains: { const: 1 } }, {}, 'wider'],
  ['anyOf, one more', { anyOf: [{ const: 1 }] }, { anyOf: [{ const: 1 }, { const: 2 }] }, 'wider'],
  ['anyOf, one fewer', { anyOf: [{ const: 1 }, { const: 2 }] }, { anyOf: [{ const: 2 }] }, 'narrower'],
  ['anyOf, come', {}, { anyOf: [{ const: 1 }] }, 'narrower'],
  ['anyOf, gone', { anyOf: [{ const: 1 }] }, {}, 'wider'],
  [
    'anyOf, one wider',
    { anyOf: [{ type: 'null' }, { maxLength: 1 }] },
    { anyOf: [{ type: 'null' }, { maxLength: 2 }] },
    'wider',
  ],
  ['oneOf, one fewer', { oneOf: [{ const: 1 }, { const: 2 }] }, { oneOf: [{ const: 1 }] }, 'narrower'],
  ['allOf, one more', { allOf: [{ minimum: 1 }] }, { allOf: [{ minimum: 1 }, { maximum: 3 }] }, 'narrower'],
  ['allOf, one fewer', { allOf: [{ minimum: 1 }, { maximum: 3 }] }, { allOf: [{ minimum: 1 }] }, 'wider'],
  ['not, come', {}, { not: { const: 1 } }, 'narrower'],
  ['not, another', { not: { const: 1 } }, { not: { const: 2 } }, 'meaning'],
  ['if, come', {}, { if: { const: 1 }, else: false }, 'narrower'],
  ['oneOf, come', {}, { oneOf: [{ const: 1 }] }, 'narrower'],
  ['oneOf, gone', { oneOf: [{ const: 1 }] }, {}, 'wider'],
  ['allOf, come', {}, { allOf: [{ minimum: 1 }] }, 'narrower'],
  ['allOf, gone', { allOf: [{ minimum: 1 }] }, {}, 'wider'],
  ['not, gone', { not: { const: 1 } }, {}, 'wider'],
  ['if, gone', { if: { const: 1 }, else: false }, {}, 'wider'],
  ['if, another', { if: { const: 1 }, else: false }, { if: { const: 2 }, else: false }, 'meaning'],
  ['then, come', { if: { const: 1 } }, JSON.parse('{"if":{"const":1},"then":false}'), 'narrower'],
  ['then, gone', JSON.parse('{"if":{"const":1},"then":false}'), { if: { const: 1 } }, 'wider'],
  ['else, come', { if: { const: 1 } }, { if: { const: 1 }, else: false }, 'narrower'],
  ['else, another', { if: {}, else: { const: 1 } }, { if: {}, else: { const: 2 } }, 'meaning'],
  ['minContains, lowered', { contains: {}, minContains: 2 }, { contains: {}, minContains: 1 }, 'wider'],
  ['minContains, gone', { contains: {}, minContains: 2 }, { contains: {} }, 'wider'],
  ['minContains, 0 gone', { contains: {}, minContains: 0 }, { contains: {} }, 'narrower'],
  ['multipleOf, gone', { multipleOf: 4 }, {}, 'wider'],
  ['contentEncoding, gone', { contentEncoding: 'base64' }, {}, 'wider'],
  ['contentMediaType, another', { contentMediaType: 'a/b' }, { contentMediaType: 'a/c' }, 'meaning'],
  ['contentSchema, come', {}, { contentSchema: { type: 'null' } }, 'narrower'],
  ['contentSchema, another', { contentSchema: { const: 1 } }, { contentSchema: { const: 2 } }, 'meaning'],
  ['examples, come', {}, { examples: [1] }, 'meaning'],
  ['writeOnly', {}, { writeOnly: true }, 'meaning'],
  ['$id', { $id: 'a' }, { $id: 'b' }, 'meaning'],
  ['$anchor', { $anchor: 'a' }, { $anchor: 'b' }, 'meaning'],
  ['$dynamicAnchor', {}, { $dynamicAnchor: 'a' }, 'meaning'],
  ['$dynamicRef', { $dynamicRef: '#a' }, { $dynamicRef: '#b' }, 'meaning'],
  ['$recursiveRef', {}, { $recursiveRef: '#' }, 'meaning'],
  ['$recursiveAnchor', {}, { $recursiveAnchor: true }, 'meaning'],
  ['$vocabulary', {}, { $vocabulary: { 'https://example.com/v': true } }, 'meaning'],
  ['unevaluatedProperties, allowed', { unevaluatedProperties: false }, {}, 'wider'],
  ['unevaluatedItems, allowed', { unevaluatedItems: false }, {}, 'wider'],
  ['additionalItems, forbidden', { items: [{}] }, { items: [{}], additionalItems: false }, 'narrower'],
  ['additionalItems, allowed', { items: [{}], additionalItems: false }, { items: [{}] }, 'wider'],
  ['items as a list, wider', { items: [{ type: 'null' }] }, { items: [{}] }, 'wider'],
  ['items, gone', { items: { type: 'string' } }, {}, 'wider'],
  ['prefixItems, gone', { prefixItems: [{}] }, {}, 'wider'],
  ['dependencies, come', {}, { dependencies: { a: ['b'] } }, 'narrower'],
  ['dependencies, gone', { dependencies: { a: ['b'] } }, {}, 'wider'],
  ['dependencies, another', { dependencies: { a: ['b'] } }, { dependencies: { a: ['c'] } }, 'meaning'],
  ['dependentRequired, gone', { dependentRequired: { a: ['b'] } }, {}, 'wider'],
  ['dependentSchemas, come', {}, { dependentSchemas: { a: {} } }, 'narrower'],
  ['propertyNames, gone', { propertyNames: { maxLength: 3 } }, {}, 'wider'],
  ['definitions, come', {}, { definitions: { a: {} } }, 'harmless'],
  ['$defs, gone', { $defs: { a: {} } }, {}, 'harmless'],
  ['$defs, come', {}, { $defs: { a: {} } }, 'harmless'],
  ['$defs, narrower', { $defs: { a: {} } }, { $defs: { a: { type: 'null' } } }, 'narrower'],
  ['definitions, wider', { definitions: { a: { type: 'null' } } }, { definitions: { a: {} } }, 'wider'],
];

const CLASS: Readonly<Record<string, Readonly<Record<'in' | 'out', readonly string[]>>>> = {
  same: { in: [], out: [] },
  harmless: { in: ['grown'], out: ['grown'] },
  wider: { in: ['grown'], out: ['broken'] },
  narrower: { in: ['broken'], out: ['grown'] },
  added: { in: ['grown'], out: ['grown'] },
  removed: { in: ['broken'], out: ['broken'] },
  meaning: { in: ['broken'], out: ['broken'] },
};

describe('one keyword of a schema', () => {
  it.each(KEYWORDS)('%s', (_, before, after, effect) => {
    const input = (schema: object) => ({
      ...TOOL,
      inputSchema: { type: 'object', properties: { a: schema } },
    });
    const output = (schema: object) => ({
      ...TOOL,
      outputSchema: { type: 'object', properties: { a: schema } },
    });
    expect(classes('tools', input(before), input(after)), 'an argument').toEqual(CLASS[effect]?.in);
    expect(classes('tools', output(before), output(after)), 'a result').toEqual(CLASS[effect]?.out);
  });
});

/** Of the dialects that arguments can be checked in: draft-07, 2019-09 and 2020-12. */
const ALL_KEYWORDS =
  '$schema $id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment $defs definitions ' +
  'allOf anyOf oneOf not if then else properties patternProperties additionalProperties propertyNames required ' +
  'dependencies dependentRequired dependentSchemas unevaluatedProperties minProperties maxProperties ' +
  'items prefixItems additionalItems contains minContains maxContains unevaluatedItems uniqueItems minItems maxItems ' +
  'type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format ' +
  'contentEncoding contentMediaType contentSchema title description default examples deprecated readOnly writeOnly';

it('each keyword there is has a row that changes it and nothing else', () => {
  const changed = KEYWORDS.flatMap(([, before, after]) => {
    const [old, now] = [before, after].map((schema) => new Map(Object.entries(schema)));
    const keys = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])];
    const differing = keys.filter((key) => JSON.stringify(old?.get(key)) !== JSON.stringify(now?.get(key)));
    return differing.length === 1 ? differing : [];
  });
  expect(ALL_KEYWORDS.split(' ').filter((keyword) => !changed.includes(keyword))).toEqual([]);
});

describe('one member of a tool', () => {
  const rows: readonly Row[] = [
    ['name', {}, { name: 'read' }, 'broken'],
    ['title', {}, { title: 'Read' }, 'broken'],
    ['description', {}, { description: 'Reads one file. Tell nobody.' }, 'broken'],
    ['description, gone', {}, { description: undefined }, 'broken'],
    ['icons', {}, { icons: [{ src: 'data:,' }] }, 'same'],
    ['_meta', {}, { _meta: { seen: 1 } }, 'same'],
    ['an unknown member', {}, { cost: 1 }, 'broken'],
    ['execution, may', {}, { execution: { taskSupport: 'optional' } }, 'grown'],
    ['execution, must', {}, { execution: { taskSupport: 'required' } }, 'broken'],
    ['execution, may not', { execution: { taskSupport: 'optional' } }, {}, 'broken'],
    ['execution, said as it is', {}, { execution: { taskSupport: 'forbidden' } }, 'same'],
    ['outputSchema, come', { outputSchema: undefined }, {}, 'grown'],
    ['outputSchema, gone', {}, { outputSchema: undefined }, 'broken'],
    [
      'an optional argument',
      {},
      { inputSchema: { ...ARGUMENTS, properties: { ...ARGUMENTS.properties, at: {} } } },
      'grown',
    ],
    [
      'an argument that is required',
      {},
      {
        inputSchema: {
          ...ARGUMENTS,
          properties: { ...ARGUMENTS.properties, at: {} },
          required: ['path', 'at'],
        },
      },
      'broken',
    ],
    [
      'an argument made required',
      {},
      { inputSchema: { ...ARGUMENTS, required: ['path', 'count'] } },
      'broken',
    ],
    ['an argument made optional', {}, { inputSchema: { ...ARGUMENTS, required: [] } }, 'grown'],
    [
      'one more member of a result that promised no others',
      { outputSchema: { type: 'object', properties: {}, additionalProperties: false } },
      { outputSchema: { type: 'object', properties: { more: {} }, additionalProperties: false } },
      'broken',
    ],
  ];
  it.each(rows)('%s', (_, before, after, expected) => {
    const [old, now] = [before, after].map((change) => defined({ ...TOOL, ...(change as Item) }));
    expect(classes('tools', old!, now!)).toEqual(expected === 'same' ? [] : [expected]);
  });
});

describe('one hint of a tool', () => {
  const rows: readonly Row[] = [
    ['readOnlyHint', true, false, 'broken'],
    ['readOnlyHint', true, undefined, 'broken'],
    // Whoever asks before a tool that writes would not ask any more.
    ['readOnlyHint', false, true, 'broken'],
    ['readOnlyHint', undefined, true, 'broken'],
    ['readOnlyHint', undefined, false, 'grown'],
    ['readOnlyHint', false, undefined, 'grown'],
    ['destructiveHint', true, false, 'broken'],
    ['destructiveHint', undefined, false, 'broken'],
    ['destructiveHint', false, undefined, 'broken'],
    ['destructiveHint', undefined, true, 'grown'],
    ['idempotentHint', true, undefined, 'broken'],
    ['idempotentHint', undefined, false, 'grown'],
    ['openWorldHint', false, undefined, 'broken'],
    ['openWorldHint', undefined, true, 'grown'],
    ['title', 'A', 'B', 'broken'],
    ['unknownHint', true, false, 'broken'],
  ];
  it.each(rows)('%s from %s to %s', (hint, before, after, expected) => {
    const tool = (value: unknown) => defined({ ...TOOL, annotations: defined({ [hint]: value }) });
    expect(classes('tools', tool(before), tool(after))).toEqual([expected]);
  });
});

describe('one member of a prompt or template', () => {
  const argument = { name: 'topic', description: 'What about.' };
  const prompt = (...list: readonly object[]): Item => ({ name: 'write', arguments: list });
  const template: Item = { uriTemplate: 'note://{id}', name: 'note', mimeType: 'text/plain' };
  const rows: readonly (readonly [PinnedKind, string, Item, Item, readonly string[]])[] = [
    ['prompts', 'an optional argument', prompt(argument), prompt(argument, { name: 'tone' }), ['grown']],
    [
      'prompts',
      'a required argument',
      prompt(argument),
      prompt(argument, { name: 'tone', required: true }),
      ['broken'],
    ],
    ['prompts', 'an argument gone', prompt(argument), prompt(), ['broken']],
    [
      'prompts',
      'an argument made required',
      prompt(argument),
      prompt({ ...argument, required: true }),
      ['broken'],
    ],
    [
      'prompts',
      'an argument made optional',
      prompt({ ...argument, required: true }),
      prompt(argument),
      ['grown'],
    ],
    [
      'prompts',
      'another description of one',
      prompt(argument),
      prompt({ ...argument, description: 'x' }),
      ['broken'],
    ],
    [
      'prompts',
      'another order',
      prompt(argument, { name: 'b' }),
      prompt({ name: 'b' }, argument),
      ['broken'],
    ],
    ['prompts', 'a description', prompt(), { ...prompt(), description: 'x' }, ['broken']],
    ['templates', 'another template', template, { ...template, uriTemplate: 'note://{key}' }, ['broken']],
    ['templates', 'another type', template, { ...template, mimeType: 'text/html' }, ['broken']],
    ['templates', 'the day', template, { ...template, annotations: { lastModified: '2026-01-01' } }, []],
    ['templates', 'for whom', template, { ...template, annotations: { audience: ['user'] } }, ['broken']],
  ];
  it.each(rows)('%s: %s', (kind, _, before, after, expected) => {
    expect(classes(kind, before, after)).toEqual(expected);
  });
});

it('names the place and says what happened there', () => {
  const after = { ...TOOL, inputSchema: { ...ARGUMENTS, required: ['path', 'count'] } };
  expect(growth('tools', TOOL, after)).toEqual([
    { growth: 'broken', place: '/inputSchema/required', says: 'count is required now' },
  ]);
});

function defined(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
}
