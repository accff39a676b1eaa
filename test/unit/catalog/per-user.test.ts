import { describe, expect, it } from 'vitest';
import { ANONYMOUS } from '../../../src/access/principal.ts';
import { viewOf } from '../../../src/catalog/view.ts';
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
  same,
  started,
  TTL,
  user,
} from './users.ts';

const USERS = Array.from({ length: 100 }, (_, n) => `user-${n}`);

describe('whose a list is', () => {
  it('100 users of a public list, or one without hints, are served one catalog of one walk', async () => {
    const world = createWorld({ a: { hints: PUBLIC, offers: same('t') }, b: { offers: same('t') } });
    await started(world);
    const listed = await Promise.all(USERS.map((id) => world.list(id)));
    expect(new Set(listed.map(String))).toEqual(new Set(['a.t,b.t']));
    expect(count(world, 'a tools')).toBe(1);
    expect(count(world, 'b tools')).toBe(1);
    for (const id of [...USERS, 'somebody']) {
      expect(world.store.of(user(id))).toBe(world.store.current);
    }
  });

  it.each([
    ['the server says private', { hints: PRIVATE }, 1],
    ['the configuration says private', { hints: PUBLIC, scope: 'private' }, 1],
    ['the server is reached as the user', { own: true }, 0],
    ['the server is reached as the user, and its public is not trusted', { own: true, hints: PUBLIC }, 0],
  ] as const)('100 users at once, each twice: one walk for each where %s', async (_why, script, before) => {
    const world = createWorld({ a: { ...script, offers: personal } });
    await started(world);
    expect(count(world, 'a tools')).toBe(before);
    world.hold();
    const lists = Promise.all([...USERS, ...USERS].map((id) => world.list(id)));
    await settle();
    world.release();
    const listed = await lists;
    for (const [n, id] of [...USERS, ...USERS].entries()) {
      expect(listed[n]).toEqual(['a.all', `a.${id}`]);
    }
    expect(count(world, 'a tools user-')).toBe(100);
    await Promise.all(USERS.map((id) => world.list(id)));
    expect(count(world, 'a tools user-')).toBe(100);
  });

  it('a user with two sets of rights is two, and a notice reaches whom it is for: one of them, or the user', async () => {
    const world = createWorld({ a: { own: true, offers: personal } });
    const [more, less] = [by('ann', ['more']), by('ann', ['less'])];
    const list = () =>
      Promise.all([more, less, more].map((caller) => world.store.ready(caller, ['a'], 1_000)));
    await list();
    expect(count(world, 'a tools ann')).toBe(2);
    world.store.invalidate('a', 'tools', more.principal.grant);
    await list();
    expect(count(world, 'a tools ann')).toBe(3);
    void world.store.missed('a', less.principal.grant);
    await list();
    expect(count(world, 'a tools ann')).toBe(4);
    world.store.invalidate('a', 'tools', user('ann').key);
    await list();
    expect(count(world, 'a tools ann')).toBe(6);
  });

  it('what one user reads for all is read once where public is trusted, also by 100 at once', async () => {
    const script = { own: true, trustPublic: true, hints: PUBLIC, offers: same('t') };
    const world = createWorld({ a: script });
    world.hold();
    const lists = Promise.all(USERS.map((id) => world.list(id)));
    await settle();
    world.release();
    expect(new Set((await lists).map(String))).toEqual(new Set(['a.t']));
    expect(count(world, 'a tools')).toBe(1);
    await world.time.advance(999);
    await world.list('late');
    expect(world.store.of(user('late'))).toBe(world.store.current);
    expect(count(world, 'a tools')).toBe(1);
    await world.time.advance(1);
    await Promise.all(USERS.map((id) => world.list(id)));
    expect(count(world, 'a tools')).toBe(2);
    // It says private from now on: nobody sees any more what was read for another.
    world.upstreams.set('a', { ...script, hints: PRIVATE, offers: personal });
    await world.time.advance(1_000);
    expect(await world.list('ann')).toEqual(['a.all', 'a.ann']);
    await world.time.advance(DEBOUNCE);
    expect(world.tools('bob')).toEqual([]);
    expect(await world.list('bob')).toEqual(['a.all', 'a.bob']);
  });

  it('the gateway itself, and so everybody in mode none, is served what it read by itself', async () => {
    const world = createWorld({ a: { hints: PRIVATE, offers: personal } });
    await started(world);
    expect(await world.store.ready({ principal: ANONYMOUS }, ['a'], 1_000)).toBe(world.store.current);
    expect(world.store.of(ANONYMOUS)).toBe(world.store.current);
    expect(world.reads.filter((read) => read.startsWith('a tools'))).toEqual(['a tools -']);
  });

  it('a list that turns private is taken from everybody, and is shared again when it turns public', async () => {
    const world = createWorld({ a: { hints: PUBLIC, offers: personal } });
    await started(world);
    expect(world.tools('ann')).toEqual(['a.all', 'a.gateway']);
    world.upstreams.set('a', { hints: PRIVATE, offers: personal });
    await during(world.time, DEBOUNCE, world.store.refresh('a'));
    expect(world.tools('ann')).toEqual([]);
    expect(await world.list('ann')).toEqual(['a.all', 'a.ann']);
    world.upstreams.set('a', { hints: PUBLIC, offers: personal });
    await during(world.time, DEBOUNCE, world.store.refresh('a'));
    expect(world.store.of(user('ann'))).toBe(world.store.current);
  });

  it('a list that was read for one user is private to whoever it is told, whatever the server said', async () => {
    const world = createWorld({ a: { own: true, hints: PUBLIC, offers: same('t') } });
    await world.list('ann');
    const part = world.store.of(user('ann')).parts.get('a');
    expect(part?.lists.tools?.hints).toEqual({ ttlMs: 1_000, scope: 'private' });
  });

  it('users with equal lists share names, routes and views', async () => {
    const world = createWorld({
      shared: { hints: PUBLIC, offers: same('x') },
      mine: { own: true, offers: same('t', 'u') },
    });
    await started(world);
    await Promise.all(USERS.map((id) => world.list(id)));
    const views = USERS.map((id) => viewOf(world.store.of(user(id)), { style: 'dotted' }));
    expect(new Set(views).size).toBe(1);
    expect(new Set(USERS.map((id) => world.store.of(user(id)).revision)).size).toBe(1);
    world.upstreams.set('mine', { own: true, offers: personal });
    await world.time.advance(TTL);
    await world.list('user-0');
    expect(viewOf(world.store.of(user('user-0')), { style: 'dotted' })).not.toBe(views[0]);
    expect(viewOf(world.store.of(user('user-1')), { style: 'dotted' })).toBe(views[0]);
  });
});

describe('freshness', () => {
  it.each([
    ['0: as long as the configuration says', 0, TTL],
    ['not given: the same', undefined, TTL],
    ['positive: as long as it says', 5_000, 5_000],
  ] as const)('a ttl %s', async (_what, ttlMs, fresh) => {
    const world = createWorld({ a: { hints: { ttlMs, scope: 'private' }, own: true, offers: personal } });
    await world.list('ann');
    await world.time.advance(fresh - 1);
    await world.list('ann');
    expect(count(world, 'a tools')).toBe(1);
    await world.time.advance(1);
    await world.list('ann');
    expect(count(world, 'a tools')).toBe(2);
  });

  it('nothing is read for a user that asks for nothing and does not listen', async () => {
    const world = createWorld({ a: { hints: PRIVATE, offers: personal } });
    await started(world);
    await world.list('ann');
    const { length } = world.reads;
    const { waiting } = world.time;
    await world.time.advance(10 * TTL);
    expect(world.reads).toHaveLength(length);
    expect(waiting).toBe(0);
  });

  it('a notice to one user makes its list due, and leaves others alone', async () => {
    const world = createWorld({ a: { own: true, offers: personal } });
    await Promise.all([world.list('ann'), world.list('bob')]);
    world.store.invalidate('a', 'tools', user('ann').key);
    await Promise.all([world.list('ann'), world.list('bob')]);
    expect(count(world, 'a tools ann')).toBe(2);
    expect(count(world, 'a tools bob')).toBe(1);
    world.store.invalidate('a', 'prompts', user('bob').key);
    await Promise.all([world.list('ann'), world.list('bob')]);
    expect(count(world, 'a prompts bob')).toBe(2);
    expect(count(world, 'a tools bob')).toBe(1);
  });

  it('a notice to all makes the list of each due at once', async () => {
    const world = createWorld({ a: { hints: PRIVATE, offers: personal } });
    await started(world);
    await Promise.all([world.list('ann'), world.list('bob')]);
    world.store.invalidate('a', 'tools');
    await Promise.all([world.list('ann'), world.list('bob')]);
    expect([count(world, 'a tools ann'), count(world, 'a tools bob')]).toEqual([2, 2]);
  });

  it('a notice while the list is being read: it is read once more', async () => {
    const world = createWorld({ a: { own: true, offers: personal } });
    world.hold();
    const early = world.list('ann');
    await settle();
    world.store.invalidate('a', 'tools', user('ann').key);
    const late = world.list('ann');
    world.release();
    await Promise.all([early, late]);
    expect(count(world, 'a tools')).toBe(2);
    expect(count(world, 'a prompts')).toBe(1);
  });

  it('a connection that is opened for the read itself does not make it due again', async () => {
    const world = createWorld({ a: { own: true, offers: personal } });
    world.hold();
    const list = world.list('ann');
    await settle();
    void world.store.missed('a', user('ann').key);
    world.release();
    await list;
    await world.list('ann');
    expect(count(world, 'a tools')).toBe(1);
    void world.store.missed('a', user('ann').key);
    await world.list('ann');
    expect(count(world, 'a tools')).toBe(2);
  });

  it('a list waits no longer than it is told to, and what comes later is there for the next', async () => {
    const world = createWorld({ a: { own: true, offers: personal }, b: { offers: same('t') } });
    await started(world);
    world.hold();
    expect(await during(world.time, 1_000, world.list('ann'))).toEqual(['b.t']);
    expect(world.store.gap(user('ann'), 'a', 'tools')).toEqual({ fault: undefined });
    world.release();
    await settle();
    expect(world.tools('ann')).toEqual(['a.all', 'a.ann', 'b.t']);
    expect(count(world, 'a tools')).toBe(1);
  });
});
