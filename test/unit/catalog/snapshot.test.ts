import { describe, expect, it } from 'vitest';
import type { NamingRule } from '../../../src/catalog/naming.ts';
import type { UpstreamPart } from '../../../src/catalog/part.ts';
import { buildCatalog, type Catalog, changesBetween } from '../../../src/catalog/snapshot.ts';
import { KINDS } from '../../../src/protocol/model.ts';
import { copyOf, list, part, resource, template, tool } from './parts.ts';

const DOTTED: NamingRule = { separator: '.', maxLength: 128 };

const build = (parts: readonly UpstreamPart[], previous?: Catalog) => buildCatalog(parts, DOTTED, previous);
const dotted = (catalog: Catalog) => catalog.entries.tools.map((entry) => entry.exposed.dotted);

describe('routes', () => {
  it('C-001: both servers’ tools are there, each with its route, and bare names lead nowhere', () => {
    const catalog = build([
      part('stage', { tools: [tool('search'), tool('run')] }),
      part('prod', { tools: [tool('search'), tool('run')] }),
    ]);
    expect(dotted(catalog)).toEqual(['stage.search', 'stage.run', 'prod.search', 'prod.run']);
    expect(catalog.tool('prod.run')).toMatchObject({ upstream: 'prod', original: 'run' });
    expect(catalog.tool('prod__run')).toBe(catalog.tool('prod.run'));
    expect(catalog.tool('run')).toBeUndefined();
    expect(catalog.toolOf('stage', 'run')).toBe(catalog.tool('stage.run'));
    expect(catalog.toolOf('stage', 'stage.run')).toBeUndefined();
  });

  it('C-002: no name leads to two tools, in neither style', () => {
    const catalog = buildCatalog(
      [part('a', { tools: [tool('_x'), tool('x'), tool('b_c')] }), part('a_b', { tools: [tool('c')] })],
      { separator: '_', maxLength: 128 },
    );
    for (const entry of catalog.entries.tools) {
      expect(catalog.tool(entry.exposed.dotted)).toBe(entry);
      expect(catalog.tool(entry.exposed.strict)).toBe(entry);
    }
    expect(catalog.findings.map(({ id, item }) => [id, item])).toContainEqual(['name.collided', 'b_c']);
  });

  it('prompts have names of their own', () => {
    const catalog = build([part('u', { tools: [tool('same')], prompts: [{ name: 'same' }] })]);
    expect(catalog.prompt('u.same')?.kind).toBe('prompts');
    expect(catalog.promptOf('u', 'same')).toBe(catalog.prompt('u__same'));
    expect(catalog.tool('u.same')?.kind).toBe('tools');
  });

  it('C-005: one finding for each shortened name; nothing is dropped', () => {
    const names = ['m'.repeat(59), 'k'.repeat(100), 'n'.repeat(128)];
    const catalog = build([part('a-server-id-of-24-chars-', { tools: names.map((name) => tool(name)) })]);
    expect(catalog.entries.tools).toHaveLength(3);
    const found = catalog.findings.map(({ id, severity, item }) => [id, severity, item]);
    expect(found).toEqual([
      ['name.shortened', 'notice', names[0]],
      ['name.shortened', 'notice', names[1]],
      ['name.shortened', 'warning', names[2]],
    ]);
  });

  it('C-073: the catalog exposes, finds and reports URIs of two owners', () => {
    const parts = [
      part('one', { resources: [resource('file:///README.md')], templates: [template('db://{t}/{i}')] }),
      part('two', { resources: [resource('file:///README.md')], templates: [template('db://{t}/{i}')] }),
    ];
    const catalog = build(parts);
    expect(catalog.entries.resources.map((entry) => entry.exposed)).toMatchObject([
      { dotted: 'file:///README.md' },
      { dotted: 'file://two!/README.md', strict: 'file://two!/README.md', bare: 'file:///README.md' },
    ]);
    expect(catalog.resourceByUri('file://two!/README.md')).toEqual({
      upstream: 'two',
      uri: 'file:///README.md',
    });
    expect(catalog.exposeUri('two', 'file:///README.md')).toBe('file://two!/README.md');
    expect(catalog.findings.map(({ id, upstream, kind }) => [id, upstream, kind])).toEqual([
      ['uri.renamed', 'two', 'resources'],
      ['uri.renamed', 'two', 'templates'],
    ]);
  });

  it('the page of an app is known though no resource list holds it', () => {
    const app = (uri: string) => tool('app', { _meta: { ui: { resourceUri: uri } } });
    const catalog = build([part('a', { tools: [app('ui://w')] }), part('b', { tools: [app('ui://w')] })]);
    expect(catalog.resourceByUri('ui://w')).toEqual({ upstream: 'a', uri: 'ui://w' });
    expect(catalog.resourceByUri('ui://b!w')).toEqual({ upstream: 'b', uri: 'ui://w' });
  });

  it('C-009: findings of the lists carry their upstream', () => {
    const catalog = build([part('u', { tools: [null, tool('ok')] }), part('v', { tools: [tool('ok')] })]);
    expect(catalog.findings).toMatchObject([{ id: 'item.not-an-object', upstream: 'u', item: '#0' }]);
  });
});

describe('news', () => {
  const before = build([
    part('a', {
      tools: [tool('t', { description: 'd', title: 'T' }), tool('u')],
      resources: [resource('x://1')],
    }),
    part('b', { prompts: [{ name: 'p' }] }),
  ]);
  const again = (change?: (parts: UpstreamPart[]) => void): UpstreamPart[] => {
    const parts = [...before.parts.values()].map(copyOf);
    change?.(parts);
    return parts;
  };

  it('C-024: the same lists read again are the same catalog', () => {
    expect(build([...before.parts.values()], before)).toBe(before);
    const after = build(again(), before);
    expect(after.revision).toBe(before.revision);
    expect(after.entries).toBe(before.entries);
    expect(after.parts.get('a')?.lists.tools?.items).toBe(before.parts.get('a')?.lists.tools?.items);
  });

  it('C-024: freshness and staleness are kept without a new revision', () => {
    const [a, b] = [...before.parts.values()] as [UpstreamPart, UpstreamPart];
    const after = build(
      [
        {
          ...a,
          stale: true,
          lists: {
            ...a.lists,
            tools: list('tools', copyOf([...(a.lists.tools?.items ?? [])]), { readAt: 99 }),
          },
        },
        b,
      ],
      before,
    );
    expect(after).not.toBe(before);
    expect(after.revision).toBe(before.revision);
    expect(after.parts.get('a')).toMatchObject({ stale: true, lists: { tools: { readAt: 99 } } });
    expect(after.parts.get('b')).toBe(b);
    expect(changesBetween(before, after)).toEqual([]);
  });

  it('the order of keys and of items is no news, and the order from before stays', () => {
    const turned = part('a', {
      tools: [tool('u'), { title: 'T', description: 'd', inputSchema: { type: 'object' }, name: 't' }],
      resources: [resource('x://1')],
    });
    const after = build([turned, part('b', { prompts: [{ name: 'p' }] })], before);
    expect(after.revision).toBe(before.revision);
    expect(dotted(after)).toEqual(['a.t', 'a.u']);
  });

  it.each([
    [
      'a new description',
      { tools: [tool('t', { description: 'e', title: 'T' }), tool('u')], resources: [resource('x://1')] },
      ['tools'],
    ],
    [
      'a tool more',
      {
        tools: [tool('t', { description: 'd', title: 'T' }), tool('u'), tool('v')],
        resources: [resource('x://1')],
      },
      ['tools'],
    ],
    ['a tool less', { tools: [tool('u')], resources: [resource('x://1')] }, ['tools']],
    ['no tools any more', { resources: [resource('x://1')] }, ['tools']],
    [
      'a template',
      {
        tools: [tool('t', { description: 'd', title: 'T' }), tool('u')],
        resources: [resource('x://1')],
        templates: [template('x://{n}')],
      },
      ['resources'],
    ],
    [
      'prompts and a resource less',
      { tools: [tool('t', { description: 'd', title: 'T' }), tool('u')], prompts: [{ name: 'n' }] },
      ['prompts', 'resources'],
    ],
  ])('%s is news', (_what, offers, changes) => {
    const after = build([part('a', offers), part('b', { prompts: [{ name: 'p' }] })], before);
    expect(after.revision).not.toBe(before.revision);
    expect(changesBetween(before, after)).toEqual(changes);
    expect(changesBetween(after, before)).toEqual(changes);
  });

  it('what did not change keeps its objects', () => {
    const after = build(
      again((parts) => parts.splice(1, 1)),
      before,
    );
    expect(after.entries.tools[0]?.item).toBe(before.entries.tools[0]?.item);
    expect(changesBetween(before, after)).toEqual(['prompts']);
  });

  it('C-004: other names are news, though the definitions are the same', () => {
    const after = buildCatalog([...before.parts.values()], { separator: '/', maxLength: 128 }, before);
    expect(changesBetween(before, after)).toEqual(['tools', 'prompts']);
  });

  it('the order of upstreams alone is no news to clients, but decides who owns a URI', () => {
    const two = build([
      part('a', { resources: [resource('x://1')] }),
      part('b', { resources: [resource('x://1')] }),
    ]);
    const turned = build([...two.parts.values()].toReversed(), two);
    expect(turned.resourceByUri('x://1')?.upstream).toBe('b');
    expect(changesBetween(two, turned)).toEqual(['resources']);
    const apart = build([part('a', { tools: [tool('t')] }), part('b', { tools: [tool('t')] })]);
    expect(changesBetween(apart, build([...apart.parts.values()].toReversed(), apart))).toEqual([]);
  });

  it('a page that is renamed changes the tool that names it', () => {
    const app = part('b', { tools: [tool('app', { _meta: { ui: { resourceUri: 'ui://w' } } })] });
    const alone = build([part('a', {}), app]);
    const shared = build([part('a', { resources: [resource('ui://w')] }), app], alone);
    expect(changesBetween(alone, shared)).toEqual(['tools', 'resources']);
  });

  it('no two revisions are alike, not even of equal catalogs', () => {
    expect(build([part('a', { tools: [tool('t')] })]).revision).not.toBe(
      build([part('a', { tools: [tool('t')] })]).revision,
    );
  });
});

it('bulk: 20 upstreams of 500 tools, every name unique and routed', () => {
  const parts = Array.from({ length: 20 }, (_, at) =>
    part(`server-${at}`, {
      tools: Array.from({ length: 500 }, (_, index) => tool(`a_tool_with_a_longer_name_${index}`)),
    }),
  );
  const catalog = build(parts);
  expect(new Set(dotted(catalog)).size).toBe(10_000);
  for (const entry of catalog.entries.tools) {
    if (catalog.tool(entry.exposed.strict) !== entry || entry.exposed.strict.length > 52) {
      expect.fail(`${entry.exposed.strict} is not routed`);
    }
  }
  const one = build([...parts.slice(0, 19), part('server-19', { tools: [tool('only')] })], catalog);
  expect(one.entries.tools).toHaveLength(9_501);
  expect(KINDS.every((kind) => Array.isArray(one.entries[kind]))).toBe(true);
});
