import { expect, it } from 'vitest';
import { soak } from './soak.ts';

const MIB = 2 ** 20;

/** `npm run soak` sets the time, in s: 20 minutes. In the suite it is 8 s. */
const seconds = Number(process.env['PATCHBAY_SOAK'] ?? 8);

it('C-087: holds no more after long comings and goings than after the first ones', {
  timeout: seconds * 1_000 + 60_000,
}, async () => {
  const long = process.env['PATCHBAY_SOAK'] !== undefined;
  const soaked = await soak({
    seconds,
    sessions: 2_000,
    listeners: 200,
    ...(long ? { progress: (text) => process.stderr.write(`${text}\n`) } : {}),
  });
  const { before, after } = soaked;
  expect(soaked.wrong).toEqual([]);
  expect(soaked.calls).toBeGreaterThan(seconds);
  expect(soaked.sessions).toBeGreaterThan(Math.min(seconds, 80));
  expect(soaked.failed).toBeLessThan(soaked.calls / 4);
  expect(after.heap - before.heap).toBeLessThan(8 * MIB);
  expect(after.rss - before.rss).toBeLessThan(96 * MIB);
  expect(after.open - before.open).toBeLessThan(16);
});
