import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { CLOSED } from '../fixtures/upstreams/scripted-peer.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Exchange } from '../kit/http-exchange.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { everythingStdio, type RealHttp, startEverythingHttp } from '../kit/real-servers.ts';
import type { Recorded } from '../kit/recorder.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const PROGRESS = 'notifications/progress';
const TOOLS_CHANGED = 'notifications/tools/list_changed';
const CANCELLED = 'notifications/cancelled';

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream, clients: 200 },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream, clients: 40 },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream, clients: 40 },
  { carrier: 'http', era: 'modern', start: startHttpUpstream, clients: 40 },
] as const;

const argumentsOf = ({ params }: Recorded) => objectAt(params, 'arguments') ?? {};
const tokenOf = ({ params }: Recorded) => objectAt(params, '_meta')?.['progressToken'];
const tagged = (tag: unknown) => (entry: Recorded) => argumentsOf(entry)['tag'] === tag;

describe.each(FILLINGS)('in front of a $era upstream over $carrier', ({ carrier, era, start, clients }) => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await start({ id: 'up', era, tools: ['echo', 'slow', 'progress', 'log'] });
    const limits = { concurrency: 1_000, queue: 1_000 };
    gateway = await startGateway({ upstreams: { up: { ...up.config, limits } } });
    await gateway.gateway.settled();
    await up.untilListening();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  const begin = (agent: Agent, tool: string, args: JsonObject, options = {}): Exchange =>
    agent.begin('tools/call', { name: `up.${tool}`, arguments: args }, options);

  it(`C-059, C-061: ${clients} clients with the same ids and tokens at once each get their own, and nothing else`, async () => {
    const open = async (n: number) => {
      if (n % 2 === 1) {
        return connectModern(gateway.url, { logLevel: 'info' });
      }
      const agent = await connectLegacy(gateway.url);
      await agent.result('logging/setLevel', { level: 'info' });
      return agent;
    };
    const agents = await Promise.all(Array.from({ length: clients }, (_, n) => open(n)));
    const tokens = [1, '1', 0, undefined];
    const token = (n: number) => tokens[Math.floor(n / 2) % tokens.length];
    const calls = agents.map((agent, n) => {
      const given = token(n);
      const asked = given === undefined ? { id: 1 } : { id: 1, progressToken: given };
      return {
        slow: agent.call('up.slow', { label: 'all', tag: `slow-${n}`, steps: true, values: [n + 1] }, asked),
        echo: agent.call('up.echo', { tag: `echo-${n}` }, { id: '1' }),
        log: agent.call('up.log', { tag: `log-${n}`, data: `log-${n}` }, { id: 2 }),
      };
    });
    const isSlow = ({ params }: Recorded) => params['name'] === 'slow';
    await up.untilReceived('tools/call', isSlow, { times: clients, timeout: 25_000 });
    expect(await up.release('all')).toBe(clients);
    for (const [n, { slow, echo, log }] of calls.entries()) {
      const answers = [await slow, await echo, await log] as const;
      expect(answers[0].structured).toEqual({ done: `slow-${n}` });
      expect(answers[1].structured).toEqual({ tag: `echo-${n}` });
      const progress = [{ progressToken: token(n), progress: n + 1, message: 'step 1' }];
      expect(answers[0].progress).toEqual(token(n) === undefined ? [] : progress);
      const data = answers[2].logs.map((each) => each['data']);
      // Over stdio little says whose log message it is; then nobody gets it (case C-067).
      expect(carrier === 'http' || data.length > 0 ? data : [`log-${n}`]).toEqual([`log-${n}`]);
      const ids = answers.map(({ answer }) => answer.messages.at(-1)?.['id']);
      expect(ids).toEqual([1, '1', 2]);
      const messages = answers.map(({ answer }) => answer.messages.length);
      expect(messages).toEqual([1 + answers[0].progress.length, 1, 1 + data.length]);
    }
    const received = up.received.filter(({ method }) => method === 'tools/call');
    const unique = (values: readonly unknown[]) => new Set(values.map((value) => JSON.stringify(value))).size;
    expect(unique(received.filter(isSlow).map(tokenOf))).toBe(clients);
    expect(unique(received.map(({ id }) => id))).toBe(received.length);
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  });

  describe.each(AGENTS)('a $era client', ({ era: client, connect }) => {
    it('C-061: reuses one id in parallel: each request gets its own result, in any order', async () => {
      await using agent = await connect(gateway.url);
      await using other = await connect(gateway.url);
      const asked = [agent, agent, other].map((each, n) =>
        begin(each, 'slow', { label: `${client}-${n}`, tag: `${client}-${n}` }, { id: 1 }),
      );
      await Promise.all(asked.map((_, n) => up.untilReceived('tools/call', tagged(`${client}-${n}`))));
      for (const n of [1, 2, 0]) {
        await up.release(`${client}-${n}`);
        const answer = await asked[n]?.done;
        expect(answer?.result).toMatchObject({ structuredContent: { done: `${client}-${n}` } });
        expect(answer?.messages).toHaveLength(1);
      }
    });

    it('C-060: hears no progress that is late, unasked, invented or going backwards', async () => {
      await using agent = await connect(gateway.url);
      await using notices = await agent.listen();
      const progress = async (args: JsonObject, progressToken?: string) => {
        const given = progressToken === undefined ? {} : { progressToken };
        const { progress: heard, answer } = await agent.call('up.progress', args, given);
        expect(answer.messages.at(-1)).toMatchObject({ result: { structuredContent: {} } });
        return heard.map((each) => each['progress']);
      };
      expect(await progress({ values: [1, 2, 2, 1, 3, 2.5], tag: client }, 'mine')).toEqual([1, 2, 3]);
      expect(await progress({ steps: 3 })).toEqual([]);
      expect(await progress({ steps: 3, token: 'invented' }, 'mine')).toEqual([]);
      expect(await progress({ steps: 3, token: 999_999 }, 'mine')).toEqual([]);
      const progressToken = tokenOf(await up.untilReceived('tools/call', tagged(client)));
      await up.push({ jsonrpc: '2.0', method: PROGRESS, params: { progressToken, progress: 4 } });
      // Told after it on the same channel.
      await up.addTool(`after-${client}`);
      await up.notify('tools');
      await notices.next(TOOLS_CHANGED);
      expect(notices.count(PROGRESS)).toBe(0);
    });

    it('C-060: gets a flood of progress thinned, in order and with its end', async () => {
      await using agent = await connect(gateway.url);
      const { progress, structured } = await agent.call(
        'up.progress',
        { steps: 2_000 },
        { progressToken: 0 },
      );
      expect(structured).toEqual({ steps: 2_000 });
      const values = progress.map((each) => Number(each['progress']));
      expect(values).toEqual(values.toSorted((one, two) => one - two));
      expect(values.at(-1)).toBe(2_000);
      expect(values.length).toBeLessThan(1_000);
    });

    it('C-063: gives one call up: the upstream hears of that one, and nobody else is touched', async () => {
      await using agent = await connect(gateway.url);
      await using other = await connect(gateway.url);
      const label = `cancel-${client}`;
      const given = begin(agent, 'slow', { label, tag: `${label}-given` }, { id: 101 });
      const kept = begin(agent, 'slow', { label, tag: `${label}-kept` }, { id: 102 });
      const foreign = begin(other, 'slow', { label, tag: `${label}-foreign` }, { id: 101 });
      const { id } = await up.untilReceived('tools/call', tagged(`${label}-given`));
      await up.untilReceived('tools/call', tagged(`${label}-kept`));
      await up.untilReceived('tools/call', tagged(`${label}-foreign`));
      await agent.cancel(given);
      const sign = era === 'modern' && carrier === 'http' ? CLOSED : CANCELLED;
      await up.untilReceived(sign, ({ params }) => params['requestId'] === id);
      expect((await given.done).result).toBeUndefined();
      expect(await up.release(label)).toBe(2);
      for (const [call, tag] of [
        [kept, 'kept'],
        [foreign, 'foreign'],
      ] as const) {
        expect((await call.done).result).toMatchObject({ structuredContent: { done: `${label}-${tag}` } });
      }
    });
  });

  it('C-067: gives a log message that may be about a call given up to nobody', async () => {
    await using gone = await connectModern(gateway.url, { logLevel: 'debug' });
    await using next = await connectModern(gateway.url, { logLevel: 'debug' });
    const given = begin(gone, 'slow', { label: 'gone', tag: 'gone' });
    const { id } = await up.untilReceived('tools/call', tagged('gone'));
    await gone.cancel(given);
    await up.untilReceived([CANCELLED, CLOSED], ({ params }) => params['requestId'] === id);
    const call = next.call('up.slow', { label: 'next', tag: 'next' });
    await up.untilReceived('tools/call', tagged('next'));
    await up.push({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'error', data: 'of the one who is gone' },
    });
    await up.release('next');
    expect(await call).toMatchObject({ structured: { done: 'next' }, logs: [] });
  });

  it('C-063: a legacy client cancels what is unknown, finished, foreign or its handshake: 202, and nothing happens', async () => {
    await using agent = await connectLegacy(gateway.url);
    await using other = await connectLegacy(gateway.url);
    const running = begin(other, 'slow', { label: 'foreign', tag: 'foreign' }, { id: 7 });
    await up.untilReceived('tools/call', tagged('foreign'));
    const finished = await agent.request('tools/call', { name: 'up.echo', arguments: {} }, { id: 8 });
    expect(finished.result).toBeDefined();
    const after = up.mark();
    for (const requestId of ['nobody', 8, 7, 0, null, undefined, { id: 7 }]) {
      const answer = await agent.notify(CANCELLED, requestId === undefined ? {} : { requestId });
      expect([answer.status, answer.text]).toEqual([202, '']);
    }
    await agent.call('up.echo', { tag: 'afterwards' });
    await up.untilReceived('tools/call', tagged('afterwards'));
    const heard = up.received.slice(after).map(({ method }) => method);
    expect(heard.filter((method) => method === CANCELLED || method === CLOSED)).toEqual([]);
    expect(await up.release('foreign')).toBe(1);
    expect((await running.done).result).toMatchObject({ structuredContent: { done: 'foreign' } });
  });

  it('C-063: a legacy client whose connection drops has cancelled nothing', async () => {
    await using agent = await connectLegacy(gateway.url);
    const dropped = begin(agent, 'slow', { label: 'dropped', tag: 'dropped' });
    const { id } = await up.untilReceived('tools/call', tagged('dropped'));
    dropped.abort();
    await dropped.done;
    // A round trip after the drop, so that whatever it led to has reached the upstream.
    await agent.call('up.echo', { tag: 'after-drop' });
    await up.untilReceived('tools/call', tagged('after-drop'));
    expect(up.count(CANCELLED, ({ params }) => params['requestId'] === id)).toBe(0);
    expect(await up.release('dropped')).toBe(1);
  });
});

const NOTHING = { type: 'object', properties: {} };
const NAMED = { kind: 'elicitation', always: true };

describe.each(FILLINGS.filter(({ carrier }) => carrier === 'http'))(
  'questions of a $era upstream to many clients of both eras at once',
  ({ era, start }) => {
    it('C-067: reach the one who called, though all have the same ids, and so do the answers', async () => {
      await using up = await start({ id: 'up', era, tools: ['ask'] });
      const limits = { concurrency: 1_000, queue: 1_000, connections: 1_000 };
      await using gateway = await startGateway({
        questions: { perPrincipal: 1_000 },
        upstreams: { up: { ...up.config, isolation: 'session', limits } },
      });
      await gateway.gateway.settled();
      const asked = (n: number) => ({ mode: 'form', message: `you are ${n}`, requestedSchema: NOTHING });
      const agents = await Promise.all(
        Array.from({ length: 40 }, (_, n) => {
          const answers = {
            'elicitation/create': ({ message }: JsonObject) => ({
              action: 'accept',
              content: { n, message },
            }),
          };
          const connect = n % 2 === 0 ? connectLegacy : connectModern;
          return connect(gateway.url, { capabilities: { elicitation: { form: {} } }, answers });
        }),
      );
      const answers = await Promise.all(
        agents.map((agent, n) => agent.call('up.ask', { ...NAMED, rounds: 2, params: asked(n) }, { id: 1 })),
      );
      for (const [n, { structured, answer }] of answers.entries()) {
        const mine = { result: { action: 'accept', content: { n, message: `you are ${n}` } } };
        expect(structured).toEqual({ answers: [mine, mine] });
        expect(answer.status).toBe(200);
      }
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
    });
  },
);

describe('C-065: limits of time', () => {
  const timeouts = { call: '1s', total: '3s' };
  let http: RealHttp;
  let gateway: StartedGateway;
  const never: ScriptedUpstream[] = [];

  beforeAll(async () => {
    http = await startEverythingHttp();
    for (const { carrier, era, start } of FILLINGS) {
      never.push(await start({ id: `${carrier}-${era}`, era, tools: ['never', 'echo'] }));
    }
    gateway = await startGateway({
      upstreams: {
        'every-stdio': { ...everythingStdio(), timeouts },
        'every-http': { url: http.url, timeouts },
        ...Object.fromEntries(never.map(({ id, config }) => [id, { ...config, timeouts }])),
      },
    });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await http?.[Symbol.asyncDispose]();
    await Promise.all(never.map((each) => each[Symbol.asyncDispose]()));
  });

  it.each(AGENTS)(
    'progress extends the call of a $era client, asked for or not; the total ends it all the same',
    async ({ connect }) => {
      await using agent = await connect(gateway.url);
      const long = (id: string, duration: number, options = {}) => {
        // A sign of progress every 200 ms.
        const args = { duration, steps: duration * 5 };
        return agent.call(`${id}.trigger-long-running-operation`, args, options);
      };
      const both = ['every-stdio', 'every-http'];
      const [asked, unasked, endless] = await Promise.all([
        Promise.all(both.map((id) => long(id, 2, { progressToken: 'p' }))),
        Promise.all(both.map((id) => long(id, 2))),
        Promise.all(both.map((id) => long(id, 60))),
      ]);
      for (const { text } of [...asked, ...unasked]) {
        expect(text).toMatch(/^Long running operation completed/);
      }
      expect(asked.map(({ progress }) => progress.length)).toEqual([10, 10]);
      expect(unasked.map(({ progress }) => progress.length)).toEqual([0, 0]);
      for (const [n, { result, text }] of endless.entries()) {
        expect(result).toMatchObject({ isError: true });
        expect(text).toMatch(new RegExp(`^\\[${both[n]}\\].*3000 ms in all`));
      }
    },
  );

  it.each(AGENTS)(
    'a silent tool of a $era client ends with an error, and is cancelled',
    async ({ connect }) => {
      await using agent = await connect(gateway.url);
      const callOf = async (up: ScriptedUpstream, after: number) => {
        const { result, text } = await agent.call(`${up.id}.never`);
        expect(result).toMatchObject({ isError: true });
        expect(text).toMatch(new RegExp(`^\\[${up.id}\\].*1000 ms`));
        const { id } = await up.untilReceived('tools/call', undefined, { after });
        await up.untilReceived([CANCELLED, CLOSED], ({ params }) => params['requestId'] === id, { after });
        expect((await agent.call(`${up.id}.echo`, { still: 'here' })).structured).toEqual({ still: 'here' });
      };
      await Promise.all(never.map((up) => callOf(up, up.mark())));
    },
  );
});

it.each(AGENTS)('a shutdown ends the calls of $era clients that are in flight', async ({ connect }) => {
  await using up = await startHttpUpstream({ id: 'up', tools: ['slow'] });
  await using gateway = await startGateway({ upstreams: { up: up.config }, shutdown: { grace: '200ms' } });
  await gateway.gateway.settled();
  const agents = await Promise.all(Array.from({ length: 10 }, () => connect(gateway.url)));
  const calls = agents.map((agent) => agent.call('up.slow'));
  await up.untilReceived('tools/call', undefined, { times: agents.length });
  // The clients keep their connections open, as they do; nothing is to wait for them.
  await gateway.close();
  for (const { result, text } of await Promise.all(calls)) {
    expect([result['isError'], text]).toEqual([true, expect.stringContaining('[up]')]);
  }
  await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
});
