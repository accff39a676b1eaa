import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { TokenCache, type TokenWanted } from '../../../src/upstream/token-cache.ts';

/** A cache with a clock of the test's own, and a server whose tokens are numbered. */
function setUp() {
  let now = 1_000_000;
  let asked = 0;
  let lifetimeMs: number | undefined = 3_600_000;
  let failing: GatewayError | undefined;
  const cache = new TokenCache(() => now);
  const wanted = (about: Partial<TokenWanted> = {}): TokenWanted => ({
    key: 'a',
    until: undefined,
    subject: undefined,
    ask: async () => {
      asked += 1;
      if (failing !== undefined) {
        throw failing;
      }
      return { text: `token-number-${asked}`, lifetimeMs };
    },
    ...about,
  });
  return {
    cache,
    wanted,
    get: (about?: Partial<TokenWanted>) => cache.get(wanted(about)),
    asked: () => asked,
    pass: (ms: number) => {
      now += ms;
    },
    now: () => now,
    lasting: (ms: number | undefined) => {
      lifetimeMs = ms;
    },
    fail: (error: GatewayError | undefined) => {
      failing = error;
    },
  };
}

const DOWN = new GatewayError('UPSTREAM_TOKEN', { upstream: 'up' });

describe('C-055: a token', () => {
  it('is asked for once however many wait for it', async () => {
    const { get, asked } = setUp();
    const texts = await Promise.all(Array.from({ length: 10 }, () => get()));
    expect(new Set(texts)).toEqual(new Set(['token-number-1']));
    expect(asked()).toBe(1);
  });

  it.each([
    ['30 s early', 3_600_000, 3_570_000],
    ['a tenth of its life early, where that is less', 60_000, 54_000],
    ['5 minutes old at most, where the server does not say', undefined, 270_000],
    ['a day old at most, whatever the server says', 1e12, 86_370_000],
  ])('is renewed %s', async (_when, lifetime, renewedAfter) => {
    const { get, lasting, pass } = setUp();
    lasting(lifetime);
    expect(await get()).toBe('token-number-1');
    pass(renewedAfter - 1);
    expect(await get()).toBe('token-number-1');
    pass(1);
    expect(await get()).toBe('token-number-2');
  });

  it('serves to its end while no newer one can be had, and the server is asked with growing rests', async () => {
    const { get, fail, pass, asked } = setUp();
    await get();
    pass(3_570_000);
    fail(DOWN);
    expect(await get()).toBe('token-number-1');
    expect(await get()).toBe('token-number-1');
    expect(asked()).toBe(2);
    pass(1_001);
    await get();
    expect(asked()).toBe(3);
    pass(28_999);
    await expect(get()).rejects.toBe(DOWN);
  });

  it('ends with the sign-in of its user', async () => {
    const { get, pass, now } = setUp();
    const until = now() + 10_000;
    await get({ until });
    pass(8_999);
    expect(await get({ until })).toBe('token-number-1');
    pass(2);
    expect(await get({ until: until + 60_000 })).toBe('token-number-2');
  });

  it('is never that of another key', async () => {
    const { get } = setUp();
    expect(await Promise.all([get({ key: 'a' }), get({ key: 'b' })])).toEqual([
      'token-number-1',
      'token-number-2',
    ]);
  });
});

describe('a failure', () => {
  it('is remembered for a while, and only for what was given in exchange then', async () => {
    const { get, fail, asked } = setUp();
    fail(DOWN);
    await expect(get({ subject: 'subject-one' })).rejects.toBe(DOWN);
    await expect(get({ subject: 'subject-one' })).rejects.toBe(DOWN);
    expect(asked()).toBe(1);
    fail(undefined);
    expect(await get({ subject: 'subject-two' })).toBe('token-number-2');
    expect(asked()).toBe(2);
  });

  it('ends after its rest', async () => {
    const { get, fail, pass } = setUp();
    fail(DOWN);
    await expect(get()).rejects.toBe(DOWN);
    fail(undefined);
    pass(1_001);
    expect(await get()).toBe('token-number-2');
  });
});

describe('a token that the upstream refuses', () => {
  it('is dropped once, however many calls were refused with it', async () => {
    const { cache, get, asked } = setUp();
    const text = await get();
    expect(Array.from({ length: 10 }, () => cache.refused('a', text, 401))).toEqual(Array(10).fill(true));
    await Promise.all(Array.from({ length: 10 }, () => get()));
    expect(asked()).toBe(2);
  });

  it('is not renewed again when the renewed one is refused as well, until a while later', async () => {
    const { cache, get, pass } = setUp();
    cache.refused('a', await get(), 401);
    const second = await get();
    expect(cache.refused('a', second, 401)).toBe(false);
    expect(await get()).toBe(second);
    pass(30_001);
    expect(cache.refused('a', second, 401)).toBe(true);
  });

  it('is renewed after 403 only when it has some age: rights may have changed since', async () => {
    const { cache, get, pass } = setUp();
    const text = await get();
    expect(cache.refused('a', text, 403)).toBe(false);
    pass(30_001);
    expect(cache.refused('a', text, 403)).toBe(true);
  });
});
