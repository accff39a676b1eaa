import { describe, expect, it } from 'vitest';
import { changesMoved, changesSeen } from '../../../src/catalog/changes-seen.ts';
import { buildCatalog, type Catalog, changesBetween, type Swap } from '../../../src/catalog/snapshot.ts';
import type { Sight } from '../../../src/catalog/view.ts';
import { part, tool } from './parts.ts';

const NAMING = { separator: '.', maxLength: 128 };
const DOTTED = { style: 'dotted' } as const;
const first = buildCatalog([part('a', { tools: [tool('one'), tool('two')] })], NAMING);

function swapTo(after: Catalog, before = first): Swap {
  return { before, after, changes: changesBetween(before, after), owner: undefined };
}

/** Sees these, by what their own server calls them. */
function seeing(...originals: readonly string[]): Sight {
  return { key: `sees ${originals.join()}`, shows: ({ original }) => originals.includes(original) };
}

describe('what of a swap somebody hears of', () => {
  const grown = buildCatalog(
    [part('a', { tools: [tool('one', { description: 'another' }), tool('two'), tool('three')] })],
    NAMING,
    first,
  );

  it.each([
    ['a change', ['one'], true],
    ['something new', ['three'], true],
    ['what stayed', ['two'], false],
    ['nothing', [], false],
  ])('whoever sees %s', (_what, originals, hears) => {
    expect(changesSeen(DOTTED, seeing(...originals), swapTo(grown))).toEqual(hears ? ['tools'] : []);
    // What went, from the other side.
    expect(changesSeen(DOTTED, seeing(...originals), swapTo(first, grown))).toEqual(hears ? ['tools'] : []);
  });

  it('is the same when it is asked twice', () => {
    const swap = swapTo(grown);
    expect(changesSeen(DOTTED, seeing('three'), swap)).toBe(changesSeen(DOTTED, seeing('three'), swap));
  });

  it('is nothing where the order alone is another one', () => {
    const turned = buildCatalog([part('a', { tools: [tool('two'), tool('one')] })], NAMING);
    expect(changesSeen(DOTTED, seeing('one', 'two'), { ...swapTo(turned), changes: ['tools'] })).toEqual([]);
  });

  it('is that a name leads elsewhere, for whoever may see only one of the two', () => {
    const bare = { namespace: '' };
    const before = buildCatalog([part('a', { tools: [tool('x')] }, bare)], NAMING);
    const after = buildCatalog([part('b', { tools: [tool('x')] }, bare)], NAMING);
    const swap: Swap = { before, after, changes: ['tools'], owner: undefined };
    const of = (key: string, ...upstreams: readonly string[]): Sight => ({
      key,
      shows: ({ upstream }) => upstreams.includes(upstream),
    });
    expect(changesSeen(DOTTED, of('a', 'a'), swap)).toEqual(['tools']);
    expect(changesSeen(DOTTED, of('b', 'b'), swap)).toEqual(['tools']);
    expect(changesSeen(DOTTED, of('both', 'a', 'b'), swap)).toEqual([]);
    expect(changesSeen(DOTTED, of('none'), swap)).toEqual([]);
  });
});

describe('what is another one for whoever sees something else now', () => {
  const look = (...originals: readonly string[]) => ({
    catalog: first,
    selection: DOTTED,
    sight: seeing(...originals),
  });

  it.each([
    ['more', ['one'], ['one', 'two'], ['tools']],
    ['less', ['one', 'two'], ['one'], ['tools']],
    ['the same', ['one'], ['one'], []],
    ['the same by other rights', ['one', 'nothing'], ['one'], []],
  ])('%s', (_what, before, after, changes) => {
    expect(changesMoved(look(...before), look(...after))).toEqual(changes);
  });
});
