import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { KIND_FACTS, KINDS, type Kind } from '../../src/protocol/model.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { connectSdk, SDK_CLIENTS } from '../kit/sdk-clients.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

const bare = { logging: null, completions: null };
const refusal = { error: { code: -32601, message: 'Method not found' } };
const LISTS = KINDS.map((kind) => KIND_FACTS[kind].list);
const capabilitiesIn = (hello: JsonObject) => hello['capabilities'] as JsonObject;

describe.each([{ era: 'legacy' }, { era: 'modern' }] as const)(
  'C-091: servers of the $era era that lack something',
  ({ era }) => {
    const scripts: readonly Script[] = [
      { id: 'tools-only', tools: ['echo'], capabilities: bare },
      { id: 'prompts-only', prompts: ['greet'], capabilities: bare },
      {
        id: 'liar',
        tools: ['fine'],
        resources: ['note://x'],
        capabilities: bare,
        faults: [
          { on: 'resources/list', do: refusal },
          { on: 'resources/templates/list', do: refusal },
        ],
      },
      { id: 'shy', tools: ['fine'], prompts: ['secret'], capabilities: { ...bare, prompts: null } },
      {
        id: 'null',
        tools: ['fine'],
        capabilities: { ...bare, prompts: false, resources: 'yes', completions: 0 },
      },
    ];
    let ups: ScriptedUpstream[];
    let gateway: StartedGateway;

    beforeAll(async () => {
      ups = await Promise.all(
        scripts.map((script, n) => (n === 0 ? startStdioUpstream : startHttpUpstream)({ ...script, era })),
      );
      gateway = await startGateway({
        upstreams: Object.fromEntries(ups.map(({ id, config }) => [id, config])),
      });
      await gateway.gateway.settled();
    });

    afterAll(async () => {
      await gateway?.close();
      await Promise.all((ups ?? []).map((up) => up[Symbol.asyncDispose]()));
    });

    const asked = (id: string) => {
      const methods = ups.find((up) => up.id === id)?.received.map(({ method }) => method) ?? [];
      return LISTS.filter((list) => methods.includes(list));
    };

    it.each(AGENTS)(
      'a $era client gets what each has; no server costs another anything',
      async ({ connect }) => {
        await using agent = await connect(gateway.url);
        expect(await agent.names()).toEqual(['tools-only.echo', 'liar.fine', 'shy.fine', 'null.fine']);
        expect(await agent.names('prompts')).toEqual(['prompts-only.greet']);
        expect(await agent.names('resources')).toEqual([]);
        expect(await agent.names('templates')).toEqual([]);
        expect(Object.keys(capabilitiesIn(agent.hello)).toSorted()).toEqual([
          'prompts',
          'resources',
          'tools',
        ]);
      },
    );

    it('nobody is asked for what it did not declare', async () => {
      await expect.poll(() => asked('tools-only')).toEqual(['tools/list']);
      expect(asked('prompts-only')).toEqual(['prompts/list']);
      expect(asked('liar')).toEqual(['tools/list', 'resources/list', 'resources/templates/list']);
      expect(asked('shy')).toEqual(['tools/list']);
      expect(asked('null')).toEqual(['tools/list']);
      const { upstreams } = gateway.gateway.readiness();
      expect(Object.values(upstreams).map(({ state }) => state)).toEqual(scripts.map(() => 'ready'));
    });

    it.each(AGENTS)('a $era client is told -32601 for what none of them has', async (client) => {
      await using agent = await client.connect(gateway.url);
      const ref = {
        ref: { type: 'ref/prompt', name: 'prompts-only.greet' },
        argument: { name: 'topic', value: 'x' },
      };
      const { status, error } = await agent.request('completion/complete', ref);
      expect([status, error?.code]).toEqual([client.era === 'modern' ? 404 : 200, -32601]);
    });

    it('a legacy client is told the same of log levels', async () => {
      await using agent = await connectLegacy(gateway.url);
      expect((await agent.request('logging/setLevel', { level: 'info' })).error?.code).toBe(-32601);
      expect(await agent.result('ping')).toEqual({});
    });
  },
);

describe('C-091: lists that nobody has', () => {
  const WANTED: readonly (readonly [Kind, Script])[] = [
    ['tools', { prompts: ['p'] }],
    ['prompts', { tools: ['t'] }],
    ['resources', { tools: ['t'] }],
    ['templates', { tools: ['t'] }],
  ];

  it.each(WANTED)('%s: the same -32601 in both eras, once that is known', async (kind, script) => {
    await using up = await startHttpUpstream({ id: 'up', ...script, capabilities: bare });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
    await using legacy = await connectLegacy(gateway.url);
    await using modern = await connectModern(gateway.url);
    const { list, capability } = KIND_FACTS[kind];
    for (const agent of [legacy, modern]) {
      expect(capabilitiesIn(agent.hello)).not.toHaveProperty(capability);
      const { status, error } = await agent.request(list);
      expect([status, error?.code]).toEqual([agent.era === 'modern' ? 404 : 200, -32601]);
    }
    expect(up.count(list)).toBe(0);
  });

  it.each(SDK_CLIENTS)('the official client %s takes what is declared for what there is', async (label) => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['echo'], capabilities: bare });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
    await using client = await connectSdk(label, { url: gateway.url });
    expect(Object.keys(client.capabilities)).toEqual(['tools']);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['up.echo']);
  });
});

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

describe.each(FILLINGS)('C-101: in front of a $era upstream over $carrier', ({ carrier, era, start }) => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await start({
      id: 'up',
      era,
      tools: ['echo', 'log'],
      prompts: ['greet'],
      resources: ['note://x'],
      capabilities: { resources: { subscribe: true, listChanged: true } },
    });
    gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
    await up.untilListening();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  it('a legacy client: ping, level, subscribe and unknown things are answered in its own words', async () => {
    await using agent = await connectLegacy(gateway.url);
    expect(await agent.result('ping')).toEqual({});
    expect(await agent.result('logging/setLevel', { level: 'info' })).toEqual({});
    expect((await agent.request('logging/setLevel', { level: 'loud' })).error?.code).toBe(-32602);
    expect(await agent.result('resources/subscribe', { uri: 'note://x' })).toEqual({});
    expect(await agent.result('resources/unsubscribe', { uri: 'note://x' })).toEqual({});
    const listed = await agent.result('tools/list');
    expect(Object.keys(listed)).toEqual(['tools']);
    const missing = await agent.request('resources/read', { uri: 'note://nowhere' });
    expect([missing.status, missing.error]).toMatchObject([
      200,
      { code: -32002, data: { uri: 'note://nowhere' } },
    ]);
    const strange = await agent.request('com.example/strange');
    expect([strange.status, strange.error?.code]).toEqual([200, -32601]);
    for (const method of ['server/discover', 'subscriptions/listen']) {
      expect((await agent.request(method)).error?.code, method).toBe(-32601);
    }
    const unknown = await agent.request('tools/call', { name: 'up.nobody', arguments: {} });
    expect([unknown.status, unknown.error?.code]).toEqual([200, -32602]);
    const called = await agent.call('up.echo', { n: 1 });
    expect(called.result).not.toHaveProperty('resultType');
  });

  it('a modern client: everything is complete and hinted, and the old methods do not exist', async () => {
    await using agent = await connectModern(gateway.url);
    const list = await agent.result('tools/list');
    expect(list).toMatchObject({
      resultType: 'complete',
      ttlMs: expect.any(Number),
      cacheScope: expect.any(String),
    });
    const read = await agent.result('resources/read', { uri: 'note://x' });
    expect(read).toMatchObject({
      resultType: 'complete',
      ttlMs: expect.any(Number),
      cacheScope: expect.any(String),
    });
    const called = await agent.call('up.echo', { n: 1 });
    expect(called.result).toMatchObject({ resultType: 'complete' });
    expect(called.result).not.toHaveProperty('ttlMs');
    expect(objectAt(called.result, '_meta')?.[META.serverInfo]).toMatchObject({ name: 'patchbay' });
    for (const method of [
      'ping',
      'initialize',
      'logging/setLevel',
      'resources/subscribe',
      'resources/unsubscribe',
      'com.example/strange',
    ]) {
      const { status, error } = await agent.request(method, { uri: 'note://x', level: 'info' });
      expect([status, error?.code], method).toEqual([404, -32601]);
    }
    const missing = await agent.request('resources/read', { uri: 'note://nowhere' });
    expect(missing.error).toMatchObject({ code: -32602, data: { uri: 'note://nowhere' } });
    const unknown = await agent.request('tools/call', { name: 'up.nobody', arguments: {} });
    expect(unknown.error?.code).toBe(-32602);
  });

  it('log messages come to who asked for them, and to nobody else', async () => {
    await using silent = await connectModern(gateway.url);
    await using curious = await connectModern(gateway.url, { logLevel: 'info' });
    await using deaf = await connectModern(gateway.url, { logLevel: 'error' });
    await using legacy = await connectLegacy(gateway.url);
    await legacy.result('logging/setLevel', { level: 'info' });
    const heard = async (agent: typeof legacy) =>
      (await agent.call('up.log', { level: 'warning', data: 'x', always: true })).logs.map(
        ({ data }) => data,
      );
    expect(await heard(silent)).toEqual([]);
    expect(await heard(deaf)).toEqual([]);
    // On the one pipe of an old server nothing says whose they are (C-067).
    const told = carrier === 'stdio' && era === 'legacy' ? [] : ['x'];
    expect(await heard(curious)).toEqual(told);
    expect(await heard(legacy)).toEqual(told);
  });

  it('one handshake serves them all, and the upstream hears only its own era', async () => {
    const agents = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? connectModern : connectLegacy)(gateway.url)),
    );
    await Promise.all(agents.map((agent, n) => agent.call('up.echo', { n })));
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
    const methods = up.received.map(({ method }) => method);
    expect(methods.filter((method) => method === 'initialize')).toHaveLength(era === 'legacy' ? 1 : 0);
    expect(methods.filter((method) => method === 'server/discover').length).toBeLessThanOrEqual(1);
    const foreign =
      era === 'modern'
        ? /^(ping|initialize|notifications\/initialized|logging\/|resources\/(un)?subscribe|\$GET|\$DELETE)/
        : /^subscriptions\//;
    expect(methods.filter((method) => foreign.test(method))).toEqual([]);
    expect(up.starts).toBe(1);
    const requests = up.received.filter(
      ({ id, method }) => id !== undefined && !/^(\$response|server\/discover)$/.test(method),
    );
    for (const { params, headers, method } of requests) {
      const meta = objectAt(params, '_meta') ?? {};
      if (era === 'legacy') {
        expect(
          Object.keys(meta).filter((key) => key.startsWith('io.modelcontextprotocol/')),
          method,
        ).toEqual([]);
        continue;
      }
      expect(meta, method).toMatchObject({ [META.version]: '2026-07-28', [META.capabilities]: {} });
      if (carrier === 'http') {
        const named = params['name'] ?? params['uri'];
        expect(headers, method).toMatchObject({
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          ...(named === undefined ? {} : { 'mcp-name': named }),
        });
        expect(headers).not.toHaveProperty('mcp-session-id');
      }
    }
  });
});
