import { expect, it } from 'vitest';
import { giveBack } from '../../../src/cli/give-back.ts';

it('gives the system back what nothing in the process needs any more', () => {
  // Many survive a few small collections, as programs and lists do, so that the heap has to grow; then nobody has them.
  let needed: object[] | undefined = Array.from({ length: 300_000 }, (_, at) => ({ at }));
  const grown = process.memoryUsage().heapTotal;
  expect(needed.length).toBe(300_000);
  needed = undefined;
  giveBack();
  expect(process.memoryUsage().heapTotal).toBeLessThan(grown - 4 * 2 ** 20);
  expect('gc' in globalThis).toBe(false);
});
