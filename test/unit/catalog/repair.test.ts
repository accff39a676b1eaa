import {
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { mendInputSchema } from '../../../src/catalog/schema.ts';
import { codecFor } from '../../../src/protocol/codec.ts';
import { repairItems, tool } from './parts.ts';

const ids = (findings: readonly { id: string }[]) => findings.map((finding) => finding.id);

/** An object nested `depth` levels deep, made without recursion. */
function nested(depth: number): object {
  let inner: object = {};
  for (let level = 0; level < depth; level += 1) {
    inner = { not: inner };
  }
  return inner;
}

/** Where the members of a JSON value are. */
function pathsOf(value: unknown): (readonly string[])[] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return members.flatMap(([key, inner]) => [[key], ...pathsOf(inner).map((path) => [key, ...path])]);
}

/** The same value with another member there. */
function withAt(value: unknown, [key, ...rest]: readonly string[], member: unknown): unknown {
  if (key === undefined) {
    return member;
  }
  const copy: unknown = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) };
  Reflect.set(copy as object, key, withAt(Reflect.get(value as object, key), rest, member));
  return copy;
}

describe('malformed items', () => {
  const bad = [
    tool('ok1'),
    { name: 'null-schema', inputSchema: null },
    { name: 'no-schema' },
    { name: 'only-dialect', inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#' } },
    { name: 'null-required', inputSchema: { type: 'object', required: null } },
    { name: 'root-union', inputSchema: { anyOf: [{ type: 'object' }, { type: 'object' }] } },
    { name: 'string-schema', inputSchema: { type: 'string' } },
    { name: 'number-description', description: 7, inputSchema: { type: 'object' } },
    tool('ok2'),
  ];

  it('C-009: one bad tool does not take its list down, and each decision is a finding that names it', () => {
    const { items, findings } = repairItems('tools', bad);
    expect(items.map((item) => item['name'])).toEqual([
      'ok1',
      'null-schema',
      'no-schema',
      'only-dialect',
      'null-required',
      'root-union',
      'number-description',
      'ok2',
    ]);
    expect(findings.map(({ id, item }) => [id, item])).toEqual([
      ['item.repaired', 'null-schema'],
      ['item.repaired', 'no-schema'],
      ['item.repaired', 'only-dialect'],
      ['item.repaired', 'null-required'],
      ['item.repaired', 'root-union'],
      ['tool.schema-not-object', 'string-schema'],
      ['item.repaired', 'number-description'],
    ]);
  });

  it('C-009: a client with strict list validation accepts what is left, whatever any one member is', () => {
    const icon = {
      src: 'https://x.example/y.png',
      mimeType: 'image/png',
      sizes: ['48x48'],
      theme: 'dark',
    };
    const annotations = {
      audience: ['user'],
      priority: 0.5,
      lastModified: '2025-01-12T15:00:58Z',
    };
    const schema = {
      $schema: 'x',
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
    };
    const told = { title: 'T', description: 'D', icons: [icon], _meta: {} };
    const whole = [
      {
        kind: 'tools',
        list: (tools: readonly unknown[]) => ListToolsResultSchema.safeParse({ tools }),
        item: {
          ...told,
          name: 't',
          inputSchema: schema,
          outputSchema: schema,
          annotations: {
            title: 'x',
            readOnlyHint: true,
            destructiveHint: false,
          },
          execution: { taskSupport: 'optional' },
        },
      },
      {
        kind: 'prompts',
        list: (prompts: readonly unknown[]) => ListPromptsResultSchema.safeParse({ prompts }),
        item: {
          ...told,
          name: 'p',
          arguments: [{ name: 'a', title: 'A', description: 'D', required: true }],
        },
      },
      {
        kind: 'resources',
        list: (resources: readonly unknown[]) => ListResourcesResultSchema.safeParse({ resources }),
        item: {
          ...told,
          uri: 'u://x',
          name: 'n',
          mimeType: 'text/plain',
          size: 5,
          annotations,
        },
      },
    ] as const;
    const odd = [
      null,
      true,
      0,
      -1,
      1.5,
      '',
      'x',
      '2025-01-12',
      '2025-02-30T00:00:00Z',
      [],
      [null],
      ['x'],
      {},
    ];
    for (const { kind, item, list } of whole) {
      expect(repairItems(kind, [item])).toEqual({
        items: [item],
        findings: [],
      });
      for (const path of pathsOf(item)) {
        for (const value of odd) {
          const { items } = repairItems(kind, [withAt(item, path, value)]);
          const served = items.map((each) => codecFor('2025-11-25').encodeItem(kind, each));
          expect(list(served).success, `${kind} ${path.join('.')} ${JSON.stringify(value)}`).toBe(true);
        }
      }
    }
  });

  it('C-009: a client with strict list validation accepts what is left', () => {
    expect(ListToolsResultSchema.safeParse({ tools: bad }).success).toBe(false);
    expect(ListToolsResultSchema.safeParse({ tools: repairItems('tools', bad).items }).success).toBe(true);
    const tools = [
      { ...tool('t'), annotations: { readOnlyHint: 'yes', title: 'T' }, icons: [{}], _meta: 4, title: null },
      { name: 'u', inputSchema: { type: ['object', 'null'], properties: [] }, outputSchema: 12 },
      { ...tool('v'), outputSchema: { type: 'object', required: null } },
    ];
    expect(ListToolsResultSchema.safeParse({ tools: repairItems('tools', tools).items }).success).toBe(true);
    const prompts = [{ name: 'p', arguments: [{ name: 'a' }, {}, 'b'], description: [] }];
    expect(
      ListPromptsResultSchema.safeParse({ prompts: repairItems('prompts', prompts).items }).success,
    ).toBe(true);
    const resources = [
      { uri: 'a://1', mimeType: 5, size: '9', annotations: { priority: 'x', audience: [1, 'user'] } },
    ];
    const repaired = repairItems('resources', resources).items;
    expect(ListResourcesResultSchema.safeParse({ resources: repaired }).success).toBe(true);
    expect(repaired[0]).toEqual({ uri: 'a://1', name: 'a://1', annotations: { audience: ['user'] } });
  });

  it('C-009: repairs touch nothing else, and keep the order of keys', () => {
    const { items } = repairItems('tools', [
      {
        'x-vendor': 1,
        name: 't',
        inputSchema: { $id: 's', anyOf: [], required: null },
        description: 3,
        title: 'T',
      },
    ]);
    expect(JSON.stringify(items[0])).toBe(
      '{"x-vendor":1,"name":"t","inputSchema":{"$id":"s","anyOf":[],"type":"object"},"title":"T"}',
    );
  });

  it('C-008: a good item comes out as the very same object, whatever it holds', () => {
    const schema = JSON.parse(
      '{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"q","type":"object","properties":{"z":{"$ref":"#/$defs/n"},"a":true},"additionalProperties":false,"oneOf":[{}],"x-vendor":{"k":1},"$defs":{"n":{"type":"object"}}}',
    );
    const good = { name: 't', inputSchema: schema, futureMember: [1], _meta: { 'v/k': null } };
    const before = JSON.stringify(good);
    const { items, findings } = repairItems('tools', [good]);
    expect(items[0]).toBe(good);
    expect(JSON.stringify(items[0])).toBe(before);
    expect(findings).toEqual([]);
  });

  it('C-012: recursive and pointer-style references stay as they are', () => {
    const tools = [
      tool('a', {
        inputSchema: {
          type: 'object',
          $defs: { node: { children: { items: { $ref: '#/$defs/node' } } } },
        },
      }),
      tool('b', {
        inputSchema: { type: 'object', properties: { n: { items: { $ref: '#/properties/n/items' } } } },
      }),
    ];
    const { items, findings } = repairItems('tools', tools);
    expect(items).toEqual(tools);
    expect(findings).toEqual([]);
  });

  it('leaves out what has no usable name and says where it stood', () => {
    const raw = [
      null,
      [],
      'x',
      {},
      { name: '' },
      { name: 4 },
      { name: 'a\nb' },
      { name: 'n'.repeat(1025) },
      tool('ok'),
    ];
    const { items, findings } = repairItems('tools', raw);
    expect(items).toEqual([tool('ok')]);
    expect(ids(findings)).toEqual([
      ...Array(3).fill('item.not-an-object'),
      ...Array(3).fill('item.no-name'),
      ...Array(2).fill('item.bad-name'),
    ]);
    expect(findings[3]?.item).toBe('#3');
    expect(findings[6]?.item).toBe('a b');
    expect(repairItems('templates', [{ uri: 'a://1' }]).items).toEqual([]);
  });

  it('of duplicates the first stays; only different definitions are a warning', () => {
    const { items, findings } = repairItems('tools', [
      tool('t', { a: 1 }),
      tool('t', { a: 1 }),
      tool('t', { a: 2 }),
    ]);
    expect(items).toEqual([tool('t', { a: 1 })]);
    expect(findings.map(({ id, severity }) => [id, severity])).toEqual([
      ['item.duplicate', 'notice'],
      ['item.duplicate', 'warning'],
    ]);
  });

  it('a list that is malformed throughout does not flood the report', () => {
    const { findings } = repairItems('tools', Array(5000).fill(null));
    expect(findings).toHaveLength(101);
    expect(findings.at(-1)).toMatchObject({
      id: 'list.more-findings',
      reason: expect.stringContaining('4900'),
    });
  });

  it('a member called __proto__ is data like any other', () => {
    const raw = JSON.parse('{"name":"t","inputSchema":null,"__proto__":{"name":"u"}}');
    expect(JSON.stringify(repairItems('tools', [raw]).items[0])).toContain('"__proto__":{"name":"u"}');
  });
});

describe('bounds', () => {
  it('C-014: schemas that are too deep are left out without overflowing the stack; others stay', () => {
    for (const depth of [250, 2_000, 100_000]) {
      const { items, findings } = repairItems('tools', [
        tool('deep', { inputSchema: { type: 'object', not: nested(depth) } }),
        tool('ok'),
      ]);
      expect(items.map((item) => item['name'])).toEqual(['ok']);
      expect(findings).toMatchObject([{ id: 'item.too-large', severity: 'error', item: 'deep' }]);
    }
    expect(
      repairItems('tools', [tool('t', { inputSchema: { type: 'object', not: nested(150) } })]).findings,
    ).toEqual([]);
  });

  it('C-014: schemas of too many parts or bytes are left out', () => {
    const wide = { type: 'object', enum: Array(20_001).fill(0) };
    const long = { type: 'object', description: 'x'.repeat(2 * 1024 * 1024) };
    const { items, findings } = repairItems('tools', [
      tool('wide', { inputSchema: wide }),
      tool('long', { inputSchema: long }),
    ]);
    expect(items).toEqual([]);
    expect(ids(findings)).toEqual(['item.too-large', 'item.too-large']);
  });

  it('C-014: a small schema that would explode in a validator is served as it is', () => {
    const $defs: Record<string, unknown> = { d60: { type: 'string' } };
    for (let level = 0; level < 60; level += 1) {
      const next = { $ref: `#/$defs/d${level + 1}` };
      $defs[`d${level}`] = { anyOf: [next, next] };
    }
    const bomb = tool('bomb', { inputSchema: { type: 'object', $ref: '#/$defs/d0', $defs } });
    expect(repairItems('tools', [bomb])).toEqual({ items: [bomb], findings: [] });
  });

  it('C-014: a reference to another document stays, with a warning; one to an own $id does not warn', () => {
    const away = tool('away', { inputSchema: { type: 'object', $ref: 'http://169.254.169.254/s.json' } });
    const home = tool('home', {
      inputSchema: {
        type: 'object',
        $id: 'https://x.example/s',
        properties: { a: { $ref: 'https://x.example/s#/b' } },
      },
    });
    const { items, findings } = repairItems('tools', [away, home]);
    expect(items).toEqual([away, home]);
    expect(findings).toMatchObject([{ id: 'schema.remote-reference', severity: 'warning', item: 'away' }]);
  });
});

it('mendInputSchema refuses other root types, whatever else they say', () => {
  for (const type of ['string', 'array', 7, ['string', 'null'], {}]) {
    expect(mendInputSchema({ type, properties: {} })).toHaveProperty('refused');
  }
});
