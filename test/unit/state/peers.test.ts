import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { GatewayError, RpcRefusal, UpstreamRpcError } from '../../../src/base/errors.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { createLog } from '../../../src/base/log.ts';
import { createSealer } from '../../../src/base/sealed.ts';
import { MemoryState, SharedMemory } from '../../../src/state/memory-state.ts';
import { Peers } from '../../../src/state/peers.ts';

const log = createLog({ level: 'silent', readable: false });

function replicas(count = 2, sealer = createSealer(randomBytes(32)), memory = new SharedMemory()) {
  const states = Array.from({ length: count }, () => new MemoryState(memory));
  const peers = states.map((state) => new Peers(state, sealer, log));
  const [one, other] = peers;
  return { one: one ?? expect.unreachable(), other: other ?? expect.unreachable(), peers, states, memory };
}

describe('replicas', () => {
  it('ask one of them, which answers, and both say things meanwhile', async () => {
    const { one, other } = replicas();
    const said: unknown[] = [];
    other.serve('call', async (asked, talk) => {
      talk.say({ progress: asked['from'] });
      const answered = new Promise<JsonObject>((resolve) => talk.listen(resolve));
      return { done: await answered };
    });
    const talk = one.ask(other.name, 'call', { from: 'one' }, { heard: (message) => said.push(message) });
    await expect.poll(() => said).toEqual([{ progress: 'one' }]);
    talk.say({ more: 1 });
    expect(await talk.answer).toEqual({ done: { more: 1 } });
    expect(talk.signal.aborted).toBe(true);
  });

  it('throw what the other one threw', async () => {
    const { one, other } = replicas();
    const thrown = [
      new GatewayError('PARAMS_INVALID', {
        detail: 'params.x must be a string.',
        upstream: 'up',
        data: { a: 1 },
      }),
      new UpstreamRpcError('up', { code: 7, message: 'theirs', data: [1] }),
      new RpcRefusal({ code: -1, message: 'no' }),
    ];
    for (const error of thrown) {
      other.serve('call', () => Promise.reject(error));
      const failure = await one.ask(other.name, 'call', {}).answer.catch((reason: unknown) => reason);
      expect(failure).toBeInstanceOf(error.constructor);
      const {
        message,
        code,
        data,
        upstream,
        error: object,
      } = error as Partial<GatewayError & UpstreamRpcError>;
      expect(failure).toMatchObject(
        JSON.parse(JSON.stringify({ message, code, data, upstream, error: object })) as object,
      );
    }
    other.serve('call', () => Promise.reject(new Error('a secret of the machine')));
    const inside = one.ask(other.name, 'call', {}).answer;
    await expect(inside).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(inside).rejects.not.toMatchObject({ message: expect.stringContaining('secret') as unknown });
  });

  it('know when the other one is not there, before anything has happened', async () => {
    const { one, other, states } = replicas();
    await expect(one.ask('nobody-there', 'call', {}).answer).rejects.toMatchObject({ code: 'PEER_ABSENT' });
    await expect(one.ask(other.name, 'unknown', {}).answer).rejects.toMatchObject({ code: 'PEER_ABSENT' });
    await states[1]?.close();
    await expect(one.ask(other.name, 'call', {}).answer).rejects.toMatchObject({ code: 'PEER_ABSENT' });
  });

  it('end what the other one does when nobody waits for it any more', async () => {
    const { one, other } = replicas();
    let begun = () => {};
    const begins = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const ended = new Promise<void>((resolve) => {
      other.serve('call', (_asked, talk) => {
        talk.signal.addEventListener('abort', () => resolve());
        begun();
        return new Promise(() => {});
      });
    });
    const leaving = new AbortController();
    const talk = one.ask(other.name, 'call', {}, { signal: leaving.signal });
    await begins;
    leaving.abort();
    await expect(talk.answer).rejects.toMatchObject({ code: 'CANCELLED' });
    await ended;
  });

  it('tell all others at once', async () => {
    const { peers, one } = replicas(4);
    const heard: string[] = [];
    for (const each of peers) {
      each.onTold('hint', ({ text }) => heard.push(`${peers.indexOf(each)} ${String(text)}`));
    }
    one.tell('hint', { text: 'x' });
    await expect.poll(() => heard).toEqual(['1 x', '2 x', '3 x']);
  });

  it('take no notice of what none of them has said, nor of what was said to another', async () => {
    const { one, other, memory, peers } = replicas(3);
    const stranger = replicas(2, createSealer(randomBytes(32)), memory).one;
    const heard: unknown[] = [];
    for (const each of [one, other]) {
      each.serve('call', async (asked) => {
        heard.push(asked);
        return {};
      });
    }
    // Sealed with another key: never heard, so given up.
    const talk = stranger.ask(other.name, 'call', { forged: true });
    // What was said to one, said again to another.
    const copies: string[] = [];
    new MemoryState(memory).hear(`to-${other.name}`, (text) => copies.push(text));
    await peers[2]?.ask(other.name, 'call', { genuine: true }).answer;
    const replay = new MemoryState(memory);
    await Promise.all(copies.map((text) => replay.publish(`to-${one.name}`, text)));
    await expect.poll(() => heard).toEqual([{ genuine: true }]);
    stranger.close();
    await expect(talk.answer).rejects.toMatchObject({ code: 'PEER_LOST' });
    expect(heard).toEqual([{ genuine: true }]);
  });

  it('take no notice of what is said again by whoever has listened, and count it', async () => {
    const { one, other, memory } = replicas();
    const heard: unknown[] = [];
    other.serve('call', async (asked) => {
      heard.push(asked);
      return {};
    });
    other.onTold('hint', (told) => heard.push(told));
    const copies: [string, string][] = [];
    const tap = new MemoryState(memory);
    for (const channel of [`to-${other.name}`, 'to-all']) {
      tap.hear(channel, (text) => copies.push([channel, text]));
    }
    await one.ask(other.name, 'call', { n: 1 }).answer;
    one.tell('hint', { n: 2 });
    await expect.poll(() => [heard, copies.length]).toEqual([[{ n: 1 }, { n: 2 }], 2]);
    for (const [channel, text] of [...copies, ...copies]) {
      await tap.publish(channel, text);
    }
    await expect.poll(() => other.refused).toEqual({ forged: 0, repeated: 4, stale: 0 });
    // A fence: what comes after them is heard.
    one.tell('hint', { n: 3 });
    await expect.poll(() => heard.at(-1)).toEqual({ n: 3 });
    expect(heard).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(one.refused).toEqual({ forged: 0, repeated: 0, stale: 0 });
  });

  it('say nothing that is too large for whoever carries it', async () => {
    const { one, other } = replicas();
    other.serve('call', async () => ({ text: 'x'.repeat(9_000_000) }));
    const large = one.ask(other.name, 'call', { text: 'x'.repeat(9_000_000) }).answer;
    await expect(large).rejects.toMatchObject({ code: 'UPSTREAM_TOO_LARGE' });
    await expect(one.ask(other.name, 'call', {}).answer).rejects.toMatchObject({
      code: 'UPSTREAM_TOO_LARGE',
    });
  });
});
