import { describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { startFaultProxy } from '../kit/faults.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';

const restart = { base: '20ms', cap: '60ms', breakAfter: 3 };

async function readyz(gateway: StartedGateway) {
  const response = await fetch(`${gateway.origin}/readyz`);
  const body = (await response.json()) as {
    status: string;
    upstreams: Record<string, { state: string; tools: number } | undefined>;
  };
  return { code: response.status, ...body };
}
const stateOf = async (gateway: StartedGateway, id: string) => (await readyz(gateway)).upstreams[id]?.state;

describe.each(AGENTS)('two replicas of one server, one of them dead, for a $era client', ({ connect }) => {
  it('no call of the third server fails, waits for the dead one, or finds its place taken', async () => {
    await using first = await startHttpUpstream({ id: 'first', tools: ['echo'] });
    await using second = await startHttpUpstream({ id: 'second', tools: ['echo'] });
    await using third = await startHttpUpstream({ id: 'third', tools: ['echo'] });
    await using proxy = await startFaultProxy(second.port);
    const limits = { concurrency: 2, queue: 100 };
    const timeouts = { health: 0, connect: '500ms', probe: '200ms', call: '20s' };
    await using gateway = await startGateway({
      upstreams: {
        first: { ...first.config, limits, restart },
        second: { url: proxy.url('/mcp'), limits, restart, timeouts },
        third: { ...third.config, limits, restart },
      },
    });
    await using agent = await connect(gateway.url);
    await agent.untilNames((names) => names.length === 3);
    const healthy = async (n: number) => {
      const { result } = await agent.call('third.echo', { n });
      expect(result).not.toHaveProperty('isError');
    };

    // Hangs, so that its calls wait as long as they may: they hold its own places and those in its own queue alone.
    proxy.blackhole();
    let waiting = 0;
    const hanging = Array.from({ length: 20 }, async () => {
      waiting += 1;
      const answer = await agent.request('tools/call', { name: 'second.echo', arguments: {} });
      waiting -= 1;
      return answer;
    });
    for (let n = 0; n < 50; n += 1) {
      await healthy(n);
    }
    expect(waiting).toBe(20);

    // Dies: every call that waited ends, and from now on each ends at once.
    proxy.reset();
    for (const { result } of await Promise.all(hanging)) {
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^\[second\]/) }],
      });
    }
    await expect.poll(() => stateOf(gateway, 'second'), { timeout: 10_000 }).toBe('broken');
    const failing = Array.from({ length: 200 }, () =>
      agent.request('tools/call', { name: 'second.echo', arguments: {} }),
    );
    await Promise.all([...Array.from({ length: 50 }, (_, n) => healthy(n)), Promise.all(failing)]);
    expect((await agent.call('first.echo', {})).result).not.toHaveProperty('isError');
    expect(await readyz(gateway)).toMatchObject({ code: 200, status: 'degraded' });

    proxy.heal();
    await expect.poll(() => stateOf(gateway, 'second'), { timeout: 10_000 }).toBe('ready');
    expect((await agent.call('second.echo', {})).result).not.toHaveProperty('isError');
    expect(third.count('tools/call')).toBe(100);
  });
});

describe.each(AGENTS)('a server that is started when it is needed, for a $era client', ({ connect }) => {
  it('readiness does not wait for it; the first list starts it, and waits for it', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    await using gateway = await startGateway({
      lists: { firstWait: '20s' },
      upstreams: { up: { ...up.config, start: 'lazy' } },
    });
    expect(await readyz(gateway)).toMatchObject({
      code: 200,
      status: 'ready',
      upstreams: { up: { state: 'idle' } },
    });
    expect(up.starts).toBe(0);
    await using agent = await connect(gateway.url);
    expect(await agent.names()).toEqual(['up.echo']);
    expect(up.starts).toBe(1);
    await expect.poll(() => stateOf(gateway, 'up')).toBe('ready');
  });

  it('the first call starts it, and waits for it', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, start: 'lazy' } } });
    await using agent = await connect(gateway.url, { greet: true });
    expect((await agent.call('up.echo', { first: true })).structured).toEqual({ first: true });
  });

  it('stopped while nobody needs it, it stays listed and is not out of date; the next call starts it', async () => {
    const capabilities = { tools: {} };
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'], capabilities });
    await using clock = await startHttpUpstream({ id: 'clock', tools: ['tick'], capabilities });
    const cache = { ttl: '50ms', staleFor: '100ms' };
    await using gateway = await startGateway({
      upstreams: { up: { ...up.config, idleStop: '100ms', cache }, clock: { ...clock.config, cache } },
    });
    await using agent = await connect(gateway.url);
    await agent.untilNames((names) => names.length === 2);
    await expect.poll(() => stateOf(gateway, 'up'), { timeout: 10_000 }).toBe('idle');
    // Its lists were due several times meanwhile, as those of its neighbour were.
    const { length } = clock.received;
    await clock.untilReceived('tools/list', undefined, { after: length, times: 4 });
    expect(await agent.names()).toEqual(['up.echo', 'clock.tick']);
    expect(await readyz(gateway)).toMatchObject({
      code: 200,
      status: 'ready',
      upstreams: { up: { tools: 1 } },
    });
    expect([up.starts, up.pids]).toEqual([1, []]);
    expect((await agent.call('up.echo', { again: true })).structured).toEqual({ again: true });
    expect(up.starts).toBe(2);
  });
});

it('retry: safe: a tool that its trusted server calls read-only is called once more through the gateway', async () => {
  const tool = { name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
  await using up = await startHttpUpstream({ id: 'up', tools: [tool] });
  const config = { ...up.config, restart, retry: 'safe', trust: { annotations: true } };
  await using gateway = await startGateway({ upstreams: { up: config } });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.length === 1);
  await up.change({ faults: [{ on: 'tools/call', times: 1, do: { drop: true } }] });
  expect((await agent.call('up.read', {})).result).not.toHaveProperty('isError');
  expect(up.count('tools/call')).toBe(2);
});

it.each([
  ['a failure', { status: 500 }],
  ['something else than tools', { result: { tools: 'none' } }],
] as const)(
  'a list that was answered with %s: a call of its tools says so, and not that they do not exist',
  async (_, fault) => {
    const faults = [{ on: 'tools/list', do: fault }];
    await using up = await startHttpUpstream({
      id: 'up',
      era: 'modern',
      tools: ['echo'],
      prompts: ['p'],
      faults,
    });
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    const echo = { name: 'up.echo', arguments: {} };
    const { result } = await agent.request('tools/call', echo);
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^\[up\] .*not be read/) }],
    });
    expect((await agent.request('prompts/get', { name: 'up.q' })).error).toMatchObject({ code: -32_602 });
    await up.change({ faults: [] });
    await expect
      .poll(async () => (await agent.request('tools/call', echo)).result?.['isError'], { timeout: 10_000 })
      .toBeUndefined();
    expect((await agent.request('tools/call', { name: 'up.no' })).error).toMatchObject({ code: -32_602 });
  },
);
