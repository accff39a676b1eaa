import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/protocol/model.ts';
import type { PinnedKind } from '../../../src/vetting/definition.ts';
import { growth } from '../../../src/vetting/growth.ts';
import { KEYWORDS } from './growth-rows.ts';

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

it('a part that is referred to from a negation says nothing for certain', () => {
  const schema = (part: object, body: object) => ({
    ...TOOL,
    inputSchema: { type: 'object', ...body, $defs: { part } },
  });
  const refers = { properties: { a: { $ref: '#/$defs/part' } } };
  const turns = { properties: { a: { not: { $ref: '#/$defs/part' } } } };
  const [old, now] = [{ type: 'string' }, {}];
  expect(classes('tools', schema(old, refers), schema(now, refers))).toEqual(['grown']);
  expect(classes('tools', schema(old, turns), schema(now, turns))).toEqual(['broken']);
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
    ['prompts', 'a title', prompt(), { ...prompt(), title: 'x' }, ['broken']],
    ['prompts', 'another name', prompt(), { ...prompt(), name: 'read' }, ['broken']],
    ['prompts', 'a member that nobody knows', prompt(), { ...prompt(), cost: 1 }, ['broken']],
    ['prompts', 'icons and _meta', prompt(), { ...prompt(), icons: [], _meta: { a: 1 } }, []],
    ['prompts', 'a title of an argument', prompt(argument), prompt({ ...argument, title: 'x' }), ['broken']],
    ['templates', 'a title', template, { ...template, title: 'x' }, ['broken']],
    ['templates', 'another name', template, { ...template, name: 'notes' }, ['broken']],
    ['templates', 'a description', template, { ...template, description: 'x' }, ['broken']],
    ['templates', 'icons and _meta', template, { ...template, icons: [], _meta: { a: 1 } }, []],
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
