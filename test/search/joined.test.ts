import { describe, expect, it } from 'vitest';
import { createPrincipal } from '../../src/access/principal.ts';
import { viewFilter } from '../../src/access/view-filter.ts';
import { viewOf } from '../../src/catalog/view.ts';
import { Joined, type Reader } from '../../src/relay/progressive.ts';
import { catalogOf } from './bench.ts';

const names = ['a', 'b', 'c', 'd', 'pinned'];
const tools = names.map((name) => ({ key: name, definition: { name, inputSchema: {} } }));
const listed = viewOf(catalogOf([{ id: 'x', tools }]), { style: 'dotted' }).list('tools');
const entry = (name: string) => listed.find((each) => each.entry.original === name)!.entry;

function readerOf(id: string, place = 'view grows'): Reader {
  const principal = createPrincipal({
    key: JSON.stringify([null, id]),
    id,
    issuer: undefined,
    groups: [],
    scopes: [],
    expires: undefined,
    presented: undefined,
  });
  const nothing = viewFilter({ include: ['*'], exclude: [] });
  return {
    principal,
    entrance: {
      id: place,
      selection: { style: 'dotted' },
      filter: nothing,
      instructions: { own: undefined, upstreams: false },
      listing: {
        mode: 'progressive',
        pinned: viewFilter({ include: ['x.pinned'], exclude: [] }),
        maxTokens: 0,
        found: { keep: 1_000, most: 3 },
      },
    },
  };
}

function createWorld() {
  let time = 0;
  const told: string[] = [];
  const joined = new Joined({ grown: (grant, place) => told.push(`${grant} ${place}`), now: () => time });
  return {
    joined,
    told,
    pass: (ms: number) => {
      time += ms;
    },
    has: (reader: Reader) => joined.among(listed, reader).map(({ entry: { original } }) => original),
  };
}

describe('what has joined a list', () => {
  const ann = readerOf('ann');

  it('is in the order in which it joined, and is told once', () => {
    const { joined, told, has } = createWorld();
    joined.note([entry('c'), entry('a')], ann);
    joined.note([entry('a')], ann);
    expect(has(ann)).toEqual(['c', 'a']);
    expect(told).toEqual([`${ann.principal.grant} view grows`]);
  });

  it('is not what is pinned, and is nobody else’s, nor at another entrance', () => {
    const { joined, told, has } = createWorld();
    joined.note([entry('pinned')], ann);
    expect(told).toEqual([]);
    joined.note([entry('a')], ann);
    expect(has(readerOf('bob'))).toEqual([]);
    expect(has(readerOf('ann', 'view other'))).toEqual([]);
  });

  it('goes when it was not found again for a while', () => {
    const { joined, has, pass } = createWorld();
    joined.note([entry('a'), entry('b')], ann);
    pass(900);
    joined.note([entry('b')], ann);
    pass(200);
    expect(has(ann)).toEqual(['b']);
  });

  it('makes room for what is newer, the best of one answer first', () => {
    const { joined, has, pass } = createWorld();
    joined.note([entry('a'), entry('b')], ann);
    pass(1);
    joined.note([entry('c'), entry('d')], ann);
    expect(has(ann)).toEqual(['b', 'c', 'd']);
    pass(1);
    joined.note(['a', 'b', 'c', 'd'].map(entry), ann);
    expect(has(ann).toSorted()).toEqual(['a', 'b', 'c']);
  });
});
