import { beforeEach, describe, expect, it } from 'vitest';
import { ANONYMOUS } from '../../../src/access/principal.ts';
import { SILENT } from '../../../src/base/log.ts';
import type { Caller } from '../../../src/catalog/scoping.ts';
import type { Swap } from '../../../src/catalog/snapshot.ts';
import { Store } from '../../../src/catalog/store.ts';
import type { StoreOptions } from '../../../src/catalog/store-options.ts';
import type { Kind } from '../../../src/protocol/model.ts';
import { list, tool } from './parts.ts';
import { createTimeline, settle, type Timeline } from './timeline.ts';

const DEBOUNCE = 50;

/** Scripted upstreams: what they offer, whether they fail, and reads that wait until they are let go. */
class Upstreams {
  readonly offers = new Map<string, Partial<Record<Kind, readonly unknown[]>>>();
  readonly down = new Set<string>();
  readonly reads: string[] = [];
  #held: (() => void)[] | undefined;

  readonly read: StoreOptions<Caller>['read'] = async (upstream, kind) => {
    this.reads.push(`${upstream} ${kind}`);
    if (this.#held !== undefined) {
      await new Promise<void>((resolve) => this.#held?.push(resolve));
    }
    if (this.down.has(upstream) || this.down.has(`${upstream} ${kind}`)) {
      throw new Error('out of order');
    }
    const raw = this.offers.get(upstream)?.[kind];
    return raw === undefined ? undefined : list(kind, raw);
  };

  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const resume of held) {
      resume();
    }
  }
}

let time: Timeline;
let upstreams: Upstreams;
let swaps: Swap[];

function createStore(more: Partial<StoreOptions<Caller>> = {}): Store {
  return new Store({
    order: () => ['a', 'b', 'c'],
    naming: { separator: '.', maxLength: 128 },
    read: upstreams.read,
    log: SILENT,
    onSwap: (swap) => swaps.push(swap),
    debounceMs: () => DEBOUNCE,
    schedule: time.schedule,
    now: time.now,
    ...more,
  });
}

const names = (store: Store) => store.current.entries.tools.map((entry) => entry.exposed.dotted);
const changes = () => swaps.map((swap) => swap.changes);

beforeEach(() => {
  time = createTimeline();
  upstreams = new Upstreams();
  upstreams.offers.set('a', { tools: [tool('t')], prompts: [{ name: 'p' }] });
  upstreams.offers.set('b', { tools: [tool('t')] });
  swaps = [];
});

describe('refresh', () => {
  it('reads every kind and swaps once, when all have settled', async () => {
    const store = createStore();
    await store.refresh('a');
    expect(upstreams.reads).toEqual(['a tools', 'a prompts', 'a resources', 'a templates']);
    expect(names(store)).toEqual(['a.t']);
    expect(changes()).toEqual([['tools', 'prompts']]);
    expect(swaps[0]?.after).toBe(store.current);
  });

  it('upstreams that come one after the other share a swap, in config order whoever was first', async () => {
    const store = createStore();
    upstreams.offers.set('c', { tools: [tool('t')] });
    await store.refresh('c');
    expect(names(store)).toEqual(['c.t']);
    const all = [store.refresh('b')];
    await settle();
    all.push(store.refresh('a'));
    await settle();
    expect(names(store)).toEqual(['c.t']);
    await time.advance(DEBOUNCE);
    await Promise.all(all);
    expect(names(store)).toEqual(['a.t', 'b.t', 'c.t']);
    expect(swaps).toHaveLength(2);
  });

  it('one flight for each upstream and kind: calls during it share exactly one trailing run', async () => {
    const store = createStore();
    upstreams.hold();
    const first = store.refresh('a', ['tools']);
    const late = Array.from({ length: 200 }, () => store.refresh('a', ['tools']));
    await settle();
    expect(upstreams.reads).toEqual(['a tools']);
    upstreams.offers.set('a', { tools: [tool('final')] });
    upstreams.release();
    await settle();
    await time.advance(DEBOUNCE);
    await Promise.all([first, ...late]);
    expect(upstreams.reads).toEqual(['a tools', 'a tools']);
    expect(names(store)).toEqual(['a.final']);
  });

  it('C-024: where nothing visible changed, nothing is published', async () => {
    const store = createStore();
    await store.refresh('a');
    const { revision } = store.current;
    await time.advance(1_000);
    for (let times = 0; times < 3; times += 1) {
      await store.refresh('a');
    }
    expect(swaps).toHaveLength(1);
    expect(store.current.revision).toBe(revision);
    const part = store.current.parts.get('a');
    await store.refresh('b');
    expect(store.current.parts.get('a')).toBe(part);
    await time.advance(DEBOUNCE);
    upstreams.offers.set('a', { tools: [tool('t', { description: 'new' })], prompts: [{ name: 'p' }] });
    await store.refresh('a');
    expect(changes().slice(1)).toEqual([['tools'], ['tools']]);
  });

  it('a listener that throws ends no refresh', async () => {
    const store = createStore({
      onSwap: () => {
        throw new Error('listener');
      },
    });
    await store.refresh('a');
    expect(names(store)).toEqual(['a.t']);
  });
});

describe('failure', () => {
  it('C-015: a failing refresh keeps the last complete list, marked, without a notice, and is retried', async () => {
    const store = createStore();
    await store.refresh('a');
    await time.advance(DEBOUNCE);
    upstreams.down.add('a tools');
    await store.refresh('a');
    expect(names(store)).toEqual(['a.t']);
    expect(store.current.parts.get('a')?.stale).toBe(true);
    expect(swaps).toHaveLength(1);
    upstreams.down.clear();
    upstreams.offers.set('a', { tools: [tool('new')], prompts: [{ name: 'p' }] });
    await time.advance(1_001);
    expect(names(store)).toEqual(['a.new']);
    expect(store.current.parts.get('a')?.stale).toBe(false);
    expect(changes().slice(1)).toEqual([['tools']]);
  });

  it('C-026: a first list that fails leaves no part, and is retried with backoff until it works', async () => {
    const store = createStore();
    upstreams.down.add('a');
    await store.refresh('a');
    await store.refresh('a');
    expect(store.current.parts.size).toBe(0);
    // One retry for all four kinds.
    expect(time.waiting).toBe(1);
    await time.advance(30_000);
    const tries = upstreams.reads.filter((read) => read === 'a tools').length;
    expect(tries).toBeGreaterThan(3);
    expect(tries).toBeLessThan(10);
    upstreams.down.clear();
    await time.advance(60_000);
    expect(names(store)).toEqual(['a.t']);
    expect(changes()).toEqual([['tools', 'prompts']]);
    expect(time.waiting).toBe(0);
  });

  it('C-026: after a reconnect with other tools one notice tells all', async () => {
    const store = createStore();
    await store.refresh('a');
    await time.advance(DEBOUNCE);
    store.markStale('a', 600_000);
    store.markStale('a', 600_000);
    expect(store.current.parts.get('a')?.stale).toBe(true);
    upstreams.offers.set('a', { tools: [tool('other')], prompts: [{ name: 'q' }] });
    upstreams.down.add('a tools');
    await store.refresh('a');
    upstreams.down.clear();
    await time.advance(2_000);
    expect(names(store)).toEqual(['a.other']);
    expect(store.current.parts.get('a')?.stale).toBe(false);
    await time.advance(600_000);
    expect(names(store)).toEqual(['a.other']);
  });

  it('a lost upstream keeps its items for a while, then they go with one swap', async () => {
    const store = createStore();
    await Promise.all([store.refresh('a'), store.refresh('b'), time.advance(DEBOUNCE)]);
    swaps = [];
    store.markStale('a', 10_000);
    await time.advance(9_000);
    // Losing it again does not begin the time anew.
    store.markStale('a', 10_000);
    expect(names(store)).toEqual(['a.t', 'b.t']);
    await time.advance(1_000);
    expect(names(store)).toEqual(['b.t']);
    expect(changes()).toEqual([['tools', 'prompts']]);
  });

  it('an answer from before the loss does not say that the upstream is back', async () => {
    const store = createStore();
    await store.refresh('a');
    upstreams.hold();
    const refreshed = store.refresh('a');
    store.markStale('a', 10_000);
    upstreams.release();
    await time.advance(DEBOUNCE);
    await refreshed;
    expect(store.current.parts.get('a')?.stale).toBe(true);
    await time.advance(10_000);
    expect(names(store)).toEqual([]);
  });

  it('after a reconnect, what still fails goes when its time is over; what works stays', async () => {
    const store = createStore();
    await store.refresh('a');
    await time.advance(DEBOUNCE);
    store.markStale('a', 10_000);
    upstreams.down.add('a prompts');
    await store.refresh('a');
    await time.advance(10_000);
    expect(names(store)).toEqual(['a.t']);
    expect(store.current.entries.prompts).toEqual([]);
  });

  it('what is out of the configuration takes the items at once and ends reads, retries and answers on their way', async () => {
    const store = createStore();
    await store.refresh('a');
    await time.advance(DEBOUNCE);
    upstreams.hold();
    const onTheWay = store.refresh('a');
    await settle();
    store.rearrange(undefined, { gone: ['a'] });
    expect(names(store)).toEqual([]);
    await Promise.all([onTheWay, time.advance(DEBOUNCE)]);
    upstreams.release();
    await time.advance(100_000);
    expect(names(store)).toEqual([]);
    expect(time.waiting).toBe(0);
  });
});

describe('notices', () => {
  it('C-022: a burst of 1,000 notices is one walk, and one swap with the final state', async () => {
    const store = createStore();
    await store.refresh('a');
    await time.advance(DEBOUNCE);
    upstreams.reads.length = 0;
    for (let notice = 0; notice < 1_000; notice += 1) {
      store.invalidate('a', 'tools');
    }
    upstreams.offers.set('a', { tools: [tool('final')], prompts: [{ name: 'p' }] });
    await time.advance(DEBOUNCE);
    expect(upstreams.reads).toEqual(['a tools']);
    expect(names(store)).toEqual(['a.final']);
    expect(swaps).toHaveLength(2);
  });

  it('C-022: a storm without end is read about once a second, and each change is coalesced by itself', async () => {
    const store = createStore();
    await store.refresh('a');
    upstreams.reads.length = 0;
    for (let notice = 0; notice < 500; notice += 1) {
      store.invalidate('a', 'tools');
      if (notice < 3) {
        store.invalidate('a', 'resources');
      }
      await time.advance(10);
    }
    const count = (read: string) => upstreams.reads.filter((done) => done === read).length;
    expect(count('a tools')).toBeGreaterThanOrEqual(4);
    expect(count('a tools')).toBeLessThanOrEqual(5);
    expect([count('a resources'), count('a templates'), count('a prompts')]).toEqual([1, 1, 0]);
  });

  it('a list without notices is read again by its ttl, with jitter, until the upstream is lost', async () => {
    const store = createStore({
      pollEvery: (_id, kind, hints) => (kind === 'tools' ? (hints.ttlMs ?? 1_000) : undefined),
    });
    await store.refresh('a');
    await Promise.all([store.refresh('a'), time.advance(DEBOUNCE)]);
    upstreams.reads.length = 0;
    await time.advance(899 - DEBOUNCE);
    expect(upstreams.reads).toEqual([]);
    await time.advance(202);
    expect(upstreams.reads).toEqual(['a tools']);
    store.markStale('a', 100_000);
    await time.advance(5_000);
    expect(upstreams.reads).toEqual(['a tools']);
  });

  it('C-009: a finding is logged once, not at every refresh', async () => {
    const lines: unknown[] = [];
    const log = Object.assign(Object.create(SILENT), { warn: (about: unknown) => lines.push(about) });
    const store = createStore({ log });
    upstreams.offers.set('a', { tools: [{ name: 'bad', inputSchema: 7 }] });
    await store.refresh('a');
    await time.advance(DEBOUNCE);
    await store.refresh('a');
    expect(lines).toMatchObject([{ upstream: 'a', kind: 'tools', finding: 'item.repaired', item: 'bad' }]);
    upstreams.offers.set('a', { tools: [{ name: 'bad', inputSchema: 7 }, { name: 'worse' }] });
    await store.refresh('a');
    expect(lines.slice(1)).toMatchObject([{ item: 'worse' }]);
  });
});

describe('settled', () => {
  it('resolves when each was tried once, read or not', async () => {
    const store = createStore();
    upstreams.down.add('b');
    let settled = false;
    const waiting = store.settled(['a', 'b', 'c'], 2_000).then(() => {
      settled = true;
    });
    await Promise.all([store.refresh('a'), store.refresh('b'), time.advance(DEBOUNCE)]);
    await settle();
    expect(settled).toBe(false);
    store.markTried('c');
    await waiting;
    expect(names(store)).toEqual(['a.t']);
    await store.settled(['a', 'b', 'c'], 2_000);
    await store.settled([], 2_000);
  });

  it('a dropped upstream that comes back is waited for again', async () => {
    const store = createStore();
    upstreams.hold();
    const first = store.refresh('a');
    store.rearrange(undefined, { gone: ['a'] });
    await Promise.all([first, time.advance(DEBOUNCE)]);
    upstreams.release();
    let settled = false;
    const waiting = store.settled(['a'], 2_000).then(() => {
      settled = true;
    });
    await time.advance(1_999);
    expect(settled).toBe(false);
    await Promise.all([store.refresh('a'), time.advance(0)]);
    await waiting;
  });

  it('resolves after the given time, and when the store closes', async () => {
    const store = createStore();
    const waiting = store.settled(['a'], 2_000);
    await time.advance(2_000);
    await waiting;
    const other = store.settled(['a'], 2_000);
    store.close();
    await other;
    expect(time.waiting).toBe(0);
  });
});

describe('catalogs over time', () => {
  it('C-019: recent catalogs can be walked on, older ones not', async () => {
    const store = createStore();
    const revisions: string[] = [];
    for (let version = 0; version < 10; version += 1) {
      upstreams.offers.set('a', { tools: [tool(`v${version}`)] });
      await store.refresh('a', ['tools']);
      revisions.push(store.current.revision);
      await time.advance(DEBOUNCE);
    }
    expect(
      revisions.map((revision) => store.byRevision(revision, ANONYMOUS)?.entries.tools[0]?.original),
    ).toEqual([undefined, ...Array.from({ length: 9 }, (_, index) => `v${index + 1}`)]);
    await time.advance(5 * 60_000);
    expect(store.byRevision(revisions[8] ?? '', ANONYMOUS)).toBeUndefined();
    expect(store.byRevision(revisions[9] ?? '', ANONYMOUS)).toBe(store.current);
    expect(store.byRevision('', ANONYMOUS)).toBeUndefined();
  });

  it('C-004: another naming is one rebuild and one notice; an upstream out of the configuration is left out', async () => {
    let order = ['a', 'b'];
    const store = createStore({ order: () => order, namespaceOf: (id) => `${id}-ns` });
    await Promise.all([store.refresh('a'), store.refresh('b'), time.advance(DEBOUNCE)]);
    await time.advance(DEBOUNCE);
    swaps = [];
    store.rearrange({ separator: '/', maxLength: 128 });
    expect(names(store)).toEqual(['a-ns/t', 'b-ns/t']);
    await time.advance(DEBOUNCE);
    order = ['b', 'a'];
    store.rearrange();
    expect(names(store)).toEqual(['b-ns/t', 'a-ns/t']);
    await time.advance(DEBOUNCE);
    order = ['b'];
    store.rearrange();
    expect(names(store)).toEqual(['b-ns/t']);
    expect(changes()).toEqual([
      ['tools', 'prompts'],
      ['tools', 'prompts'],
    ]);
  });

  it('close settles who waits, and nothing is read after it', async () => {
    const store = createStore();
    await store.refresh('b');
    await time.advance(DEBOUNCE);
    upstreams.hold();
    const waiting = [store.refresh('a'), store.refresh('b', ['tools'])];
    await settle();
    store.close();
    await Promise.all(waiting);
    upstreams.reads.length = 0;
    await store.refresh('a');
    store.invalidate('a', 'tools');
    await time.advance(100_000);
    expect(upstreams.reads).toEqual([]);
    expect(names(store)).toEqual(['b.t']);
    store.close();
  });
});

it('two upstreams fail and recover each for itself', async () => {
  const store = createStore();
  upstreams.down.add('a');
  await Promise.all([store.refresh('a'), store.refresh('b'), time.advance(DEBOUNCE)]);
  expect(names(store)).toEqual(['b.t']);
  const before = store.current.parts.get('b')?.lists.tools;
  upstreams.down.clear();
  await time.advance(2_000);
  expect(names(store)).toEqual(['a.t', 'b.t']);
  expect(store.current.parts.get('b')?.lists.tools).toBe(before);
});
