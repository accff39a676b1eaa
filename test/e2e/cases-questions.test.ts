import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent, NoticeStream } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import type { Recorded } from '../kit/recorder.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const CARRIERS = [
  { carrier: 'stdio', start: startStdioUpstream },
  { carrier: 'http', start: startHttpUpstream },
] as const;

const TOOLS = 'notifications/tools/list_changed';
const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const saying = (name: string) => ({
  capabilities: everything,
  answers: { 'elicitation/create': () => ({ action: 'accept', content: { name } }) },
});
const questions = (messages: readonly JsonObject[]) =>
  messages.filter((each) => 'method' in each && 'id' in each);
const responseTo = (id: number) => (entry: Recorded) => entry.id === id;

describe.each(CARRIERS)(
  'C-067: a question on a connection over $carrier that everybody shares',
  ({ start }) => {
    let up: ScriptedUpstream;
    let gateway: StartedGateway;
    let agents: Agent[];
    let streams: NoticeStream[];

    beforeAll(async () => {
      up = await start({ id: 'up', era: 'legacy', tools: ['ask', 'slow', 'echo', 'log'] });
      gateway = await startGateway({ upstreams: { up: up.config } });
      await gateway.gateway.settled();
      await up.untilListening();
      agents = await Promise.all([
        connectLegacy(gateway.url, saying('Ada')),
        connectLegacy(gateway.url, saying('Bob')),
        connectModern(gateway.url, saying('Eve')),
      ]);
      streams = await Promise.all(agents.map((agent) => agent.listen()));
    });

    afterAll(async () => {
      await Promise.all((agents ?? []).map((agent) => agent[Symbol.asyncDispose]()));
      await gateway?.close();
      await up?.[Symbol.asyncDispose]();
    });

    /** What was told before the tools changed has arrived by then. */
    const fence = async (name: string) => {
      await up.addTool(name);
      await up.notify('tools');
      await Promise.all(streams.map((stream) => stream.next(TOOLS)));
    };

    it.each(['call', 'shared'])(
      'is refused at once while two have calls (asked on: %s); nobody is asked',
      async (on) => {
        const label = `busy-${on}`;
        const busy = agents
          .slice(1)
          .map((agent) => agent.begin('tools/call', { name: 'up.slow', arguments: { label } }));
        await up.untilReceived(
          'tools/call',
          ({ params }) => objectAt(params, 'arguments')?.['label'] === label,
          { times: 2 },
        );
        const asked = await agents[0]?.call('up.ask', { kind: 'elicitation', always: true, on });
        expect(asked?.structured).toMatchObject({ answers: [{ error: { code: -32601 } }] });
        expect(await up.release(label)).toBe(2);
        for (const { done } of busy) {
          const answer = await done;
          expect(answer.result).toMatchObject({ structuredContent: { done: true } });
          expect(questions(answer.messages)).toEqual([]);
        }
        await fence(`after-${on}`);
        expect(streams.flatMap(({ all }) => questions(all))).toEqual([]);
      },
    );

    it('is refused at once while nobody has a call', async () => {
      const ask = (id: number, method: string) => up.push({ jsonrpc: '2.0', id, method, params: {} });
      await ask(901, 'elicitation/create');
      await ask(902, 'sampling/createMessage');
      await ask(903, 'roots/list');
      await ask(904, 'ping');
      await ask(905, 'com.example/anything');
      for (const id of [901, 902, 903, 905]) {
        const { message } = await up.untilReceived('$response', responseTo(id));
        expect(message).toMatchObject({ error: { code: -32601 } });
      }
      expect((await up.untilReceived('$response', responseTo(904))).message).toEqual({
        jsonrpc: '2.0',
        id: 904,
        result: {},
      });
      await fence('after-nobody');
      expect(streams.flatMap(({ all }) => questions(all))).toEqual([]);
    });

    it('and log messages that belong to nobody reach nobody', async () => {
      await up.push({
        jsonrpc: '2.0',
        method: 'notifications/message',
        params: { level: 'emergency', data: 'whose?' },
      });
      await fence('after-log');
      expect(JSON.stringify(streams.map(({ all }) => all))).not.toContain('whose?');
    });
  },
);

describe.each(CARRIERS)('C-067: with a connection of its own over $carrier', ({ start }) => {
  it('each session is asked its own questions, at the same time as others', async () => {
    await using up = await start({ id: 'up', era: 'legacy', tools: ['ask', 'count'] });
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, isolation: 'session' } } });
    const names = ['Ada', 'Bob', 'Cy'];
    const agents = await Promise.all(names.map((name) => connectLegacy(gateway.url, saying(name))));
    const answers = await Promise.all(
      agents.flatMap((agent) => [0, 1].map(() => agent.call('up.ask', { kind: 'elicitation' }))),
    );
    const told = answers.map(({ structured }) => JSON.stringify(structured));
    expect(told.map((text) => names.filter((name) => text.includes(name)))).toEqual(
      names.flatMap((name) => [[name], [name]]),
    );
    for (const agent of agents) {
      expect((await agent.call('up.count')).structured).toEqual({ count: 1 });
    }
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  });
});

const ISOLATIONS = CARRIERS.flatMap((carrier) => [
  { ...carrier, isolation: 'shared' },
  { ...carrier, isolation: 'user' },
]);

describe.each(ISOLATIONS)(
  'C-069: a client that can answer nothing, over $carrier ($isolation)',
  ({ start, isolation }) => {
    let up: ScriptedUpstream;
    let gateway: StartedGateway;

    beforeAll(async () => {
      up = await start({ id: 'up', era: 'legacy', tools: ['ask'] });
      gateway = await startGateway({ upstreams: { up: { ...up.config, isolation } } });
      await gateway.gateway.settled();
    });

    afterAll(async () => {
      await gateway?.close();
      await up?.[Symbol.asyncDispose]();
    });

    describe.each(AGENTS)('a $era client', ({ connect }) => {
      it.each([
        { kind: 'roots', answer: { error: { code: -32601 } } },
        { kind: 'sampling', answer: { error: { code: -32601 } } },
        { kind: 'elicitation', answer: { error: { code: -32601 } } },
        { kind: 'com.example/anything', answer: { error: { code: -32601 } } },
        { kind: 'ping', answer: { result: {} } },
      ])('$kind is answered at once, and the call goes on', async ({ kind, answer }) => {
        await using agent = await connect(gateway.url);
        for (const on of ['call', 'shared']) {
          const asked = await agent.call('up.ask', { kind, always: true, on });
          expect(asked.structured).toMatchObject({ answers: [answer] });
          expect(questions(asked.answer.messages)).toEqual([]);
        }
      });
    });

    it('none of it was announced', () => {
      const declared = up.received
        .filter(({ method }) => method === 'initialize')
        .map(({ params }) => params['capabilities']);
      expect(declared.length).toBeGreaterThan(0);
      expect(new Set(declared.map((each) => JSON.stringify(each)))).toEqual(new Set(['{}']));
    });
  },
);

describe.each(CARRIERS)('C-070: what a modern server over $carrier is told of the client', ({ start }) => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await start({
      id: 'up',
      era: 'modern',
      tools: ['ask', 'whoami'],
      prompts: ['p'],
      resources: ['note://x'],
    });
    gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  const DECLARED: readonly (readonly [JsonObject, JsonObject])[] = [
    [{}, {}],
    [{ elicitation: {} }, { elicitation: {} }],
    [
      { elicitation: { form: {}, url: {} }, sampling: { tools: {} } },
      { elicitation: { form: {}, url: {} }, sampling: { tools: {} } },
    ],
    // Nobody could say that the roots changed, and nobody knows what the rest means.
    [{ roots: { listChanged: true }, experimental: { x: {} }, tasks: {}, 'com.example': {} }, { roots: {} }],
  ];

  it.each(AGENTS)(
    'with each request: what a $era client declared, cut to what can be carried',
    async ({ connect, era }) => {
      for (const [capabilities, seen] of DECLARED) {
        await using agent = await connect(gateway.url, { capabilities });
        const { structured } = await agent.call('up.whoami');
        const { listChanged: _, ...roots } = objectAt(structured['capabilities'], 'roots') ?? {};
        const told = structured['capabilities'] as JsonObject;
        expect('roots' in told ? { ...told, roots } : told).toEqual(seen);
        expect(structured['clientInfo']).toMatchObject({ name: `${era}-agent` });
        const after = up.mark();
        await agent.result('prompts/get', { name: 'up.p' });
        const { params } = await up.untilReceived('prompts/get', undefined, { after });
        const declared = Object.keys(objectAt(objectAt(params, '_meta'), META.capabilities) ?? {});
        expect(declared.toSorted()).toEqual(Object.keys(seen).toSorted());
      }
    },
  );

  it('in traffic of its own: that it has none', async () => {
    await up.addTool('more');
    await up.notify('tools');
    await using agent = await connectModern(gateway.url, { capabilities: everything });
    await agent.untilNames((names) => names.includes('up.more'));
    await agent.list('resources');
    const own = up.received.filter(({ method }) => /list$|discover$|listen$/.test(method));
    expect(new Set(own.map(({ method }) => method))).toEqual(
      new Set([
        'server/discover',
        'subscriptions/listen',
        'tools/list',
        'prompts/list',
        'resources/list',
        'resources/templates/list',
      ]),
    );
    for (const { params, method } of own) {
      const meta = objectAt(params, '_meta') ?? {};
      expect(meta[META.capabilities], method).toEqual({});
      expect(meta[META.clientInfo], method).toMatchObject({ name: 'patchbay' });
    }
  });

  it('-32021 reaches a modern client as it is, and a legacy one as an error it can read', async () => {
    const params = { name: 'up.ask', arguments: { kind: 'elicitation' } };
    await using modern = await connectModern(gateway.url);
    const { status, error } = await modern.request('tools/call', params);
    expect([status, error]).toMatchObject([
      400,
      { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    ]);
    await using legacy = await connectLegacy(gateway.url);
    const answer = await legacy.request('tools/call', params);
    expect([answer.status, answer.error]).toMatchObject([
      200,
      { code: -32603, message: expect.stringMatching(/capability/i) },
    ]);
  });

  it('a legacy client that declared elicitation is asked, and so can use what needs it', async () => {
    await using agent = await connectLegacy(gateway.url, saying('Ada'));
    const { structured } = await agent.call('up.ask', { kind: 'elicitation' });
    expect(structured).toMatchObject({ answers: [{ result: { content: { name: 'Ada' } } }] });
  });
});
