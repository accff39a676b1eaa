import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Feed } from '../../src/observe/feed.ts';

const BY = {
  key: 'k',
  id: 'ann',
  issuer: undefined,
  entrance: 'default',
  session: undefined,
  client: { name: 'c' },
};
const CALL = { method: 'tools/call', params: { name: 'x' }, tookMs: 1 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** What the feed looks at, and how often it did. */
function sources() {
  let looks = 0;
  return {
    looks: () => looks,
    readiness: () => {
      looks += 1;
      return { upstreams: {} };
    },
    statuses: () => new Map(),
  };
}

it('looks at nothing and keeps no timer while nobody looks on', () => {
  const given = sources();
  const feed = new Feed(given);
  feed.called(CALL, BY);
  expect([vi.getTimerCount(), given.looks()]).toEqual([0, 0]);
  const stop = feed.listen(() => {});
  expect([vi.getTimerCount(), feed.size]).toEqual([1, 1]);
  stop();
  expect([vi.getTimerCount(), feed.size, feed.heard]).toEqual([0, 0, false]);
});

it('tells of so many calls, and how many there were beyond', () => {
  const feed = new Feed(sources());
  const told: { event: string; calls?: number }[] = [];
  const stop = feed.listen((json) => told.push(JSON.parse(json)));
  for (let n = 0; n < 1_000; n += 1) {
    feed.called(CALL, BY);
  }
  expect(told.length).toBe(100);
  vi.advanceTimersByTime(600);
  expect(told.at(-1)).toMatchObject({ event: 'skipped', calls: 900 });
  feed.called(CALL, BY);
  expect(told.at(-1)).toMatchObject({ event: 'call', name: 'x', principal: 'ann' });
  stop();
});
