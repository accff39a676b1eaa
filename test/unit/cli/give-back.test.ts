import { afterEach, describe, expect, it, vi } from 'vitest';
import { giveBack, giveBackLater } from '../../../src/cli/give-back.ts';

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

describe('a while after the start', () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** How often memory was given back by a gateway that worked for this part of the time; `stopped`: it ended before. */
  const given = (utilization: number, stopped?: number): number => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue({ utilization, active: 0, idle: 0 });
    const give = vi.fn();
    const stop = giveBackLater(give);
    vi.advanceTimersByTime(stopped ?? 0);
    if (stopped !== undefined) {
      stop();
    }
    vi.advanceTimersByTime(60_000);
    return give.mock.calls.length;
  };

  it('it is given back once where nobody uses the gateway yet', () => {
    expect(given(0.02)).toBe(1);
  });

  it('it is kept where the gateway is in use: what V8 compiled for that would go as well', () => {
    expect(given(0.5)).toBe(0);
  });

  it.each([0, 7_000])('it is kept where the gateway ends after %i ms', (after) => {
    expect(given(0, after)).toBe(0);
  });
});
