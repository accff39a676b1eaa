import { describe, expect, it } from 'vitest';
import type { Screen } from '../../../src/catalog/screen.ts';
import { buildCatalog, changesBetween } from '../../../src/catalog/snapshot.ts';
import { Twins } from '../../../src/catalog/twins.ts';
import { viewOf } from '../../../src/catalog/view.ts';
import type { Item, Kind } from '../../../src/protocol/model.ts';
import { part, resource, template, tool } from './parts.ts';

const NAMING = { separator: '.', maxLength: 128 };
/** Withholds items by name or template, and serves others in the place of some. */
const screening = (...names: readonly (string | Item)[]): Screen => {
  const given = new Map(
    names.map((each) => (typeof each === 'string' ? [each, undefined] : [String(each['name']), each])),
  );
  return {
    judge: ({ lists }, kind: Kind) => {
      const listed = new Set(lists[kind]?.items.flatMap((item) => [item['name'], item['uriTemplate']]));
      return new Map([...given].filter(([name]) => listed.has(name)));
    },
  };
};

const parts = [
  part('a', {
    tools: [tool('read'), tool('x_y')],
    resources: [resource('note://listed')],
    templates: [template('note://{id}'), template('note://open/{id}')],
  }),
  part('a_x', { tools: [tool('y')] }),
];

describe('what is withheld', () => {
  it('is in no list, no name leads to it, and no other name depends on it', () => {
    const all = buildCatalog(parts, NAMING);
    const some = buildCatalog(parts, NAMING, all, screening('x_y'));
    const rest = all.entries.tools.filter(({ original }) => original !== 'x_y');
    expect(some.entries.tools.map(({ exposed }) => exposed)).toEqual(rest.map(({ exposed }) => exposed));
    expect([some.tool('a.x_y'), some.toolOf('a', 'x_y'), some.bareTool('a', 'x_y')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const strict = all.toolOf('a', 'x_y')?.exposed.strict ?? '';
    expect(viewOf(some, { style: 'strict' }).withheld('tools', strict)?.original).toBe('x_y');
    expect(viewOf(some, { style: 'bare', upstream: 'a' }).withheld('tools', 'x_y')?.original).toBe('x_y');
    expect(viewOf(some, { style: 'dotted', upstream: 'a_x' }).withheld('tools', 'a.x_y')).toBeUndefined();
    const hidden = { key: 'k', shows: () => false };
    expect(viewOf(some, { style: 'dotted' }, hidden).withheld('tools', 'a.x_y')).toBeUndefined();
    expect(changesBetween(all, some)).toEqual(['tools']);
  });

  it('makes another catalog only where something else is withheld', () => {
    const one = buildCatalog(parts, NAMING, undefined, screening('x_y'));
    expect(buildCatalog(parts, NAMING, one, screening('x_y'))).toBe(one);
    expect(buildCatalog(parts, NAMING, one, screening('read')).revision).not.toBe(one.revision);
    const twins = new Twins();
    const of = (screen: Screen) => twins.catalog(parts, NAMING, screen).catalog.entries;
    expect(of(screening('x_y'))).toBe(of(screening('x_y')));
    expect(of(screening('x_y'))).not.toBe(of(screening()));
  });

  it('may be served in another form', () => {
    const other = { ...tool('read'), description: 'As approved.' };
    const catalog = buildCatalog(parts, NAMING, undefined, screening(other));
    expect(catalog.tool('a.read')?.item).toBe(other);
    expect(catalog.withheld.entries).toEqual([]);
  });

  it('covers what only its template leads to, and nothing of other servers', () => {
    const { withheld } = buildCatalog(parts, NAMING, undefined, screening('note://{id}'));
    const cover = (uri: string, upstream = 'a') => withheld.coverOf({ upstream, uri });
    expect(cover('note://1')).toBe('note://{id}');
    expect(cover('note://{id}')).toBe('note://{id}');
    expect(['note://listed', 'note://open/1', 'page://1'].map((uri) => cover(uri))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(cover('note://1', 'a_x')).toBeUndefined();
  });
});
