import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import type { Recorded } from '../kit/recorder.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

const ELICITED = { action: 'accept', content: { name: 'Ada' } };
const SAMPLED = {
  role: 'assistant',
  content: { type: 'text', text: 'hello' },
  model: 'm',
  stopReason: 'endTurn',
};
const ROOTS = { roots: [{ uri: 'file:///srv', name: 'srv' }] };

const client = {
  capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} },
  answers: {
    'elicitation/create': () => ELICITED,
    'sampling/createMessage': () => SAMPLED,
    'roots/list': () => ROOTS,
  },
};

const url = { mode: 'url', message: 'Sign in', url: 'https://example.com/in', elicitationId: 'e1' };

const withTools = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Which weather?' } }],
  maxTokens: 50,
  tools: [{ name: 'weather', inputSchema: { type: 'object' } }],
  toolChoice: { mode: 'required' },
};

const KINDS = [
  { kind: 'elicitation', args: { kind: 'elicitation' }, answer: ELICITED },
  { kind: 'url elicitation', args: { kind: 'elicitation', params: url }, answer: ELICITED },
  { kind: 'sampling', args: { kind: 'sampling' }, answer: SAMPLED },
  { kind: 'sampling with tools', args: { kind: 'sampling', params: withTools }, answer: SAMPLED },
  { kind: 'roots', args: { kind: 'roots' }, answer: ROOTS },
];

/** What a server may ask only of who declared it, and what it would have to be (`data.requiredCapabilities`). */
const UNDECLARED = [
  { what: 'elicitation', declared: {}, ask: { kind: 'elicitation' }, needs: { elicitation: { form: {} } } },
  {
    what: 'a link, of who takes forms only',
    declared: { elicitation: {} },
    ask: { kind: 'elicitation', params: url },
    needs: { elicitation: { url: {} } },
  },
  {
    what: 'a form, of who visits links only',
    declared: { elicitation: { url: {} } },
    ask: { kind: 'elicitation' },
    needs: { elicitation: { form: {} } },
  },
  { what: 'sampling', declared: {}, ask: { kind: 'sampling' }, needs: { sampling: {} } },
  {
    what: 'sampling with tools, of who has none',
    declared: { sampling: {} },
    ask: { kind: 'sampling', params: withTools },
    needs: { sampling: { tools: {} } },
  },
  { what: 'roots', declared: { sampling: {} }, ask: { kind: 'roots' }, needs: { roots: {} } },
];

const tagged = (tag: string) => (entry: Recorded) => objectAt(entry.params, 'arguments')?.['tag'] === tag;

/** How many calls with that tag the upstream got. What a child process received is told late, hence one more call. */
async function callsTagged(up: ScriptedUpstream, agent: Agent, tag: string): Promise<number> {
  await agent.call('up.echo', { tag: `after ${tag}` });
  await up.untilReceived('tools/call', tagged(`after ${tag}`));
  return up.count('tools/call', tagged(tag));
}

/** How a state that is not valid is refused. */
const INVALID = { code: -32602, message: expect.stringMatching(/requestState/) };

/** The three questions at once, as the scripted server asks them. */
const ALL = { kind: 'elicitation', also: [{ kind: 'sampling' }, { kind: 'roots' }] };

describe.each(FILLINGS)('in front of a $era upstream over $carrier', ({ era, start }) => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await start({
      id: 'up',
      era,
      tools: ['echo', 'ask', 'ask-else'],
      prompts: ['greet'],
      calls: { 'ask-else': { does: 'ask' } },
    });
    gateway = await startGateway({ upstreams: { up: { ...up.config, isolation: 'user' } } });
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  describe.each(AGENTS)('a $era client', ({ connect }) => {
    it.each(KINDS)('answers a question: $kind', async ({ args, answer }) => {
      await using agent = await connect(gateway.url, client);
      const { structured } = await agent.call('up.ask', args);
      expect(structured).toMatchObject({ answers: [{ result: answer }] });
    });

    it('answers several rounds of questions within one call, which is made once in the legacy era', async () => {
      await using agent = await connect(gateway.url, client);
      const tag = `rounds of ${agent.era}`;
      const { structured } = await agent.call('up.ask', { kind: 'elicitation', rounds: 3, tag });
      expect(structured).toMatchObject({ answers: [1, 2, 3].map(() => ({ result: ELICITED })) });
      expect(await callsTagged(up, agent, tag)).toBe(era === 'modern' ? 4 : 1);
    });

    it('answers several questions at once, each with its own', async () => {
      await using agent = await connect(gateway.url, client);
      const tag = `several of ${agent.era}`;
      const { structured, rounds } = await agent.call('up.ask', { ...ALL, tag });
      expect(structured).toEqual({ answers: [{ result: ELICITED }, { result: SAMPLED }, { result: ROOTS }] });
      expect(rounds).toBe(agent.era === 'modern' ? 2 : 1);
      expect(await callsTagged(up, agent, tag)).toBe(era === 'modern' ? 2 : 1);
    });

    it('is asked with every member that the server gave', async () => {
      const seen: JsonObject[] = [];
      const answers = {
        'sampling/createMessage': (params: JsonObject) => {
          seen.push(params);
          return SAMPLED;
        },
      };
      await using agent = await connect(gateway.url, { ...client, answers });
      const params = { ...withTools, _meta: { 'com.example/why': 1 }, future: [1] };
      await agent.call('up.ask', { kind: 'sampling', params });
      expect(seen).toEqual([params]);
    });

    it.each(UNDECLARED)(
      'C-069, C-070: is never asked what it did not declare: $what',
      async ({ declared, ask, needs }) => {
        await using agent = await connect(gateway.url, { capabilities: declared, answers: client.answers });
        const params = { name: 'up.ask', arguments: { ...ask, always: true } };
        const { status, result, error, messages } = await agent.request('tools/call', params);
        expect(messages).toHaveLength(1);
        if (era === 'legacy') {
          // The question is refused at once, and the server goes on as it likes.
          expect(result).toMatchObject({ structuredContent: { answers: [{ error: { code: -32601 } }] } });
        } else if (agent.era === 'modern') {
          expect([status, error]).toMatchObject([
            400,
            { code: -32021, data: { requiredCapabilities: needs } },
          ]);
        } else {
          expect([status, error]).toMatchObject([
            200,
            { code: -32603, message: expect.stringMatching(/capability/) },
          ]);
        }
      },
    );
  });

  it('a legacy client may answer with an error: its server hears it, or its call ends with it', async () => {
    const refusal = { code: -1, message: 'User rejected sampling request' };
    const answers = { 'sampling/createMessage': () => ({ error: refusal }) };
    await using agent = await connectLegacy(gateway.url, { ...client, answers });
    const { result, structured, text } = await agent.call('up.ask', { kind: 'sampling' });
    if (era === 'legacy') {
      expect(structured).toMatchObject({ answers: [{ error: refusal }] });
    } else {
      expect([result['isError'], text]).toEqual([true, expect.stringContaining(refusal.message)]);
      expect(text).toMatch(/^\[up\] /);
    }
    expect(gateway.logged.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  it('a legacy client that nobody can ask is told so, not that it cancelled its call', async () => {
    await using agent = await connectLegacy(gateway.url, client);
    const params = { name: 'up.ask', arguments: { kind: 'sampling' } };
    const { result } = await agent.request('tools/call', params, { headers: { accept: 'application/json' } });
    if (era === 'legacy') {
      expect(result).toMatchObject({ structuredContent: { answers: [{ error: { code: -32603 } }] } });
    } else {
      const text = expect.stringMatching(/^\[up\] .*answer/);
      expect(result).toMatchObject({ isError: true, content: [{ text }] });
    }
  });

  describe('a requestState', () => {
    const params = { name: 'up.ask', arguments: { kind: 'elicitation', tag: 'state' } };

    const asked = async (agent: Agent) => {
      const { result } = await agent.request('tools/call', params);
      expect(result).toMatchObject({ resultType: 'input_required' });
      const { inputRequests, requestState } = result as unknown as Unfinished;
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, ELICITED]));
      return { ...params, inputResponses, requestState };
    };

    it('is worth nothing changed, for another request, or a second time; the upstream hears nothing of it', async () => {
      await using agent = await connectModern(gateway.url, client);
      const retry = await asked(agent);
      const { requestState } = retry;
      const middle = Math.floor(requestState.length / 2);
      const other = requestState[middle] === 'A' ? 'B' : 'A';
      for (const refused of [
        { ...retry, requestState: `${requestState}A` },
        {
          ...retry,
          requestState: `${requestState.slice(0, middle)}${other}${requestState.slice(middle + 1)}`,
        },
        { ...retry, requestState: requestState.slice(0, -4) },
        { ...retry, requestState: '' },
        { ...retry, requestState: 7 },
        { ...retry, arguments: { ...retry.arguments, kind: 'roots' } },
        { ...retry, name: 'up.ask-else' },
      ]) {
        const { error } = await agent.request('tools/call', refused);
        expect(error, JSON.stringify(refused)).toMatchObject(INVALID);
      }
      const elsewhere = await agent.request('prompts/get', { ...retry, name: 'up.greet' });
      expect(elsewhere.error).toMatchObject(INVALID);
      // Members of the arguments in another order are the same request.
      const reordered = {
        ...retry,
        arguments: Object.fromEntries(Object.entries(retry.arguments).toReversed()),
      };
      expect((await agent.request('tools/call', reordered)).result).toMatchObject({ resultType: 'complete' });
      const again = await agent.request('tools/call', retry);
      expect(again.error?.code ?? again.result?.['resultType']).toBe(era === 'modern' ? 'complete' : -32602);
      expect(await callsTagged(up, agent, 'state')).toBe(era === 'modern' ? 3 : 1);
      expect(up.count('prompts/get')).toBe(0);
    });

    it('holds that of the upstream, however long', async () => {
      await using agent = await connectModern(gateway.url, client);
      // A scripted server of the modern era keeps the answers in its state.
      const long = 'x'.repeat(1_000_000);
      const answers = { 'elicitation/create': () => ({ action: 'accept', content: { long } }) };
      const { structured } = await agent.call('up.ask', { kind: 'elicitation', rounds: 2 }, { answers });
      const answer = { result: { action: 'accept', content: { long } } };
      expect(structured).toEqual({ answers: [answer, answer] });
    });

    it('is worth nothing at a gateway with another key', async () => {
      await using stranger = await startGateway({ upstreams: { up: { ...up.config, isolation: 'user' } } });
      await using agent = await connectModern(gateway.url, client);
      await using elsewhere = await connectModern(stranger.url, client);
      await elsewhere.untilNames((names) => names.includes('up.ask'));
      const { error } = await elsewhere.request('tools/call', await asked(agent));
      expect(error).toMatchObject(INVALID);
    });

    it('is worth nothing when its time is over', async () => {
      await using agent = await connectModern(gateway.url, client);
      const retry = await asked(agent);
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5 * 60_000 });
      const { error } = await agent.request('tools/call', retry).finally(() => vi.useRealTimers());
      expect(error).toMatchObject(INVALID);
    });
  });
});

it('C-067: on a shared connection nobody is asked, and the server goes on at once', async () => {
  await using up = await startStdioUpstream({ id: 'up', era: 'legacy', tools: ['ask'] });
  await using gateway = await startGateway({ upstreams: { up: up.config } });
  await using agent = await connectModern(gateway.url, client);
  const { result } = await agent.request('tools/call', {
    name: 'up.ask',
    arguments: { kind: 'sampling', always: true },
  });
  expect(result).toMatchObject({ structuredContent: { answers: [{ error: { code: -32601 } }] } });
});

it('of several questions to a legacy client the others are taken back when one is refused', async () => {
  await using up = await startHttpUpstream({ id: 'up', era: 'modern', tools: ['ask'] });
  await using gateway = await startGateway({ upstreams: { up: up.config } });
  let resolve = () => {};
  const bothAsked = new Promise<void>((asked) => {
    resolve = asked;
  });
  const answers = {
    'elicitation/create': async () => {
      await bothAsked;
      return { error: { code: -32601, message: 'no' } };
    },
    'sampling/createMessage': () => {
      resolve();
      return new Promise<never>(() => {});
    },
  };
  await using agent = await connectLegacy(gateway.url, { ...client, answers });
  await agent.untilNames((names) => names.includes('up.ask'));
  const { result, answer } = await agent.call('up.ask', ALL);
  const open = answer.messages.find(({ method }) => method === 'sampling/createMessage');
  expect(result).toMatchObject({ isError: true });
  expect(answer.messages).toContainEqual({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: open?.['id'] },
  });
});

interface Unfinished {
  readonly inputRequests: JsonObject;
  readonly requestState: string;
}

describe('a question while no call is under way', () => {
  it.each(FILLINGS.filter(({ era }) => era === 'legacy'))(
    'goes to the client’s own stream, over $carrier',
    async ({ carrier, start }) => {
      await using up = await start({ id: 'up', era: 'legacy', tools: ['whoami'] });
      await using gateway = await startGateway({ upstreams: { up: { ...up.config, isolation: 'session' } } });
      await using agent = await connectLegacy(gateway.url, client);
      await using stream = await agent.listen();
      const mine = (await agent.call('up.whoami')).structured['connection'];
      if (carrier === 'http') {
        await up.untilReceived('$GET', ({ connection }) => connection === mine);
        await up.untilListening();
      }
      await up.push({ jsonrpc: '2.0', id: 900, method: 'roots/list' });
      const { id } = await stream.next((message) => message['method'] === 'roots/list');
      await agent.post({ jsonrpc: '2.0', id, result: ROOTS }, { 'mcp-session-id': agent.sessionId ?? '' });
      const answer = await up.untilReceived('$response', (received) => received.connection === mine);
      expect(answer.message).toEqual({ jsonrpc: '2.0', id: 900, result: ROOTS });
    },
  );
});
