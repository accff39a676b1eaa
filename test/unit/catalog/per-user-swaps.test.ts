import { describe, expect, it } from 'vitest';
import { ANONYMOUS } from '../../../src/access/principal.ts';
import { changesSeen } from '../../../src/catalog/changes-seen.ts';
import type { Sight } from '../../../src/catalog/view.ts';
import { tool } from './parts.ts';
import { settle } from './timeline.ts';
import {
  by,
  count,
  createWorld,
  DEBOUNCE,
  during,
  refresh,
  STALE_FOR,
  same,
  TTL,
  type UpstreamScript,
  user,
  type World,
} from './users.ts';

const HINTED = { ttlMs: 5_000, scope: 'private' } as const;

/** The first of these is for that user alone. */
const oneFor =
  (id: string, special: string, ...names: string[]): UpstreamScript['offers'] =>
  (kind, who) =>
    same(...(who === id ? [special] : []), ...names)(kind, who);
const owners = (world: World) => world.swaps.map(({ owner, changes }) => [owner, changes]);

describe('who is told', () => {
  it('the shared swap is nobody’s own; one that listens with own lists gets one of its own', async () => {
    const world = createWorld({ all: { offers: same('t') }, mine: { own: true, offers: same('m') } });
    await refresh(world, 'all');
    const shared = createWorld({ all: { offers: same('t') } });
    await refresh(shared, 'all');
    await world.list('ann');
    world.store.listen(by('ann'));
    shared.store.listen(by('ann'));
    world.swaps.length = 0;
    shared.swaps.length = 0;
    for (const each of [world, shared]) {
      each.upstreams.set('all', { offers: same('t', 'new') });
      await refresh(each, 'all');
    }
    expect(owners(shared)).toEqual([[undefined, ['tools']]]);
    expect(shared.store.follows(user('ann'))).toBe(true);
    expect(owners(world)).toEqual([
      [user('ann').grant, ['tools']],
      [undefined, ['tools']],
    ]);
    expect(world.store.follows(user('ann'))).toBe(false);
    expect(world.store.follows(ANONYMOUS)).toBe(true);
    expect(world.swaps[0]?.after).toBe(world.store.of(user('ann')));
    expect(world.swaps[1]?.after).not.toBe(world.store.of(user('ann')));
  });

  it('whoever does not listen costs a swap of all nothing', async () => {
    const world = createWorld({ all: { offers: same('t') }, mine: { own: true, offers: same('m') } });
    await refresh(world, 'all');
    const users = Array.from({ length: 1_000 }, (_, n) => `user-${n}`);
    await Promise.all(users.map((id) => world.list(id)));
    const { used } = world.budget;
    const { length } = world.reads;
    world.upstreams.set('all', { offers: same('t', 'new') });
    world.swaps.length = 0;
    await refresh(world, 'all');
    expect(owners(world)).toEqual([[undefined, ['tools']]]);
    expect(world.reads).toHaveLength(length + 4);
    expect(world.budget.used).toBe(used);
    expect(world.tools('user-7')).toEqual(['all.t', 'all.new', 'mine.m']);
  });

  it('a notice to one user is read for it and told to it, and to nobody else', async () => {
    const world = createWorld({ mine: { own: true, offers: same('m') } });
    await Promise.all(['ann', 'bob'].map((id) => world.list(id)));
    world.store.listen(by('ann'));
    world.store.listen(by('bob'));
    world.upstreams.set('mine', { own: true, offers: same('m', 'new') });
    world.store.invalidate('mine', 'tools', user('ann').key);
    await world.time.advance(3 * DEBOUNCE);
    expect(owners(world)).toEqual([[user('ann').grant, ['tools']]]);
    expect(world.tools('ann')).toEqual(['mine.m', 'mine.new']);
    expect(world.tools('bob')).toEqual(['mine.m']);
    expect(count(world, 'mine tools bob')).toBe(1);
  });

  it('a notice to all is told only to those whose own list changed by it', async () => {
    const world = createWorld({ up: { hints: HINTED, offers: same('t') } });
    await refresh(world, 'up');
    await Promise.all(['ann', 'bob'].map((id) => world.list(id)));
    world.store.listen(by('ann'));
    world.store.listen(by('bob'));
    world.swaps.length = 0;
    world.upstreams.set('up', { hints: HINTED, offers: oneFor('ann', 'special', 't') });
    world.store.invalidate('up', 'tools');
    await world.time.advance(5 * DEBOUNCE);
    expect(owners(world)).toEqual([[user('ann').grant, ['tools']]]);
    expect(count(world, 'up tools bob')).toBe(2);
  });

  it('C-022: a storm is read at once and then about once a second, and the last state is told', async () => {
    const world = createWorld({ mine: { own: true, offers: same('m') } });
    await world.list('ann');
    await world.time.advance(2_000);
    world.store.listen(by('ann'));
    for (let notice = 0; notice < 500; notice += 1) {
      world.store.invalidate('mine', 'tools', user('ann').key);
      await world.time.advance(10);
    }
    world.upstreams.set('mine', { own: true, offers: same('last') });
    world.store.invalidate('mine', 'tools', user('ann').key);
    await world.time.advance(2_000);
    expect(count(world, 'mine tools')).toBeGreaterThan(4);
    expect(count(world, 'mine tools')).toBeLessThan(10);
    expect(world.tools('ann')).toEqual(['mine.last']);
    expect(owners(world)).toEqual([[user('ann').grant, ['tools']]]);
  });

  it('the ttl is kept for whoever listens, with jitter, and for nobody after that', async () => {
    const world = createWorld({ mine: { own: true, hints: HINTED, offers: same('m') } });
    await world.list('ann');
    const stops = [world.store.listen(by('ann')), world.store.listen(by('ann'))];
    await world.time.advance(4_999);
    expect(count(world, 'mine tools')).toBe(1);
    world.upstreams.set('mine', { own: true, hints: HINTED, offers: same('new') });
    await world.time.advance(1_500);
    expect(count(world, 'mine tools')).toBe(2);
    expect(owners(world)).toEqual([[user('ann').grant, ['tools']]]);
    stops[0]?.();
    stops[0]?.();
    await world.time.advance(6_500);
    expect(count(world, 'mine tools')).toBe(3);
    stops[1]?.();
    await world.time.advance(10 * TTL);
    expect(count(world, 'mine tools')).toBe(3);
    expect(world.time.waiting).toBe(0);
  });

  it('a first read is no change; what changes after it is', async () => {
    const world = createWorld({ mine: { own: true, offers: same('m') } });
    world.store.listen(by('ann'));
    await world.time.advance(3 * DEBOUNCE);
    expect(world.tools('ann')).toEqual(['mine.m']);
    expect(world.swaps).toEqual([]);
    expect(await world.list('ann')).toEqual(['mine.m']);
    expect(count(world, 'mine tools')).toBe(1);
    world.upstreams.set('mine', { own: true, offers: same('m', 'new') });
    world.store.invalidate('mine', 'tools', user('ann').key);
    await world.time.advance(2_000);
    expect(owners(world)).toEqual([[user('ann').grant, ['tools']]]);
  });

  it('what was missing from a list that did not wait is told when it comes', async () => {
    const world = createWorld({ mine: { own: true, offers: same('m') } });
    world.hold();
    world.store.listen(by('ann'));
    expect(await during(world.time, 1_000, world.list('ann'))).toEqual([]);
    world.release();
    await world.time.advance(2 * DEBOUNCE);
    expect(owners(world)).toEqual([[user('ann').grant, ['tools']]]);
  });

  it('a server that is lost: the last list stays, goes after staleFor, and each is told once', async () => {
    const world = createWorld({ mine: { own: true, hints: HINTED, offers: same('m') } });
    await world.list('ann');
    world.store.listen(by('ann'));
    const back = { own: true, hints: HINTED, offers: same('m') };
    world.upstreams.set('mine', {
      own: true,
      offers: () => {
        throw new Error('out of order');
      },
    });
    await world.time.advance(5_000 + STALE_FOR - 1);
    expect(world.tools('ann')).toEqual(['mine.m']);
    expect(world.swaps).toEqual([]);
    await world.time.advance(2 * DEBOUNCE);
    expect(world.tools('ann')).toEqual([]);
    world.upstreams.set('mine', back);
    await world.time.advance(60_000);
    expect(world.tools('ann')).toEqual(['mine.m']);
    expect(owners(world)).toEqual([
      [user('ann').grant, ['tools']],
      [user('ann').grant, ['tools']],
    ]);
  });

  it('a list that turns private is read for whoever listens, and told only if it is another one', async () => {
    const world = createWorld({ up: { offers: same('t') } });
    await refresh(world, 'up');
    world.store.listen(by('ann'));
    world.store.listen(by('bob'));
    world.swaps.length = 0;
    world.upstreams.set('up', { hints: HINTED, offers: oneFor('ann', 'special', 't') });
    await refresh(world, 'up');
    await world.time.advance(2 * DEBOUNCE);
    expect(world.tools('ann')).toEqual(['up.special', 'up.t']);
    expect(world.tools('bob')).toEqual(['up.t']);
    expect(owners(world)).toEqual([[user('ann').grant, ['tools']]]);
  });

  it('what was read for all and is now each user’s own, and says the same, is no news for anybody', async () => {
    const heard: string[] = [];
    const offers: UpstreamScript['offers'] = (kind) => (kind === 'tools' ? [tool('t')] : []);
    const script = { own: true, trustPublic: true, offers };
    const world = createWorld(
      { up: { ...script, hints: { ttlMs: 5_000, scope: 'public' } } },
      {
        options: {
          onSwap: ({ owner }) =>
            heard.push(
              ...['ann', 'bob'].filter((id) =>
                owner === undefined ? world.store.follows(user(id)) : owner === user(id).grant,
              ),
            ),
        },
      },
    );
    for (const id of ['ann', 'bob']) {
      await world.list(id);
      world.store.listen(by(id));
      await world.time.advance(DEBOUNCE);
    }
    heard.length = 0;
    world.upstreams.set('up', { ...script, hints: HINTED });
    world.store.invalidate('up', 'tools', user('ann').key);
    await world.time.advance(1_000);
    expect([world.tools('ann'), world.tools('bob')]).toEqual([['up.t'], ['up.t']]);
    expect(count(world, 'up tools ann')).toBeGreaterThan(0);
    expect(count(world, 'up tools bob')).toBeGreaterThan(0);
    expect(heard).toEqual([]);
  });

  it('C-024: a notice on a connection of everybody, where nobody signs in, is one about the shared lists', async () => {
    const world = createWorld({ up: { own: true, offers: same('t') } });
    await world.store.refresh('up');
    const before = count(world, 'up tools -');
    world.upstreams.set('up', { own: true, offers: same('t', 'new') });
    world.store.invalidate('up', 'tools', ANONYMOUS.key);
    await world.time.advance(1_000);
    expect(count(world, 'up tools -')).toBe(before + 1);
    expect(world.store.of(ANONYMOUS).entries.tools.map(({ original }) => original)).toEqual(['t', 'new']);
  });

  it('a notice to one user about what is public is one read, told to all who listen', async () => {
    const script = { own: true, trustPublic: true, hints: { ttlMs: 5_000, scope: 'public' } } as const;
    const world = createWorld({ up: { ...script, offers: same('t') } });
    for (const id of ['ann', 'bob', 'cec']) {
      await world.list(id);
      world.store.listen(by(id));
    }
    await world.time.advance(1_000);
    const before = count(world, 'up tools');
    world.upstreams.set('up', { ...script, offers: same('t', 'new') });
    world.swaps.length = 0;
    // It does not listen.
    world.store.invalidate('up', 'tools', user('dan').key);
    await world.time.advance(3 * DEBOUNCE);
    expect(count(world, 'up tools')).toBe(before + 1);
    expect(['ann', 'bob', 'cec'].map((id) => world.tools(id))).toEqual(Array(3).fill(['up.t', 'up.new']));
    expect(world.swaps.length).toBeGreaterThan(0);
  });

  it('whoever listens is kept, however short memory is', async () => {
    const world = createWorld({ mine: { own: true, offers: same('m') } }, { bytes: 2_500 });
    await world.list('ann');
    const stop = world.store.listen(by('ann'));
    for (const id of ['bob', 'cec', 'dan']) {
      await world.list(id);
    }
    expect(world.tools('bob')).toEqual([]);
    expect(world.tools('ann')).toEqual(['mine.m']);
    stop();
    for (const id of ['bob', 'cec', 'dan']) {
      await world.list(id);
    }
    expect(world.tools('ann')).toEqual([]);
    expect(world.budget.used).toBeLessThanOrEqual(2_500);
  });

  it('the gateway itself needs nobody to listen', async () => {
    const world = createWorld({ up: { hints: HINTED, offers: same('t') } });
    world.store.listen({ principal: ANONYMOUS })();
    await refresh(world, 'up');
    world.store.listen({ principal: ANONYMOUS });
    await world.time.advance(10 * TTL);
    expect(count(world, 'up tools')).toBe(1);
  });

  it('so many lists are read at once for those who listen that a change is no rush', async () => {
    const world = createWorld({ up: { hints: HINTED, offers: same('t') } });
    await refresh(world, 'up');
    const users = Array.from({ length: 100 }, (_, n) => `user-${n}`);
    await Promise.all(users.map((id) => world.list(id)));
    for (const id of users) {
      world.store.listen(by(id));
    }
    world.reads.length = 0;
    world.hold();
    world.store.invalidate('up', 'tools');
    await world.time.advance(1_000);
    // The gateway's own walk, and as many users as may be read for at once.
    expect(world.reads).toHaveLength(1 + 16);
    world.release();
    await settle();
    expect(count(world, 'up tools user-')).toBe(100);
  });
});

describe('changes seen', () => {
  const seeing = (...names: string[]): Sight => ({
    key: names.join(),
    shows: ({ original }) => names.includes(original),
  });

  it('are those of the items that may be seen, in whatever order they come', async () => {
    const world = createWorld({ a: { offers: same('x', 'y') }, b: { offers: same('z') } });
    await refresh(world, 'a');
    await refresh(world, 'b');
    world.swaps.length = 0;
    world.upstreams.set('a', { offers: same('y', 'w', 'x') });
    await refresh(world, 'a');
    const [swap] = world.swaps;
    if (swap === undefined) {
      throw new Error('no swap');
    }
    const dotted = { style: 'dotted' } as const;
    expect(changesSeen(dotted, seeing('w'), swap)).toEqual(['tools']);
    expect(changesSeen(dotted, seeing('x', 'y', 'z'), swap)).toEqual([]);
    expect(changesSeen({ style: 'bare', upstream: 'a' }, seeing('w'), swap)).toEqual(['tools']);
    expect(changesSeen({ style: 'bare', upstream: 'b' }, seeing('w', 'z'), swap)).toEqual([]);
    expect(changesSeen({ style: 'dotted', upstream: 'b' }, { key: '', shows: () => true }, swap)).toEqual([]);
    expect(changesSeen(dotted, { key: '', shows: () => true }, swap)).toBe(swap.changes);
    // Once for all who look through the same view.
    expect(changesSeen(dotted, seeing('w'), swap)).toBe(changesSeen(dotted, seeing('w'), swap));
  });
});
