import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/protocol/model.ts';
import { lint } from '../../../src/vetting/lint.ts';
import { server, told, tool } from './offers.ts';

const about = (given: Item & { readonly name: string }) => told(lint([server('up', [tool(given)])]));

it('has nothing to say about a tool that is in order', () => {
  expect(about({ name: 'read_file' })).toEqual([]);
});

describe('hints', () => {
  it.each<[string, Item | undefined, readonly string[]]>([
    ['read_file', undefined, ['hint.missing /annotations']],
    ['read_file', { readOnlyHint: true }, []],
    // Missing and false are different answers.
    ['write_file', { readOnlyHint: false }, ['hint.missing /annotations']],
    ['write_file', { readOnlyHint: false, destructiveHint: false }, []],
    ['show', { readOnlyHint: true, destructiveHint: true }, ['hint.contradiction show /annotations']],
    ['deleteAll', { readOnlyHint: true }, ['hint.name-writes deleteAll /annotations']],
    ['get_user', { readOnlyHint: false, destructiveHint: true }, ['hint.name-reads get_user /annotations']],
    ['get_user', { readOnlyHint: false, destructiveHint: false }, ['hint.name-reads get_user /annotations']],
    ['get-or-create-user', { readOnlyHint: false, destructiveHint: false }, []],
    ['updates', { readOnlyHint: true }, []],
    ['settle', { readOnlyHint: true }, []],
  ])('%s with %o', (name, annotations, expected) => {
    expect(about({ name, annotations })).toEqual(expected);
  });

  it('of many tools that leave them open there is one finding, which names them', () => {
    const tools = ['a1', 'b1', 'c1', 'd1', 'e1', 'f1'].map((name) => tool({ name, annotations: undefined }));
    const found = lint([server('up', [...tools, tool({ name: 'read' })])]);
    expect(told(found)).toEqual(['hint.missing /annotations']);
    expect(found[0]?.reason).toContain('6 of 7 tools');
    expect(found[0]?.reason).toContain('a1, b1, c1, d1, e1 and 1 more');
  });

  it('a word that all names begin with is not their verb', () => {
    const names = ['archive_read', 'archive_delete', 'archive_find'];
    const found = lint([
      server(
        'up',
        names.map((name) => tool({ name })),
      ),
    ]);
    expect(told(found)).toEqual(['hint.name-writes archive_delete /annotations']);
  });
});

describe('names', () => {
  it.each<[string, readonly string[]]>([
    ['admin.tools.list-v2', []],
    ['read file', ['name.characters read file /name']],
    ['lire_é', ['name.characters lire_é /name']],
    ['x'.repeat(64), []],
    ['x'.repeat(65), [`name.long ${'x'.repeat(65)} /name`]],
  ])('%s', (name, expected) => {
    expect(about({ name })).toEqual(expected);
  });
});

describe('schemas', () => {
  const schema = (part: object) => ({ type: 'object', properties: { a: part } });
  it.each<[object, readonly string[]]>([
    [{ type: 'strng' }, ['schema.invalid x /inputSchema/properties/a/type']],
    [{ type: ['string', 'null'] }, []],
    [{ type: 'string', required: true }, ['schema.invalid x /inputSchema/properties/a/required']],
    [{ type: 'string', pattern: '(' }, ['schema.invalid x /inputSchema/properties/a/pattern']],
    // Good without the flag, as many engines take it.
    [{ type: 'string', pattern: '^[\\w-.]+$' }, []],
    [{ type: 'string', pattern: '^(a+)+$' }, []],
    [
      { type: 'number', exclusiveMinimum: true },
      ['schema.invalid x /inputSchema/properties/a/exclusiveMinimum'],
    ],
    [{ type: 'array', items: 'string' }, ['schema.invalid x /inputSchema/properties/a/items']],
    [{ anyOf: {} }, ['schema.invalid x /inputSchema/properties/a/anyOf']],
    [{ enum: 'a' }, ['schema.invalid x /inputSchema/properties/a/enum']],
    // Data, not schemas.
    [{ default: { type: 'strng' }, examples: [{ type: 7 }], enum: [{ type: 7 }] }, []],
    [{ properties: { type: { type: 'string' }, required: { type: 'boolean' } } }, []],
    [{ $ref: '#/$defs/gone' }, ['schema.broken-reference x /inputSchema/properties/a/$ref']],
    [{ $ref: '#/properties/a' }, []],
    [{ $ref: '#' }, []],
    [{ $ref: '#/properties/a%2Fb' }, ['schema.broken-reference x /inputSchema/properties/a/$ref']],
  ])('%o', (part, expected) => {
    expect(about({ name: 'x', inputSchema: schema(part) })).toEqual(expected);
  });

  it.each<[object, readonly string[]]>([
    [{ type: 'object' }, ['schema.accepts-anything x /inputSchema']],
    [{ type: 'object', properties: {} }, ['schema.accepts-anything x /inputSchema']],
    [
      { type: 'object', properties: {}, additionalProperties: {} },
      ['schema.accepts-anything x /inputSchema'],
    ],
    [{ type: 'object', additionalProperties: false }, []],
    [{ type: 'object', additionalProperties: { type: 'string' } }, []],
    [{ type: 'object', anyOf: [{ required: ['a'] }] }, []],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', ...schema({}) }, []],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema({}) }, []],
    [
      { $schema: 'http://json-schema.org/draft-04/schema#', ...schema({}) },
      ['schema.dialect x /inputSchema/$schema'],
    ],
  ])('as a whole: %o', (inputSchema, expected) => {
    expect(about({ name: 'x', inputSchema })).toEqual(expected);
  });

  it('a recursive one is walked once, and one that is wrong throughout is told a few times', () => {
    const $defs = { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } };
    expect(about({ name: 'x', inputSchema: { ...schema({ $ref: '#/$defs/node' }), $defs } })).toEqual([]);
    const properties = Object.fromEntries(
      Array.from({ length: 500 }, (_, at) => [`p${at}`, { type: 'strng' }]),
    );
    expect(about({ name: 'x', inputSchema: { type: 'object', properties } })).toHaveLength(5);
  });
});

describe('descriptions', () => {
  it.each<[string | undefined, readonly string[]]>([
    [undefined, ['description.missing x /description']],
    [' \n', ['description.missing x /description']],
    ['word '.repeat(500), ['description.long x /description']],
    ['Exports a chart. PDF is not yet supported.', ['description.temporary x /description']],
    ['As of June 2026 this takes one file.', ['description.temporary x /description']],
    ['This feature is temporarily disabled.', ['description.temporary x /description']],
    // Dates and words that examples and plain descriptions hold.
    ['Date as YYYY-MM-DD, for instance 2026-01-31.', []],
    ['Returns the tab that is currently selected.', []],
    ['Waits until the element is ready.', []],
  ])('%s', (description, expected) => {
    expect(about({ name: 'x', description })).toEqual(expected);
  });

  it('a prompt needs one, a template does not', () => {
    const lists = { prompts: [{ name: 'p' }], templates: [{ uriTemplate: 'note://{id}', name: 'note' }] };
    expect(told(lint([{ upstream: 'up', lists }]))).toEqual(['description.missing p /description']);
  });

  it('a large definition and long instructions are noticed', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [
        `argument_${at}`,
        { type: 'string', description: `Number ${at}.` },
      ]),
    );
    const tools = [tool({ name: 'x', inputSchema: { type: 'object', properties } })];
    expect(told(lint([server('up', tools, { instructions: 'word '.repeat(500) })]))).toEqual([
      'instructions.long /instructions',
      'definition.large x',
    ]);
  });
});

describe('descriptions that are alike', () => {
  const text =
    'Reads the complete contents of one file from the disk and returns them as text, with a line number before each.';
  const alike = (...given: readonly (readonly [string, string, string])[]) => {
    const servers = [...new Set(given.map(([upstream]) => upstream))];
    const offers = servers.map((upstream) =>
      server(
        upstream,
        given.filter(([id]) => id === upstream).map(([, name, description]) => tool({ name, description })),
      ),
    );
    return told(lint(offers));
  };
  it.each<[string, string, readonly string[]]>([
    ['word for word', text, ['description.alike open /description']],
    [
      'but for case and signs',
      text.toUpperCase().replace(',', ' -'),
      ['description.alike open /description'],
    ],
    ['nearly', text.replace('before each', 'before every'), ['description.alike open /description']],
    ['not', 'Writes one file to the disk and returns how many bytes were written to it, as a number.', []],
  ])('%s', (_, other, expected) => {
    expect(alike(['a', 'read', text], ['b', 'open', other])).toEqual(expected);
  });
  it('one server may describe its own tools alike, and a few words say nothing', () => {
    expect(alike(['a', 'read', text], ['a', 'open', text])).toEqual([]);
    expect(alike(['a', 'find', 'Search'], ['b', 'look', 'Search'])).toEqual([]);
  });
  it('a server that is there twice is one finding', () => {
    const names = ['one', 'two', 'three', 'four', 'five'];
    const twice = names.flatMap((name) =>
      ['a', 'b'].map((id) => [id, name, `${text} Part ${name}.`] as const),
    );
    expect(alike(...twice)).toEqual(['description.alike /description']);
  });
  it('grows with the number of tools, not with its square', () => {
    // Every pair would be compared 2 million times; 8 for each tool and band are the bound.
    const offers = ['a', 'b', 'c', 'd'].map((id) =>
      server(
        id,
        Array.from({ length: 500 }, (_, at) =>
          tool({ name: `t${at}`, description: `${text} Variant number ${at} of it.` }),
        ),
      ),
    );
    expect(told(lint(offers))).toHaveLength(3);
  });
});
