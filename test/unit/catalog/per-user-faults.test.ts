import { describe, expect, it } from 'vitest';
import { ANONYMOUS } from '../../../src/access/principal.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import type { Kind } from '../../../src/protocol/model.ts';
import { tool } from './parts.ts';
import { settle } from './timeline.ts';
import {
  by,
  count,
  createWorld,
  DEBOUNCE,
  during,
  PRIVATE,
  PUBLIC,
  personal,
  STALE_FOR,
  same,
  started,
  TTL,
  type UpstreamScript,
  user,
} from './users.ts';

describe('failure', () => {
  const broken =
    (what: Error): UpstreamScript['offers'] =>
    () => {
      throw what;
    };

  it('C-052: a load that fails altogether is no empty list: nothing is there, and it is tried again', async () => {
    const world = createWorld({ a: { own: true, offers: broken(new Error('out of order')) } });
    expect(await world.list('ann')).toEqual([]);
    expect(world.store.of(user('ann')).parts.has('a')).toBe(false);
    expect(world.store.gap(user('ann'), 'a', 'tools')?.fault).toMatchObject({
      code: 'LIST_UNREADABLE',
      upstream: 'a',
    });
    world.upstreams.set('a', { own: true, offers: personal });
    await world.time.advance(1_000);
    expect(await world.list('ann')).toEqual(['a.all', 'a.ann']);
    expect(world.store.gap(user('ann'), 'a', 'tools')).toBeUndefined();
  });

  it('is not tried at every request: retries are spread, and a notice is tried at once', async () => {
    const world = createWorld({ a: { own: true, offers: broken(new Error('out of order')) } });
    for (let times = 0; times < 60; times += 1) {
      await world.list('ann');
      await world.time.advance(1_000);
    }
    expect(count(world, 'a tools')).toBeGreaterThan(3);
    expect(count(world, 'a tools')).toBeLessThan(12);
    const before = count(world, 'a tools');
    world.store.invalidate('a', 'tools', user('ann').key);
    await world.list('ann');
    expect(count(world, 'a tools')).toBe(before + 1);
  });

  it('serves the last list, marked, until staleFor after its ttl, then it goes', async () => {
    const world = createWorld({ a: { own: true, hints: PRIVATE, offers: personal } });
    await world.list('ann');
    world.upstreams.set('a', { own: true, offers: broken(new Error('out of order')) });
    await world.time.advance(1_000);
    expect(await world.list('ann')).toEqual(['a.all', 'a.ann']);
    expect(world.store.of(user('ann')).parts.get('a')?.stale).toBe(true);
    expect(world.store.gap(user('ann'), 'a', 'tools')).toBeUndefined();
    await world.time.advance(STALE_FOR - 1);
    expect(await world.list('ann')).toEqual(['a.all', 'a.ann']);
    await world.time.advance(1);
    expect(await world.list('ann')).toEqual([]);
    expect(world.store.gap(user('ann'), 'a', 'tools')?.fault).toBeDefined();
  });

  it('is counted from the end of the ttl, however late somebody asks', async () => {
    const world = createWorld({ a: { own: true, hints: PRIVATE, offers: personal } });
    await world.list('ann');
    world.upstreams.set('a', { own: true, offers: broken(new Error('out of order')) });
    await world.time.advance(1_000 + STALE_FOR);
    expect(await world.list('ann')).toEqual([]);
  });

  it('a user that the server refuses sees nothing of it any more; others do', async () => {
    const refusing: UpstreamScript['offers'] = (kind, who) => {
      if (who === 'ann') {
        throw new GatewayError('UPSTREAM_AUTH', {
          upstream: 'a',
          detail: 'Sign in.',
          cause: 'Bearer canary',
        });
      }
      return personal(kind, who);
    };
    const world = createWorld({
      a: { own: true, hints: PRIVATE, offers: personal },
      b: { offers: same('t') },
    });
    await started(world);
    await Promise.all([world.list('ann'), world.list('bob')]);
    world.upstreams.set('a', { own: true, hints: PRIVATE, offers: refusing });
    await world.time.advance(1_000);
    expect(await world.list('ann')).toEqual(['b.t']);
    expect(await world.list('bob')).toEqual(['a.all', 'a.bob', 'b.t']);
    const fault = world.store.gap(user('ann'), 'a', 'tools')?.fault;
    expect(fault).toMatchObject({ code: 'UPSTREAM_AUTH', upstream: 'a', cause: undefined });
    expect(fault?.message).toMatch(/Sign in\.$/);
    expect(world.store.gap(user('bob'), 'a', 'tools')).toBeUndefined();
  });

  it('one user is refused what is public: the others are served it', async () => {
    const offers: UpstreamScript['offers'] = (kind, who) => {
      if (who === 'ann') {
        throw new GatewayError('UPSTREAM_AUTH', { upstream: 'a' });
      }
      return same('t')(kind, who);
    };
    const world = createWorld({ a: { own: true, trustPublic: true, hints: PUBLIC, offers } });
    const [, ...others] = await Promise.all(['ann', 'bob', 'cec'].map((id) => world.list(id)));
    expect(others).toEqual([['a.t'], ['a.t']]);
    await world.time.advance(1_000);
    expect(await Promise.all(['ann', 'bob'].map((id) => world.list(id)))).toEqual([[], ['a.t']]);
    world.upstreams.set('a', { own: true, trustPublic: true, hints: PUBLIC, offers: same('t') });
    await world.time.advance(2_000);
    expect(await world.list('ann')).toEqual(['a.t']);
  });

  it('one user whose read hangs holds up nobody else, even where it might be reading for all', async () => {
    const world = createWorld({ a: { own: true, trustPublic: true, hints: PUBLIC, offers: same('t') } });
    world.hold();
    const ann = world.list('ann');
    await settle();
    const bob = world.list('bob');
    await world.time.advance(1_000);
    expect(world.reads).toContain('a tools bob');
    world.release();
    expect(await Promise.all([ann, bob, world.list('bob')])).toEqual([[], [], ['a.t']]);
  });

  it('one list that fails takes no other with it', async () => {
    const world = createWorld({
      a: {
        own: true,
        offers: (kind: Kind, who) => {
          if (kind === 'prompts') {
            throw new Error('out of order');
          }
          return personal(kind, who);
        },
      },
    });
    expect(await world.list('ann')).toEqual(['a.all', 'a.ann']);
    expect(world.store.gap(user('ann'), 'a', 'tools')).toBeUndefined();
    expect(world.store.gap(user('ann'), 'a', 'prompts')?.fault).toBeDefined();
    expect(world.store.gap(user('ann'), 'a', 'resources')).toBeUndefined();
  });
});

describe('memory', () => {
  it('what was used longest ago goes first, within the bytes, and is read again', async () => {
    const big: UpstreamScript['offers'] = (kind, who) =>
      kind === 'tools' ? [tool(who ?? '-', { description: 'x'.repeat(10_000) })] : undefined;
    const world = createWorld({ a: { own: true, offers: big } }, { bytes: 60_000 });
    for (const id of ['a1', 'a2', 'a3', 'a4']) {
      await world.list(id);
    }
    await world.list('a1');
    for (const id of ['a5', 'a6']) {
      await world.list(id);
    }
    expect(world.budget.used).toBeLessThanOrEqual(60_000);
    expect(world.tools('a1')).toEqual(['a.a1']);
    expect(world.tools('a2')).toEqual([]);
    expect(await world.list('a2')).toEqual(['a.a2']);
    expect(count(world, 'a tools a1')).toBe(1);
    expect(count(world, 'a tools a2')).toBe(2);
  });

  it.each([0, 100])('with %i bytes nothing is kept, and everybody is served all the same', async (bytes) => {
    const world = createWorld({ a: { own: true, offers: personal } }, { bytes });
    const lists = await Promise.all(['ann', 'bob', 'ann'].map((id) => world.list(id)));
    expect(lists).toEqual([
      ['a.all', 'a.ann'],
      ['a.all', 'a.bob'],
      ['a.all', 'a.ann'],
    ]);
    expect(count(world, 'a tools ann')).toBe(1);
    expect(world.budget.used).toBe(0);
    expect(world.tools('ann')).toEqual([]);
  });
});

describe('walks through pages', () => {
  it('go on in the own superseded catalogs, and in nobody else’s', async () => {
    const world = createWorld({ a: { own: true, offers: personal }, b: { offers: same('t') } });
    await started(world);
    await Promise.all([world.list('ann'), world.list('bob')]);
    const { revision } = world.store.of(user('ann'));
    world.upstreams.set('a', { own: true, offers: same('new') });
    world.store.invalidate('a', 'tools', user('ann').key);
    await world.list('ann');
    expect(world.store.of(user('ann')).revision).not.toBe(revision);
    const superseded = world.store.byRevision(revision, user('ann'));
    expect(superseded?.entries.tools.map(({ original }) => original)).toEqual(['all', 'ann', 't']);
    expect(world.store.byRevision(revision, user('bob'))).toBeUndefined();
    expect(world.store.byRevision(revision, user('cec'))).toBeUndefined();
    expect(world.store.byRevision(revision, ANONYMOUS)).toBeUndefined();
    expect(world.store.byRevision(world.store.current.revision, user('ann'))).toBeUndefined();
    await world.time.advance(5 * 60_000 + 1);
    expect(world.store.byRevision(revision, user('ann'))).toBeUndefined();
  });

  it('are not held up by a listener that comes meanwhile', async () => {
    const world = createWorld({ b: { offers: same('t') } });
    await started(world);
    const { revision } = await world.store.ready(by('ann'), ['b'], 0);
    const stop = world.store.listen(by('ann'));
    expect(world.store.byRevision(revision, user('ann'))?.revision).toBe(revision);
    stop();
  });

  it('nothing superseded is kept where nobody gets pages', async () => {
    const world = createWorld({ b: { offers: same('t') } }, { options: { paged: () => false } });
    await started(world);
    const { revision } = world.store.current;
    world.upstreams.set('b', { offers: same('u') });
    await during(world.time, DEBOUNCE, world.store.refresh('b'));
    expect(world.store.byRevision(revision, ANONYMOUS)).toBeUndefined();
  });
});

describe('reading again', () => {
  it('for a caller reads what is its own, and everybody’s where it is not', async () => {
    const world = createWorld({ a: { own: true, offers: personal }, b: { offers: same('t') } });
    await started(world);
    await world.list('ann');
    await world.store.refresh('a', ['tools'], by('ann'));
    await during(world.time, DEBOUNCE, world.store.refresh('b', ['tools'], by('ann')));
    expect(count(world, 'a tools ann')).toBe(2);
    expect(count(world, 'a tools -')).toBe(0);
    expect(count(world, 'b tools -')).toBe(2);
    expect(count(world, 'b tools ann')).toBe(0);
    expect(world.store.isOwn(user('ann'), 'a', 'tools')).toBe(true);
    expect(world.store.isOwn(user('ann'), 'b', 'tools')).toBe(false);
    expect(world.store.isOwn(ANONYMOUS, 'a', 'tools')).toBe(false);
  });

  it('close ends what is being read, and every timer', async () => {
    const world = createWorld({ a: { own: true, hints: PRIVATE, offers: personal } });
    world.store.listen(by('ann'));
    await world.time.advance(DEBOUNCE);
    world.hold();
    const list = world.list('bob');
    await settle();
    world.store.close();
    await list;
    world.reads.length = 0;
    await world.list('cec');
    await world.time.advance(10 * TTL);
    expect(world.reads).toEqual([]);
    expect(world.time.waiting).toBe(0);
  });
});
