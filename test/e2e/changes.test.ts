import { describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { META, tidyItem } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent, NoticeStream } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { connectSdk, SDK_CLIENTS } from '../kit/sdk-clients.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

const TOOLS = 'notifications/tools/list_changed';
const PROMPTS = 'notifications/prompts/list_changed';
const BASE: Script = { id: 'up', tools: ['a'], prompts: ['p'] };
const restart = { base: '20ms', cap: '50ms' };

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream, each: 10 },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream, each: 10 },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream, each: 10 },
  { carrier: 'http', era: 'modern', start: startHttpUpstream, each: 50 },
] as const;

/** A gateway in front of it, whose lists are read and whose changes would be heard. */
async function inFrontOf(up: ScriptedUpstream, more: JsonObject = {}): Promise<StartedGateway> {
  const gateway = await startGateway({ upstreams: { up: { ...up.config, restart, ...more } } });
  await gateway.gateway.settled();
  await up.untilListening();
  return gateway;
}

/** So many clients of both eras, each with its stream of notices open. */
async function audience(url: string, each: number): Promise<{ agent: Agent; stream: NoticeStream }[]> {
  const connects = Array.from({ length: each }, () => [connectLegacy, connectModern]).flat();
  return Promise.all(
    connects.map(async (connect) => {
      const agent = await connect(url);
      return { agent, stream: await agent.listen() };
    }),
  );
}

/** Lists after each notice, until the tool is there. */
async function untilListed(
  { agent, stream }: { agent: Agent; stream: NoticeStream },
  name: string,
): Promise<void> {
  while (!(await agent.names()).includes(name)) {
    await stream.next(TOOLS);
  }
}

const requests = (up: ScriptedUpstream, method: string, after: number) =>
  up.received.slice(after).filter((entry) => entry.method === method).length;

let fences = 0;

/** Changes the prompts and waits until all have heard: what was told before has arrived by then. */
async function fence(up: ScriptedUpstream, streams: readonly NoticeStream[]): Promise<void> {
  fences += 1;
  await up.setList('prompts', [`fence-${fences}`]);
  await up.notify('prompts');
  await Promise.all(streams.map((stream) => stream.next(PROMPTS)));
}

describe.each(FILLINGS)('an upstream of the $era era over $carrier', ({ era, start, each }) => {
  it(`C-021: adds a tool and removes one: ${each} legacy and ${each} modern streams are told once each, and list it so`, async () => {
    await using up = await start({ ...BASE, era });
    await using gateway = await inFrontOf(up);
    const heard = await audience(gateway.url, each);
    const streams = heard.map(({ stream }) => stream);
    await using silent = await connectLegacy(gateway.url);
    const after = up.mark();
    await up.addTool('late');
    await up.notify('tools');
    await Promise.all(streams.map((stream) => stream.next(TOOLS)));
    await fence(up, streams);
    expect(new Set(streams.map((stream) => stream.count(TOOLS)))).toEqual(new Set([1]));
    const lists = () => Promise.all([...heard, { agent: silent }].map(({ agent }) => agent.names()));
    expect(new Set((await lists()).map(String))).toEqual(new Set(['up.a,up.late']));
    await up.setTools(['late']);
    await up.notify('tools');
    await Promise.all(streams.map((stream) => stream.next(TOOLS)));
    await fence(up, streams);
    expect(new Set(streams.map((stream) => stream.count(TOOLS)))).toEqual(new Set([2]));
    expect(new Set((await lists()).map(String))).toEqual(new Set(['up.late']));
    expect(requests(up, 'tools/list', after)).toBe(2);
    await Promise.all(heard.map(({ agent }) => agent[Symbol.asyncDispose]()));
  });

  it('C-022: tells of changes 1,000 times: a handful of refetches, a few notices, the last state', async () => {
    await using up = await start({ ...BASE, era });
    await using gateway = await inFrontOf(up);
    const heard = await audience(gateway.url, 5);
    const streams = heard.map(({ stream }) => stream);
    const after = up.mark();
    for (const last of ['b', 'c']) {
      await up.setTools(['a', last]);
      await up.notify('tools', { times: 500 });
      await up.notify('prompts', { times: 500 });
    }
    await Promise.all(heard.map((each) => untilListed(each, 'up.c')));
    await fence(up, streams);
    expect(requests(up, 'tools/list', after)).toBeLessThanOrEqual(5);
    expect(requests(up, 'prompts/list', after)).toBeLessThanOrEqual(6);
    for (const stream of streams) {
      expect(stream.count(TOOLS)).toBeGreaterThan(0);
      expect(stream.count(TOOLS)).toBeLessThanOrEqual(3);
    }
    await Promise.all(heard.map(({ agent }) => agent[Symbol.asyncDispose]()));
  });

  it('tells of a change while its list is being read: it is read once more', async () => {
    await using up = await start({ ...BASE, era });
    await using gateway = await inFrontOf(up);
    await using agent = await connectModern(gateway.url);
    await using notices = await agent.listen();
    const tools = ['a', 'b'].map((name) => tidyItem('tools', name));
    const result = { tools, resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    const after = up.mark();
    await up.change({ faults: [{ on: 'tools/list', times: 1, do: { hold: 'walk', result } }] });
    await up.notify('tools');
    await up.untilReceived('tools/list', undefined, { after });
    await up.setTools(['a', 'b', 'c']);
    await up.notify('tools');
    // The fence is heard after that notice on the same channel, and while the first read still waits.
    await fence(up, [notices]);
    expect(notices.count(TOOLS)).toBe(0);
    await up.release('walk');
    await notices.next(TOOLS);
    expect(await agent.untilNames((names) => names.includes('up.c'))).toEqual(['up.a', 'up.b', 'up.c']);
    await fence(up, [notices]);
    expect(requests(up, 'tools/list', after)).toBe(2);
  });

  it.each(AGENTS)(
    'announces no changes: a $era client sees them once its ttl is over',
    async ({ connect }) => {
      // A legacy server gives no hint, so the configured ttl holds; a modern one says it itself.
      const hints = era === 'modern' ? { ttlMs: 100, cacheScope: 'public' } : {};
      const ttl = era === 'modern' ? '10m' : '100ms';
      await using up = await start({ ...BASE, era, hints, capabilities: { tools: {}, prompts: {} } });
      await using gateway = await startGateway({ upstreams: { up: { ...up.config, cache: { ttl } } } });
      await using agent = await connect(gateway.url);
      await agent.untilNames((names) => names.includes('up.a'));
      await up.setTools(['b']);
      expect(await agent.untilNames((names) => names.includes('up.b'))).toEqual(['up.b']);
    },
  );

  it('C-026: comes back with other tools: the difference is told once', async () => {
    await using up = await start({ ...BASE, era });
    await using gateway = await inFrontOf(up);
    const heard = await audience(gateway.url, 1);
    const streams = heard.map(({ stream }) => stream);
    await up.change({ tools: ['a', 'b'] });
    await crash(up);
    await Promise.all(streams.map((stream) => stream.next(TOOLS)));
    await up.untilListening({ times: 2 });
    await fence(up, streams);
    for (const { agent, stream } of heard) {
      expect(stream.count(TOOLS)).toBe(1);
      expect(await agent.names()).toEqual(['up.a', 'up.b']);
      await agent[Symbol.asyncDispose]();
    }
  });

  it('C-026: comes back, but its first list fails: the old one is marked, and read again', async () => {
    await using up = await start({ ...BASE, era });
    await using gateway = await inFrontOf(up);
    await using agent = await connectModern(gateway.url);
    await using notices = await agent.listen();
    const error = { code: -32603, message: 'still warming up' };
    const faults = [
      { on: 'tools/list', times: 1, do: { error } },
      { on: 'tools/list', times: 1, do: { hold: 'second try' } },
    ];
    await up.change({ tools: ['b'], faults });
    const after = up.mark();
    await crash(up);
    await up.untilReceived('tools/list', undefined, { after });
    const report = () => gateway.gateway.readiness().upstreams['up'];
    const state = () => report()?.state;
    await up.untilReceived('tools/list', undefined, { after, times: 2 });
    expect(state()).toBe('stale');
    expect(report()?.lastError).toBe('its tools could not be read: it answered with error -32603');
    expect(await agent.names()).toEqual(['up.a']);
    await up.release('second try');
    await notices.next(TOOLS);
    expect(await agent.names()).toEqual(['up.b']);
    expect(state()).toBe('ready');
    expect(report()?.lastError).toBeUndefined();
    expect((await agent.call('up.a')).text).toMatch(/^\[up\] This tool is not offered/);
  });
});

it.each(AGENTS)(
  'C-026: its stream of notices breaks: a $era client hears what changed meanwhile',
  async ({ connect }) => {
    await using up = await startHttpUpstream({ ...BASE, era: 'legacy' });
    await using gateway = await inFrontOf(up);
    await using agent = await connect(gateway.url);
    await using stream = await agent.listen();
    // Nobody is told: whoever has missed notices must look for himself.
    await up.setTools(['a', 'missed']);
    up.dropStreams();
    await untilListed({ agent, stream }, 'up.missed');
  },
);

/** Ends the upstream as a crash does; whoever restarts it gets the script of the moment. */
async function crash(up: ScriptedUpstream): Promise<void> {
  if ('restart' in up) {
    await (up as Awaited<ReturnType<typeof startHttpUpstream>>).restart();
  } else {
    await (up as Awaited<ReturnType<typeof startStdioUpstream>>).kill();
  }
}

describe.each(FILLINGS.filter(({ era }) => era === 'legacy'))(
  'C-024: a server over $carrier that declared no changes',
  ({ start }) => {
    it.each(AGENTS)(
      'notifies all the same: a $era client hears of what really changed',
      async ({ connect }) => {
        const capabilities = { tools: {}, prompts: { listChanged: true } };
        await using up = await start({ ...BASE, era: 'legacy', capabilities });
        await using gateway = await inFrontOf(up);
        await using agent = await connect(gateway.url);
        expect(agent.hello['capabilities']).toMatchObject({ tools: { listChanged: true } });
        await using notices = await agent.listen();
        await up.notify('tools', { force: true });
        await up.notify('resources', { force: true });
        await up.push({ jsonrpc: '2.0', method: 'notifications/com.example/news', params: { a: 1 } });
        await fence(up, [notices]);
        const told = notices.all.map(({ method }) => method);
        expect(told.filter((method) => method !== 'notifications/subscriptions/acknowledged')).toEqual([
          PROMPTS,
        ]);
        await up.addTool('late');
        await up.notify('tools', { force: true });
        await notices.next(TOOLS);
        expect(await agent.names()).toEqual(['up.a', 'up.late']);
      },
    );
  },
);

it.each(SDK_CLIENTS)('the official client %s hears of a change, and lists it', async (label) => {
  await using up = await startHttpUpstream(BASE);
  await using gateway = await inFrontOf(up);
  await using client = await connectSdk(label, gateway);
  await client.listen();
  let grown = 0;
  // Legacy clients open their stream when they like: until then nobody hears anything.
  const told = async () => {
    grown += 1;
    await up.addTool(`grown-${grown}`);
    await up.notify('tools');
    return client.notices.count(TOOLS);
  };
  await expect.poll(told, { interval: 100, timeout: 10_000 }).toBeGreaterThan(0);
  const names = async () => (await client.listTools()).map((tool) => tool['name']);
  await expect.poll(names, { timeout: 10_000 }).toContain(`up.grown-${grown}`);
});

describe('C-027: subscriptions/listen', () => {
  const subscriptionIds = (stream: NoticeStream) =>
    stream.all.map((message) => objectAt(objectAt(message, 'params'), '_meta')?.[META.subscription]);

  it('acknowledges first, in the exact type of each id, and never mixes streams up', async () => {
    await using up = await startHttpUpstream(BASE);
    await using gateway = await inFrontOf(up);
    await using agent = await connectModern(gateway.url);
    await using tools = await agent.listen({ tools: true }, { id: 1 });
    await using prompts = await agent.listen({ prompts: true }, { id: '1' });
    expect(tools.acknowledged).toMatchObject({ notifications: { toolsListChanged: true } });
    expect(prompts.acknowledged).toMatchObject({ notifications: { promptsListChanged: true } });
    await up.addTool('late');
    await up.notify('tools');
    await tools.next(TOOLS);
    await fence(up, [prompts]);
    await up.addTool('later');
    await up.notify('tools');
    await tools.next(TOOLS);
    const methods = (stream: NoticeStream) => stream.all.map(({ method }) => method).slice(1);
    expect([methods(tools), methods(prompts)]).toEqual([[TOOLS, TOOLS], [PROMPTS]]);
    expect([subscriptionIds(tools), subscriptionIds(prompts)]).toEqual([
      [1, 1, 1],
      ['1', '1'],
    ]);
  });

  it('ends with a result that carries the subscription id when the gateway shuts down', async () => {
    await using up = await startHttpUpstream(BASE);
    await using gateway = await inFrontOf(up);
    await using modern = await connectModern(gateway.url);
    await using legacy = await connectLegacy(gateway.url);
    const first = await modern.listen({ tools: true }, { id: 0 });
    const second = await modern.listen({ prompts: true }, { id: 'zero' });
    const third = await legacy.listen();
    await gateway.close();
    for (const [stream, id] of [
      [first, 0],
      [second, 'zero'],
    ] as const) {
      const { result, ended } = await stream.closed;
      expect(result).toMatchObject({ resultType: 'complete', _meta: { [META.subscription]: id } });
      expect(ended).toBe('whole');
    }
    expect(await third.closed).toMatchObject({ ended: 'whole', messages: [] });
  });

  it.each([
    { carrier: 'http', how: 'result', start: startHttpUpstream },
    { carrier: 'http', how: 'cut', start: startHttpUpstream },
    { carrier: 'http', how: 'cancelled', start: startHttpUpstream },
    { carrier: 'stdio', how: 'result', start: startStdioUpstream },
    { carrier: 'stdio', how: 'cancelled', start: startStdioUpstream },
  ] as const)(
    'of the gateway, ended over $carrier by $how: it listens again, and lists again',
    async ({ how, start }) => {
      await using up = await start({ ...BASE, era: 'modern' });
      await using gateway = await inFrontOf(up);
      await using agent = await connectModern(gateway.url);
      const after = up.mark();
      // Not announced: only who lists again can see it.
      await up.setTools(['a', 'meanwhile']);
      await up.endListens(how);
      await up.untilListening({ after });
      expect(await agent.untilNames((names) => names.length > 1)).toEqual(['up.a', 'up.meanwhile']);
      await using notices = await agent.listen();
      await up.addTool('later');
      await up.notify('tools');
      await notices.next(TOOLS);
      expect(await agent.names()).toEqual(['up.a', 'up.meanwhile', 'up.later']);
    },
  );

  it('of the gateway, acknowledged late: what changed before is not lost', async () => {
    await using up = await startHttpUpstream({
      ...BASE,
      era: 'modern',
      faults: [{ on: 'subscriptions/listen', do: { hold: 'late' } }],
    });
    await using gateway = await inFrontOf(up, { timeouts: { probe: '100ms' } });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.includes('up.a'));
    await up.setTools(['a', 'meanwhile']);
    expect(await up.release('late')).toBe(1);
    expect(await agent.untilNames((names) => names.length > 1)).toEqual(['up.a', 'up.meanwhile']);
  });
});
