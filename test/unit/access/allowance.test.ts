import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Allowance } from '../../../src/access/allowance.ts';
import { ANONYMOUS, type Principal } from '../../../src/access/principal.ts';

const NONE = { requestsPerSecond: 0, burst: 0, concurrency: 0, streams: 0 };
const who = (key: string): Principal => ({ ...ANONYMOUS, key });
const REFUSED = { code: 'RATE_LIMITED' };

/** A request, promised in any case. */
const request = async (allowance: Allowance, principal: Principal) => allowance.request(principal);

/** How many of `count` requests that come one after the other and end at once are taken. */
async function taken(allowance: Allowance, principal: Principal, count: number): Promise<number> {
  let ok = 0;
  for (let tries = 0; tries < count; tries += 1) {
    const leave = await request(allowance, principal).catch(() => undefined);
    ok += leave === undefined ? 0 : 1;
    leave?.();
  }
  return ok;
}

describe('an allowance', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('bounds nothing where nothing is set', async () => {
    expect(await taken(new Allowance(() => NONE), ANONYMOUS, 500)).toBe(500);
  });

  it('takes so many requests a second of each principal, and says when to come again', async () => {
    const allowance = new Allowance(() => ({ ...NONE, requestsPerSecond: 5 }));
    expect(await taken(allowance, who('a'), 8)).toBe(5);
    expect(await taken(allowance, who('b'), 8)).toBe(5);
    await vi.advanceTimersByTimeAsync(400);
    await expect(request(allowance, who('a'))).rejects.toMatchObject({
      ...REFUSED,
      data: { retryAfterMs: 600 },
    });
    await vi.advanceTimersByTimeAsync(601);
    expect(await taken(allowance, who('a'), 8)).toBe(5);
  });

  it('takes a burst besides, once in ten seconds', async () => {
    const allowance = new Allowance(() => ({ ...NONE, requestsPerSecond: 2, burst: 6 }));
    expect(await taken(allowance, ANONYMOUS, 20)).toBe(8);
    await vi.advanceTimersByTimeAsync(1_001);
    expect(await taken(allowance, ANONYMOUS, 20)).toBe(2);
    await vi.advanceTimersByTimeAsync(9_100);
    expect(await taken(allowance, ANONYMOUS, 20)).toBe(8);
  });

  it('holds a place for each request under way, and gives it back once', async () => {
    const allowance = new Allowance(() => ({ ...NONE, concurrency: 2 }));
    const first = await request(allowance, who('a'));
    await request(allowance, who('a'));
    await expect(request(allowance, who('a'))).rejects.toMatchObject(REFUSED);
    await expect(request(allowance, who('b'))).resolves.toBeTypeOf('function');
    first();
    first();
    await expect(request(allowance, who('a'))).resolves.toBeTypeOf('function');
    await expect(request(allowance, who('a'))).rejects.toMatchObject(REFUSED);
  });

  it('takes no place for a request that the rate refuses', async () => {
    const allowance = new Allowance(() => ({ ...NONE, requestsPerSecond: 1, concurrency: 1 }));
    (await request(allowance, ANONYMOUS))();
    await expect(request(allowance, ANONYMOUS)).rejects.toMatchObject(REFUSED);
    await vi.advanceTimersByTimeAsync(1_001);
    await expect(request(allowance, ANONYMOUS)).resolves.toBeTypeOf('function');
  });

  it('counts streams apart from requests', () => {
    const allowance = new Allowance(() => ({ ...NONE, streams: 1 }));
    const leave = allowance.stream(who('a'));
    expect(() => allowance.stream(who('a'))).toThrow(expect.objectContaining(REFUSED));
    expect(allowance.stream(who('b'))).toBeTypeOf('function');
    leave();
    expect(allowance.stream(who('a'))).toBeTypeOf('function');
  });
});
