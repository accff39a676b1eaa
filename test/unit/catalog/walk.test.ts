import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { mergeHints } from '../../../src/catalog/part.ts';
import { walkList } from '../../../src/catalog/walk.ts';
import { KIND_FACTS, KINDS } from '../../../src/protocol/model.ts';
import { resource, template, tool } from './parts.ts';

const LIMITS = { pages: 50, items: 500, bytes: 100_000, totalMs: 60_000 };

/** An upstream that answers by cursor, and the cursors it was asked for. */
function pages(answers: Readonly<Record<string, JsonObject>>) {
  const asked: (string | undefined)[] = [];
  const fetch = (cursor: string | undefined): Promise<JsonObject> => {
    asked.push(cursor);
    const answer = answers[cursor ?? 'first'];
    return answer === undefined ? Promise.reject(new Error(`no page ${cursor}`)) : Promise.resolve(answer);
  };
  return { asked, fetch };
}

const names = (items: readonly JsonObject[]) => items.map((item) => item['name']);

describe('walkList', () => {
  it('C-015: reads every page of every kind', async () => {
    const make = {
      tools: tool,
      prompts: (name: string) => ({ name }),
      resources: resource,
      templates: template,
    };
    for (const kind of KINDS) {
      const { member, key } = KIND_FACTS[kind];
      const all = Array.from({ length: 101 }, (_, index) => make[kind](`x:${index}`));
      const walked = await walkList(kind, (cursor = '0') => {
        const from = Number(cursor);
        const next = from + 50 < all.length ? { nextCursor: String(from + 50) } : {};
        return Promise.resolve({ [member]: all.slice(from, from + 50), ...next });
      });
      expect(walked.items).toEqual(all);
      expect(walked.items[100]?.[key]).toBe('x:100');
    }
  });

  it('C-015: a page that fails rejects with its own error, never with the pages before', async () => {
    const down = new GatewayError('UPSTREAM_DOWN', { upstream: 'u' });
    const walk = walkList('tools', (cursor) =>
      cursor === undefined ? Promise.resolve({ tools: [tool('a')], nextCursor: 'b' }) : Promise.reject(down),
    );
    await expect(walk).rejects.toBe(down);
  });

  it('C-016: the same cursor for ever ends the walk, with unique items and a warning', async () => {
    const { asked, fetch } = pages({
      first: { tools: [tool('a')], nextCursor: 'c' },
      c: { tools: [tool('a')], nextCursor: 'c' },
    });
    const { items, findings } = await walkList('tools', fetch, LIMITS);
    expect(names(items)).toEqual(['a']);
    expect(asked).toEqual([undefined, 'c']);
    expect(findings.filter((finding) => finding.severity === 'warning')).toMatchObject([
      { id: 'list.cursor-repeats' },
    ]);
  });

  it('C-016: a cycle of two ends before it is followed again', async () => {
    const { asked, fetch } = pages({
      first: { tools: [tool('a')], nextCursor: 'A' },
      A: { tools: [tool('b')], nextCursor: 'B' },
      B: { tools: [tool('c')], nextCursor: 'A' },
    });
    expect(names((await walkList('tools', fetch, LIMITS)).items)).toEqual(['a', 'b', 'c']);
    expect(asked).toEqual([undefined, 'A', 'B']);
  });

  it('C-018: the page behind a repeated cursor is not read once more', async () => {
    const { asked, fetch } = pages({
      first: { tools: [tool('t1'), tool('t2')], nextCursor: 'c1' },
      c1: { tools: [tool('t3'), tool('t4')], nextCursor: 'c1' },
    });
    const { items, findings } = await walkList('tools', fetch, LIMITS);
    expect(names(items)).toEqual(['t1', 't2', 't3', 't4']);
    expect(asked).toEqual([undefined, 'c1']);
    expect(findings.map((finding) => finding.id)).toEqual(['list.cursor-repeats']);
  });

  it('C-016: ever new cursors end at the cap of pages, as a failure', async () => {
    let count = 0;
    const walk = walkList(
      'tools',
      () => {
        count += 1;
        return Promise.resolve({ tools: [], nextCursor: `c${count}` });
      },
      LIMITS,
    );
    await expect(walk).rejects.toMatchObject({
      code: 'LIST_UNREADABLE',
      logged: expect.stringContaining('50 pages'),
    });
    expect(count).toBe(50);
  });

  it('C-016: too many items, and too many bytes, are failures', async () => {
    const many = Array.from({ length: 501 }, (_, index) => tool(`t${index}`));
    await expect(walkList('tools', () => Promise.resolve({ tools: many }), LIMITS)).rejects.toMatchObject({
      code: 'LIST_UNREADABLE',
    });
    const large = [
      tool('a', { description: 'x'.repeat(60_000) }),
      tool('b', { description: 'x'.repeat(60_000) }),
    ];
    await expect(walkList('tools', () => Promise.resolve({ tools: large }), LIMITS)).rejects.toMatchObject({
      code: 'LIST_UNREADABLE',
    });
  });

  it('C-016: one deadline for all pages, even where the upstream ignores the signal', async () => {
    let seen: AbortSignal | undefined;
    const walk = walkList(
      'tools',
      (cursor, signal) => {
        seen = signal;
        return cursor === undefined
          ? Promise.resolve({ tools: [], nextCursor: 'never' })
          : new Promise<JsonObject>(() => {});
      },
      { ...LIMITS, totalMs: 5 },
    );
    await expect(walk).rejects.toMatchObject({ code: 'LIST_UNREADABLE' });
    expect(seen?.aborted).toBe(true);
  });

  it('ends when its caller goes', async () => {
    const caller = new AbortController();
    const walk = walkList('tools', () => new Promise<JsonObject>(() => {}), LIMITS, caller.signal);
    caller.abort();
    await expect(walk).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(
      walkList('tools', () => Promise.resolve({ tools: [] }), LIMITS, caller.signal),
    ).rejects.toMatchObject({
      code: 'CANCELLED',
    });
  });

  it('an empty cursor is a cursor; null is none; anything else is unreadable', async () => {
    const { asked, fetch } = pages({
      first: { tools: [], nextCursor: '' },
      '': { tools: [], nextCursor: null },
    });
    await walkList('tools', fetch, LIMITS);
    expect(asked).toEqual([undefined, '']);
    await expect(
      walkList('tools', () => Promise.resolve({ tools: [], nextCursor: 7 })),
    ).rejects.toMatchObject({
      code: 'LIST_UNREADABLE',
    });
  });

  it('a result without its list is unreadable', async () => {
    for (const result of [{}, { tools: null }, { tools: {} }]) {
      await expect(walkList('tools', () => Promise.resolve(result))).rejects.toMatchObject({
        code: 'LIST_UNREADABLE',
      });
    }
  });

  it('merges the hints of its pages', async () => {
    const { fetch } = pages({
      first: { tools: [], nextCursor: 'b', ttlMs: 500, cacheScope: 'public' },
      b: { tools: [], ttlMs: -3, cacheScope: 'private' },
    });
    expect((await walkList('tools', fetch)).hints).toEqual({ ttlMs: 0, scope: 'private' });
    const odd = { tools: [], ttlMs: 'long', cacheScope: 'everyone' };
    expect((await walkList('tools', () => Promise.resolve(odd))).hints).toEqual({
      ttlMs: undefined,
      scope: undefined,
    });
  });
});

it('a cursor too long to be kept and sent back ends the walk with an error', async () => {
  const { asked, fetch } = pages({ first: { tools: [tool('a')], nextCursor: 'c'.repeat(16_385) } });
  await expect(walkList('tools', fetch)).rejects.toMatchObject({
    code: 'LIST_UNREADABLE',
    logged: expect.stringContaining('nextCursor is longer'),
  });
  expect(asked).toEqual([undefined]);
});

it('what is all brackets counts by what it takes in memory', async () => {
  const item = { ...tool('a'), _meta: { list: Array(10_000).fill({}) } };
  const walked = walkList('tools', () => Promise.resolve({ tools: [item] }), { ...LIMITS, bytes: 200_000 });
  expect(JSON.stringify(item).length).toBeLessThan(40_000);
  await expect(walked).rejects.toMatchObject({ code: 'LIST_UNREADABLE' });
});

it('mergeHints: least ttl, most private scope, unknown where one is unknown', () => {
  const merged = (...hints: Parameters<typeof mergeHints>[0]) => mergeHints(hints);
  const known = { ttlMs: 10, scope: 'public' } as const;
  const none = { ttlMs: undefined, scope: undefined };
  expect(merged(known, { ttlMs: 20, scope: 'public' })).toEqual(known);
  expect(merged(known, none)).toEqual(none);
  expect(merged(none, { ttlMs: 1, scope: 'private' })).toEqual({ ttlMs: undefined, scope: 'private' });
  expect(merged({ ttlMs: 1, scope: 'private' }, none, known)).toEqual({ ttlMs: undefined, scope: 'private' });
  expect(merged()).toEqual(none);
});
