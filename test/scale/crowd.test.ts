import { expect, it } from 'vitest';
import { crowd } from './crowd.ts';

const KIB = 1_024;

/**
 * The aims are 4 KiB and 20 KiB (docs/performance.md has what was measured, of 10,000 each): bounds here leave room for what
 * the heap of a young process does by itself.
 */
it('holds sessions and streams cheaply, and tells every listener of a change', {
  timeout: 180_000,
}, async () => {
  const crowded = await crowd({ sessions: 600, listens: 300, streams: 300, tools: 2_000, users: 10 });
  expect(crowded.session.heap).toBeLessThan(6 * KIB);
  expect(crowded.listen.heap).toBeLessThan(26 * KIB);
  expect(crowded.stream.heap).toBeLessThan(26 * KIB);
  expect(crowded.listeners).toBe(601);
  expect(crowded.changes.map(({ told }) => told)).toEqual([crowded.listeners]);
});
