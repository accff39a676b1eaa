import { describe, expect, it } from 'vitest';
import type { CallOptions } from '../../../src/upstream/call.ts';
import { Lane } from '../../../src/upstream/lane.ts';
import { OPTIONS } from './fleet-kit.ts';

/** A lane whose calls end when the test says so, and what began and ended in it, in order. */
function setUp(concurrency: number, queue: number) {
  const lane = new Lane({ upstream: 'up', concurrency, queue });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const outcomes = new Map<string, unknown>();
  const call = (owner: string, name: string, options: Partial<CallOptions> = {}) =>
    lane
      .run(owner, { ...OPTIONS, ...options }, () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      })
      .then(
        () => outcomes.set(name, 'done'),
        (thrown: { code: string }) => outcomes.set(name, thrown.code),
      );
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    lane,
    begun,
    outcomes,
    call: async (owner: string, ...names: string[]) => {
      for (const name of names) {
        void call(owner, name);
      }
      await turn();
    },
    with: call,
    end: async (name: string) => {
      ends.get(name)?.();
      await turn();
    },
    turn,
  };
}

describe('turns', () => {
  it("two hundred slow calls of one user delay another's first by one finished call", async () => {
    const { call, end, begun } = setUp(4, 256);
    await call('a', ...Array.from({ length: 200 }, (_, n) => `a${n}`));
    await call('b', 'b0', 'b1');
    expect(begun).toEqual(['a0', 'a1', 'a2', 'a3']);
    await end('a2');
    expect(begun.at(-1)).toBe('b0');
    await end('a0');
    expect(begun.at(-1)).toBe('b1');
    await end('a1');
    expect(begun.at(-1)).toBe('a4');
  });

  it('a free place goes to whoever holds fewest, so that all hold equally many in the end', async () => {
    const { call, end, begun } = setUp(6, 256);
    const many = (owner: string) => Array.from({ length: 20 }, (_, n) => `${owner}${n}`);
    await call('a', ...many('a'));
    await call('b', ...many('b'));
    await call('c', ...many('c'));
    const running = () => begun.filter((name) => !over.has(name));
    const over = new Set<string>();
    for (const name of ['a0', 'a1', 'a2', 'a3']) {
      over.add(name);
      await end(name);
    }
    expect(running().sort()).toEqual(['a4', 'a5', 'b0', 'b1', 'c0', 'c1'].map((name) => name).sort());
  });

  it('among equals the turn goes round', async () => {
    const { call, end, begun } = setUp(1, 256);
    await call('z', 'z0');
    await call('a', 'a0', 'a1');
    await call('b', 'b0', 'b1');
    for (const name of ['z0', 'a0', 'b0', 'a1']) {
      await end(name);
    }
    expect(begun).toEqual(['z0', 'a0', 'b0', 'a1', 'b1']);
  });

  it('one user alone has every place, in order', async () => {
    const { call, end, begun } = setUp(2, 2);
    await call('a', 'a0', 'a1', 'a2', 'a3');
    await end('a1');
    expect(begun).toEqual(['a0', 'a1', 'a2']);
  });
});

describe('a full queue', () => {
  it('refuses whoever fills it, and takes others in the place of the newest of theirs', async () => {
    const { call, outcomes, end, begun } = setUp(1, 4);
    await call('a', 'a0', 'a1', 'a2', 'a3', 'a4', 'a5');
    expect([...outcomes]).toEqual([['a5', 'UPSTREAM_BUSY']]);
    await call('b', 'b0');
    expect(outcomes.get('a4')).toBe('UPSTREAM_BUSY');
    await call('b', 'b1');
    expect(outcomes.get('a3')).toBe('UPSTREAM_BUSY');
    await call('b', 'b2');
    expect(outcomes.get('b2')).toBe('UPSTREAM_BUSY');
    await end('a0');
    await end('b0');
    expect(begun).toEqual(['a0', 'b0', 'a1']);
  });

  it('without a queue, whoever finds no place is refused', async () => {
    const { call, outcomes } = setUp(1, 0);
    await call('a', 'a0');
    await call('b', 'b0');
    expect([...outcomes]).toEqual([['b0', 'UPSTREAM_BUSY']]);
  });
});

describe('a call that waits', () => {
  it('leaves the queue when it is cancelled, and is never made', async () => {
    const lane = setUp(1, 1);
    await lane.call('a', 'a0');
    const gone = new AbortController();
    const waiting = lane.with('a', 'a1', { signal: gone.signal });
    gone.abort();
    await waiting;
    expect(lane.outcomes.get('a1')).toBe('CANCELLED');
    // Its place in the queue is free again.
    await lane.call('a', 'a2');
    await lane.end('a0');
    expect(lane.begun).toEqual(['a0', 'a2']);
    await lane.with('a', 'a3', { signal: gone.signal });
    expect(lane.outcomes.get('a3')).toBe('CANCELLED');
  });

  it('is refused when no turn comes within its limit of silence, and is never made', async () => {
    const lane = setUp(1, 1);
    await lane.call('a', 'a0');
    await lane.with('b', 'b0', { timeoutMs: 20 });
    expect(lane.outcomes.get('b0')).toBe('UPSTREAM_BUSY');
    await lane.end('a0');
    expect(lane.begun).toEqual(['a0']);
  });

  it('has that much less of its limit in all', async () => {
    const { lane } = setUp(1, 1);
    let free = () => {};
    const first = lane.run('a', OPTIONS, () => new Promise<void>((resolve) => (free = resolve)));
    const seen = lane.run('b', { ...OPTIONS, totalMs: 10_000 }, ({ totalMs }) => Promise.resolve(totalMs));
    setTimeout(() => free(), 30);
    await first;
    expect(await seen).toBeLessThan(10_000);
  });
});

it('a call that asks a person gives its place back, once', async () => {
  const { lane, call, begun, end } = setUp(1, 4);
  let answer = (_: Record<string, unknown>) => {};
  const onQuestion = () => new Promise<Record<string, unknown>>((resolve) => (answer = resolve));
  const asking = lane.run('a', { ...OPTIONS, onQuestion }, ({ onQuestion: ask }) =>
    ask === undefined
      ? Promise.reject(new Error('nobody to ask'))
      : ask({ method: 'elicitation/create', params: {}, signal: new AbortController().signal }),
  );
  await call('b', 'b0', 'b1');
  expect(begun).toEqual(['b0']);
  answer({ action: 'accept' });
  expect(await asking).toEqual({ action: 'accept' });
  expect(begun).toEqual(['b0']);
  await end('b0');
  expect(begun).toEqual(['b0', 'b1']);
});
