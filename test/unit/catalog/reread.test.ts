import { expect, it } from 'vitest';
import { startRepair } from '../../../src/catalog/repair.ts';
import type { Caller } from '../../../src/catalog/scoping.ts';
import { buildCatalog, type Catalog, changesBetween } from '../../../src/catalog/snapshot.ts';
import type { StoreOptions } from '../../../src/catalog/store-options.ts';
import { type ViewSelection, viewOf } from '../../../src/catalog/view.ts';
import type { Item } from '../../../src/protocol/model.ts';
import { workOf } from '../../scale/work.ts';
import { copyOf, list, part, resource, tool } from './parts.ts';
import { by, createWorld, during, same } from './users.ts';

/** What is taken over from the read before, and what is not. That the outcome is the same: `reread.property.test.ts`. */

const NAMING = { separator: '.', maxLength: 128 };
const DOTTED: ViewSelection = { style: 'dotted' };

const schema = { type: 'object', properties: { word: { type: 'string', description: 'Any word' } } };
const many = Array.from({ length: 200 }, (_, at) => tool(`tool_${at}`, { inputSchema: schema }));

function repaired(raw: readonly unknown[], before?: readonly Item[]) {
  const repair = startRepair('tools', before);
  repair.add(raw);
  return { ...repair.done(), cost: repair.cost };
}

it('judges of a list of 200 tools the one that has changed', async () => {
  const before = repaired(copyOf(many));
  const raw = copyOf([...many.slice(1), tool('tool_0', { inputSchema: { type: 'object', title: 'Other' } })]);
  const again = await workOf(() => Promise.resolve(repaired(raw, before.items)));
  const first = await workOf(() => Promise.resolve(repaired(copyOf(raw))));
  const judged = [first, again].map((work) => work.get('catalog/repair.ts:judge') ?? 0);
  expect(judged[0]).toBe(200 * (judged[1] ?? 0));
  const after = repaired(raw, before.items);
  expect(after.items.slice(0, -1).every((item, at) => item === before.items[at + 1])).toBe(true);
  expect(after).toEqual(repaired(copyOf(raw)));
});

it('judges again what it had something to say about', () => {
  const raw = [
    tool('a', { description: 7 }),
    tool('b', { inputSchema: { type: 'object', $ref: 'https://example.org/s' } }),
  ];
  const before = repaired(copyOf(raw));
  const after = repaired(copyOf(raw), before.items);
  expect(after).toEqual(before);
  expect(after.findings.map(({ id }) => id)).toEqual(['item.repaired', 'schema.remote-reference']);
});

it('counts what is taken over against the bounds of a list', () => {
  const { items, cost } = repaired(copyOf(many));
  expect(repaired(copyOf(many), items).cost).toBe(cost);
});

it('takes an item only for what the same name said before', () => {
  const before = repaired([tool('a', { title: 'A' }), tool('b')]);
  const after = repaired([tool('b', { title: 'A' }), tool('a')], before.items);
  expect(after.items).toEqual([tool('b', { title: 'A' }), tool('a')]);
});

/** The next catalog of lists that are read again. */
function next(before: Catalog, ...parts: Parameters<typeof part>[]): Catalog {
  return buildCatalog(
    parts.map((about) => part(...about)),
    NAMING,
    before,
  );
}

it('lists what nobody touched as before, and the texts of it with it', () => {
  const tools = [tool('x'), tool('y')];
  const one = buildCatalog([part('a', { tools })], NAMING);
  const other = next(one, ['a', { tools: [...copyOf(tools), tool('z')] }]);
  const [before, after] = [one, other].map((catalog) => viewOf(catalog, DOTTED).list('tools'));
  expect(after?.slice(0, 2).map((listed, at) => listed === before?.[at])).toEqual([true, true]);
});

it('names an item anew that somebody else now shares its name with, though it says the same', () => {
  const mine: Parameters<typeof part> = ['a', { tools: [tool('b.x'), tool('y')] }];
  const one = next(buildCatalog([], NAMING), mine, ['a.b', { tools: [] }]);
  const other = next(one, mine, ['a.b', { tools: [tool('x')] }]);
  const names = (catalog: Catalog) =>
    viewOf(catalog, DOTTED)
      .list('tools')
      .map(({ item }) => item['name']);
  expect(names(one)).toEqual(['a.b.x', 'a.y']);
  expect(names(other)).toEqual([
    expect.stringMatching(/^a\.b\.x_/),
    'a.y',
    expect.stringMatching(/^a\.b\.x_/),
  ]);
  expect(names(next(other, mine, ['a.b', { tools: [] }]))).toEqual(['a.b.x', 'a.y']);
});

it('names a resource in a tool as it is called now, though the tool says the same', () => {
  const linked: Parameters<typeof part> = [
    'b',
    {
      tools: [tool('show', { _meta: { ui: { resourceUri: 'ui://page' } } })],
      resources: [resource('ui://page')],
    },
  ];
  const link = (catalog: Catalog) => viewOf(catalog, DOTTED).list('tools')[0]?.item['_meta'];
  const one = next(buildCatalog([], NAMING), ['a', { resources: [] }], linked);
  expect(link(one)).toEqual({ ui: { resourceUri: 'ui://page' } });
  const other = next(one, ['a', { resources: [resource('ui://page')] }], linked);
  expect(link(other)).toEqual({ ui: { resourceUri: 'ui://b!page' } });
  expect(changesBetween(one, other)).toEqual(['tools', 'resources']);
});

it('gives whoever reads a list again what it was served before, and nobody what somebody else was', async () => {
  const given: string[] = [];
  const read: StoreOptions<Caller>['read'] = (_upstream, kind, _signal, caller, before) => {
    const who = caller?.principal.id ?? 'everybody';
    if (kind !== 'tools') {
      return Promise.resolve(undefined);
    }
    given.push(`${who}: ${before?.items.map(({ name }) => name).join() ?? 'nothing'}`);
    return Promise.resolve(list('tools', [tool(`of ${who}`)]));
  };
  const world = createWorld(
    { a: { own: true, offers: same() }, b: { offers: same() } },
    { options: { read } },
  );
  await during(world.time, 1_000, world.store.refresh('b', ['tools']));
  await during(world.time, 1_000, world.store.refresh('b', ['tools']));
  await during(world.time, 1_000, world.list('ann'));
  await during(world.time, 1_000, world.store.refresh('a', ['tools'], by('ann')));
  await during(world.time, 1_000, world.list('bob'));
  expect(given).toEqual([
    'everybody: nothing',
    'everybody: of everybody',
    'ann: nothing',
    'ann: of ann',
    'bob: nothing',
  ]);
  world.store.close();
});
