import { RateLimiterRes } from 'rate-limiter-flexible';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import type { Settings } from '../../../src/config/settings.ts';
import { MemoryState, SharedMemory } from '../../../src/state/memory-state.ts';
import { createRedisState } from '../../../src/state/redis-state.ts';
import type { State } from '../../../src/state/state.ts';
import { describeWith } from '../../cluster/describe-with.ts';
import { type Program, startRedis } from '../../cluster/programs.ts';
import { startFaultProxy } from '../../kit/faults.ts';

const log = createLog({ level: 'silent', readable: false });
const LONG = 60_000;

/** Several replicas that share one state: what holds of the one in memory holds of the one in Redis. */
function suite(open: () => State): void {
  const replicas: State[] = [];
  const replica = async () => {
    const state = open();
    replicas.push(state);
    state.start();
    await expect.poll(() => state.health().status).toBe('ok');
    return state;
  };
  afterAll(() => Promise.all(replicas.map((state) => state.close())));

  it('gives each replica a name of its own, of signs that ids may have', async () => {
    const [one, other] = [await replica(), await replica()];
    expect(one.replica).toMatch(/^[\w-]{12}$/);
    expect(one.replica).not.toBe(other.replica);
    expect(one.shared).toBe(true);
  });

  it('keeps a value for all, for as long as it was told', async () => {
    const [one, other] = [await replica(), await replica()];
    await one.put('kept', 'ä "value"', LONG);
    expect(await other.get('kept')).toBe('ä "value"');
    expect(await other.get('never')).toBeUndefined();
    await one.put('short', 'x', 1);
    await expect.poll(() => other.get('short')).toBeUndefined();
  });

  it('lets one replica alone claim a key, and only that one renew and drop it', async () => {
    const [one, other] = [await replica(), await replica()];
    const claims = await Promise.all([one, other].map((each) => each.claim('home', each.replica, LONG)));
    expect(new Set(claims).size).toBe(1);
    const [owner, loser] = claims[0] === one.replica ? [one, other] : [other, one];
    expect(await loser.renew('home', loser.replica, LONG)).toBe(false);
    expect(await owner.renew('home', owner.replica, LONG)).toBe(true);
    await loser.drop('home', loser.replica);
    expect(await loser.get('home')).toBe(owner.replica);
    await owner.drop('home', owner.replica);
    expect(await loser.claim('home', loser.replica, LONG)).toBe(loser.replica);
    expect(await owner.renew('lapsed', owner.replica, LONG)).toBe(false);
  });

  it('has a set of what lasts until a time, bounded by what lasts longest', async () => {
    const [one, other] = [await replica(), await replica()];
    const now = Date.now();
    await one.note(
      'ended',
      new Map([
        ['past', now - 1],
        ['b', now + 2_000_000],
        ['a', now + 1_000_000],
      ]),
      10,
    );
    await other.note('ended', new Map([['c', now + 3_000_000]]), 10);
    expect(await other.noted('ended')).toEqual(
      new Map([
        ['a', now + 1_000_000],
        ['b', now + 2_000_000],
        ['c', now + 3_000_000],
      ]),
    );
    await one.note('ended', new Map([['d', now + 4_000_000]]), 2);
    expect([...(await one.noted('ended')).keys()].toSorted()).toEqual(['c', 'd']);
    expect(await one.noted('empty')).toEqual(new Map());
  });

  it('has as many members as there are', async () => {
    const state = await replica();
    const until = Date.now() + LONG;
    const many = new Map(Array.from({ length: 2_500 }, (_, at) => [`m${at}`, until + at]));
    await state.note('many', many, 5_000);
    expect(await state.noted('many')).toEqual(many);
  });

  it('counts once for all', async () => {
    const limiters = [await replica(), await replica()].map((each) => each.limiter('rate', 5, 60));
    const taken = await Promise.allSettled(
      Array.from({ length: 12 }, (_, at) => limiters[at % 2]?.consume('["keys","ann"]')),
    );
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    const refused = taken.find((each) => each.status === 'rejected')?.reason as unknown;
    expect(refused).toBeInstanceOf(RateLimiterRes);
    expect((refused as RateLimiterRes).msBeforeNext).toBeGreaterThan(0);
    await expect(limiters[0]?.consume('["keys","ben"]')).resolves.toBeDefined();
  });

  it('carries texts to whoever hears them, in order, and says how many those are', async () => {
    const [one, other] = [open(), open()];
    replicas.push(one, other);
    const heard: string[] = [];
    other.hear(`to ${other.replica}`, (text) => heard.push(text));
    for (const each of [one, other]) {
      each.start();
      await expect.poll(() => each.health().status).toBe('ok');
    }
    const texts = Array.from({ length: 100 }, (_, at) => `${at} ü`);
    const counts = await Promise.all(texts.map((text) => one.publish(`to ${other.replica}`, text)));
    expect(new Set(counts)).toEqual(new Set([1]));
    await expect.poll(() => heard).toEqual(texts);
    expect(await one.publish('to nobody', 'x')).toBe(0);
    await other.close();
    await expect.poll(() => one.publish(`to ${other.replica}`, 'late')).toBe(0);
    expect(heard).toHaveLength(100);
  });
}

describe('in memory', () => {
  const memory = new SharedMemory();
  suite(() => new MemoryState(memory));

  it('is alone where nothing is shared', async () => {
    const [one, other] = [new MemoryState(), new MemoryState()];
    expect(one.shared).toBe(false);
    await one.put('key', 'value', LONG);
    expect(await other.get('key')).toBeUndefined();
  });
});

describeWith(['redis-server'], 'in Redis', () => {
  let redis: Program;
  const PASSWORD = 'quite: a/secret@';
  const settings = (more: Partial<Settings['state']> = {}): Settings['state'] => ({
    type: 'redis',
    url: `redis://127.0.0.1:${redis.port}`,
    password: PASSWORD,
    prefix: 'suite',
    ...more,
  });
  beforeAll(async () => {
    redis = await startRedis({ password: PASSWORD });
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  suite(() => createRedisState(settings(), log));

  it('keeps gateways of other prefixes apart', async () => {
    const [one, other] = ['a', 'b'].map((prefix) => createRedisState(settings({ prefix }), log));
    for (const each of [one, other]) {
      each?.start();
      await expect.poll(() => each?.health().status).toBe('ok');
    }
    await one?.put('key', 'value', LONG);
    expect(await other?.get('key')).toBeUndefined();
    await Promise.all([one?.close(), other?.close()]);
  });

  it('says what is wrong without saying a secret, and is found again', async () => {
    const state = createRedisState(settings({ password: 'wrong' }), log);
    state.start();
    await expect.poll(() => state.health()).toMatchObject({ status: 'down', lastError: 'WRONGPASS' });
    await expect(state.get('x')).rejects.toMatchObject({ code: 'STATE_DOWN' });
    await state.close();
  });

  it('refuses at once what it cannot do, counts alone meanwhile, and comes back by itself', async () => {
    await using proxy = await startFaultProxy(redis.port);
    const state = createRedisState(settings({ url: `redis://127.0.0.1:${proxy.port}` }), log);
    const reached: boolean[] = [];
    const heard: string[] = [];
    state.onReach((is) => reached.push(is));
    state.hear('hints', (text) => heard.push(text));
    state.start();
    await expect.poll(() => state.health().status).toBe('ok');
    const limiter = state.limiter('gone', 2, 60);
    await limiter.consume('ann');

    // A firewall that forgot the connection: nothing is closed, nothing is answered.
    proxy.blackhole();
    await expect(state.get('x')).rejects.toMatchObject({ code: 'STATE_DOWN' });
    expect(state.health().status).toBe('down');
    const waiting = Array.from({ length: 20_000 }, () => state.get('x'));
    expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(true);
    // By its own count: the one before was counted elsewhere.
    const taken = await Promise.allSettled(Array.from({ length: 3 }, () => limiter.consume('ann')));
    expect(taken.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);

    proxy.heal();
    await expect.poll(() => state.health().status).toBe('ok');
    expect(reached).toEqual([true, false, true]);
    await state.publish('hints', 'again');
    await expect.poll(() => heard).toEqual(['again']);
    await state.close();
  });
});
