import { describe, expect, it } from 'vitest';
import { Unread } from '../../../src/front/unread.ts';

describe('what waits for all readers together', () => {
  function scene(most: number) {
    const cut: string[] = [];
    const unread = new Unread(() => most);
    const readers = new Map<string, object>();
    return {
      cut,
      unread,
      waits: (name: string, bytes: number) => {
        const reader = readers.get(name) ?? {};
        readers.set(name, reader);
        unread.waits(reader, bytes, () => cut.push(name));
      },
    };
  }

  it('cuts whoever waits for longest, and no more of them than needed', () => {
    const { unread, waits, cut } = scene(100);
    waits('a', 40);
    waits('b', 40);
    waits('c', 50);
    expect(cut).toEqual(['a']);
    expect(unread.bytes).toBe(90);
  });

  it('counts what a reader has left now; one that has caught up starts anew', () => {
    const { unread, waits, cut } = scene(100);
    waits('a', 60);
    waits('a', 90);
    waits('a', 0);
    expect(unread.bytes).toBe(0);
    waits('b', 60);
    waits('a', 30);
    waits('c', 30);
    expect(cut).toEqual(['b']);
  });

  it('lets one answer be larger than the bound', () => {
    const { waits, cut } = scene(100);
    waits('a', 500);
    expect(cut).toEqual([]);
    waits('b', 10);
    expect(cut).toEqual(['a']);
  });
});
