import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { refusingPort, silentPort, startFaultProxy } from '../kit/faults.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectSdk } from '../kit/sdk-clients.ts';
import { type GatewayConfig, type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

interface Ready {
  readonly code: number;
  readonly status: string;
  readonly upstreams: Readonly<Record<string, JsonObject | undefined>>;
}

async function readyz(gateway: StartedGateway): Promise<Ready> {
  const response = await fetch(`${gateway.origin}/readyz`);
  return { code: response.status, ...((await response.json()) as Omit<Ready, 'code'>) };
}

const stateOf = async (gateway: StartedGateway, id: string) =>
  (await readyz(gateway)).upstreams[id]?.['state'];

/** Longer than any test may take: whoever waits for it has waited for the dead. */
const ENDLESS = { connect: '10m', probe: '10m' };

describe('20 upstreams with 500 tools each in pages of 50, two of them dead and one hanging', () => {
  const tools = [...Array.from({ length: 499 }, (_, n) => `tool-${n}`), 'whoami'];
  const ids = Array.from({ length: 17 }, (_, n) => `up-${n}`);
  const everything = ids.flatMap((id) => tools.map((tool) => `${id}.${tool}`));
  const living: ScriptedUpstream[] = [];
  let hanging: Awaited<ReturnType<typeof silentPort>>;
  let gateway: StartedGateway;

  beforeAll(async () => {
    const eras = ['both', 'legacy', 'modern'] as const;
    for (const [n, id] of ids.entries()) {
      const script: Script = { id, era: eras[n % 3] ?? 'both', tools, pageSize: 50 };
      living.push(await (n < 3 ? startStdioUpstream(script) : startHttpUpstream(script)));
    }
    hanging = await silentPort();
    const restart = { base: '10m', cap: '10m' };
    const dead = async () => ({
      url: `http://127.0.0.1:${await refusingPort()}/mcp`,
      timeouts: ENDLESS,
      restart,
    });
    gateway = await startGateway({
      upstreams: {
        'dead-0': await dead(),
        hanging: { url: `http://127.0.0.1:${hanging.port}/mcp`, timeouts: ENDLESS },
        ...Object.fromEntries(living.map(({ id, config }) => [id, config])),
        'dead-1': await dead(),
      },
    });
  });

  afterAll(async () => {
    await gateway?.close();
    await Promise.all(living.map((each) => each[Symbol.asyncDispose]()));
    await hanging?.[Symbol.asyncDispose]();
  });

  it('listens before any of them was reached, and is ready while one still hangs', async () => {
    expect(await fetch(`${gateway.origin}/healthz`)).toMatchObject({ status: 200 });
    await expect.poll(async () => (await readyz(gateway)).code, { timeout: 20_000 }).toBe(200);
    expect(await stateOf(gateway, 'hanging')).toBe('connecting');
  });

  describe.each(AGENTS)('a $era client', ({ connect }) => {
    it('is told all living tools while one upstream still hangs', async () => {
      await using agent = await connect(gateway.url);
      const names = await agent.untilNames((listed) => listed.length >= everything.length, 'tools', 20_000);
      expect(names).toEqual(everything);
      const { upstreams } = await readyz(gateway);
      const states = Object.entries(upstreams).map(([id, upstream]) => [id, upstream?.['state']]);
      expect(Object.fromEntries(states)).toEqual({
        'dead-0': 'backoff',
        hanging: 'connecting',
        ...Object.fromEntries(ids.map((id) => [id, 'ready'])),
        'dead-1': 'backoff',
      });
    });

    it('calls the last tool of each', async () => {
      await using agent = await connect(gateway.url);
      await agent.untilNames((listed) => listed.length >= everything.length, 'tools', 20_000);
      const answers = await Promise.all(ids.map((id) => agent.call(`${id}.whoami`)));
      expect(answers.map(({ structured }) => structured['id'])).toEqual(ids);
    });

    it('hears at once that a dead one is dead', async () => {
      await using agent = await connect(gateway.url);
      const { result } = await agent.request('tools/call', { name: 'dead-1.whoami', arguments: {} });
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('[dead-1]') }],
      });
    });
  });

  it.each(['v1', 'v2-auto'] as const)('serves the official client %s', async (label) => {
    await gateway.gateway.store.settled(ids, 20_000);
    await using client = await connectSdk(label, { url: gateway.url });
    expect((await client.listTools()).map((tool) => tool['name'])).toEqual(everything);
    expect(await client.callTool('up-16.whoami')).toMatchObject({ structuredContent: { id: 'up-16' } });
  });
});

describe('C-086: one dead upstream stops nothing', () => {
  const restart = { base: '20ms', cap: '50ms' };
  const impatient = { timeouts: { connect: '200ms', probe: '200ms' }, restart };

  /** Five sorts of dead, beside what is given. */
  async function startAmongDead(living: GatewayConfig['upstreams']) {
    const scope = new AsyncDisposableStack();
    const silent = scope.use(await silentPort());
    const healed = scope.use(await startHttpUpstream({ id: 'healed', tools: ['late'] }));
    const firewall = scope.use(await startFaultProxy(healed.port));
    firewall.blackhole();
    const reborn = scope.use(await startHttpUpstream({ id: 'reborn', tools: ['later'] }));
    await reborn.kill();
    const gateway = scope.adopt(
      await startGateway({
        lists: { firstWait: '200ms' },
        upstreams: {
          silent: { url: `http://127.0.0.1:${silent.port}/mcp`, timeouts: ENDLESS },
          blackholed: { url: firewall.url('/mcp'), ...impatient },
          refused: { url: reborn.url, restart },
          missing: { command: 'no-such-program-anywhere', restart },
          unsafe: { url: `https://127.0.0.1:${healed.port}/mcp`, restart },
          ...living,
        },
      }),
      (started) => started.close(),
    );
    return { scope, gateway, firewall, reborn };
  }

  it.each(AGENTS)('a $era client gets the healthy ones, and the dead when they come', async ({ connect }) => {
    await using one = await startHttpUpstream({ id: 'one', tools: ['a'] });
    await using two = await startStdioUpstream({ id: 'two', tools: ['b'] });
    const { scope, gateway, firewall, reborn } = await startAmongDead({ one: one.config, two: two.config });
    await using _all = scope;
    await using agent = await connect(gateway.url);
    await agent.untilNames((names) => names.join() === 'one.a,two.b');
    const { upstreams } = await readyz(gateway);
    expect(upstreams['silent']?.['state']).toBe('connecting');
    for (const id of ['refused', 'missing', 'unsafe']) {
      await expect
        .poll(() => readyz(gateway).then((ready) => ready.upstreams[id]), { timeout: 10_000 })
        .toMatchObject({
          lastError: expect.stringMatching(/^UPSTREAM_/),
          tools: 0,
        });
    }
    // A client of its own: what the first one was still to hear of earlier changes is not counted.
    await using listener = await connect(gateway.url);
    await using notices = await listener.listen({ tools: true });
    firewall.heal();
    await notices.next('notifications/tools/list_changed');
    expect(await agent.names()).toEqual(['blackholed.late', 'one.a', 'two.b']);
    await reborn.restart();
    await notices.next('notifications/tools/list_changed');
    expect(await agent.names()).toEqual(['blackholed.late', 'refused.later', 'one.a', 'two.b']);
    expect(notices.count('notifications/tools/list_changed')).toBe(2);
  });

  it.each(AGENTS)(
    'a $era client in front of none but dead gets an empty list, and what comes later',
    async (client) => {
      const { scope, gateway, reborn } = await startAmongDead({});
      await using _all = scope;
      const failed = async () => {
        const { upstreams } = await readyz(gateway);
        return ['blackholed', 'refused', 'missing', 'unsafe'].every(
          (id) => upstreams[id]?.['lastError'] !== undefined,
        );
      };
      await expect.poll(failed, { timeout: 10_000 }).toBe(true);
      expect(await readyz(gateway)).toMatchObject({ code: 503 });
      await using agent = await client.connect(gateway.url);
      expect(agent.hello['capabilities']).toMatchObject({ tools: { listChanged: true } });
      for (const kind of ['tools', 'prompts', 'resources', 'templates'] as const) {
        expect(await agent.list(kind)).toEqual([]);
      }
      await using notices = await agent.listen({ tools: true });
      await reborn.restart();
      await notices.next('notifications/tools/list_changed');
      expect(await agent.names()).toEqual(['refused.later']);
      expect(await readyz(gateway)).toMatchObject({ upstreams: { refused: { state: 'ready', tools: 1 } } });
    },
  );

  it.each(AGENTS)(
    'a $era client that comes after everybody has failed can still hear of them',
    async (client) => {
      await using late = await startHttpUpstream({ id: 'late', tools: ['x'] });
      await late.kill();
      await using gateway = await startGateway({ upstreams: { late: { url: late.url, restart } } });
      await gateway.gateway.settled();
      await using agent = await client.connect(gateway.url);
      expect(await agent.list('tools')).toEqual([]);
      await using notices = await agent.listen({ tools: true });
      await late.restart();
      await notices.next('notifications/tools/list_changed');
      expect(await agent.names()).toEqual(['late.x']);
    },
  );

  it.each(AGENTS)(
    'a gateway without upstreams is ready and offers a $era client nothing',
    async ({ connect }) => {
      await using gateway = await startGateway({ upstreams: {} });
      await using agent = await connect(gateway.url);
      expect(agent.hello['capabilities']).toEqual({});
      expect((await agent.request('tools/list')).error).toMatchObject({ code: -32601 });
      expect(await readyz(gateway)).toMatchObject({ code: 200, status: 'ready', upstreams: {} });
    },
  );
});
