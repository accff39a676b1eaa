import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
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
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
  answers: {
    'elicitation/create': () => ELICITED,
    'sampling/createMessage': () => SAMPLED,
    'roots/list': () => ROOTS,
  },
};

const url = { mode: 'url', message: 'Sign in', url: 'https://example.com/in', elicitationId: 'e1' };

const KINDS = [
  { kind: 'elicitation', args: { kind: 'elicitation' }, answer: ELICITED },
  { kind: 'url elicitation', args: { kind: 'elicitation', params: url }, answer: ELICITED },
  { kind: 'sampling', args: { kind: 'sampling' }, answer: SAMPLED },
  { kind: 'roots', args: { kind: 'roots' }, answer: ROOTS },
];

describe.each(FILLINGS)('in front of a $era upstream over $carrier', ({ era, start }) => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await start({ id: 'up', era, tools: ['echo', 'ask'] });
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
      const before = up.count('tools/call');
      const { structured } = await agent.call('up.ask', { kind: 'elicitation', rounds: 3 });
      expect(structured).toMatchObject({ answers: [1, 2, 3].map(() => ({ result: ELICITED })) });
      expect(up.count('tools/call') - before).toBe(era === 'modern' ? 4 : 1);
    });

    it('is never asked what it declared no capability for', async () => {
      await using agent = await connect(gateway.url, { capabilities: {}, answers: client.answers });
      const params = { name: 'up.ask', arguments: { kind: 'elicitation', always: true } };
      const { result, error } = await agent.request('tools/call', params);
      const told = JSON.stringify({ result, error });
      expect(told).not.toContain('Ada');
      expect(told).toMatch(/-32021|-32603|-32601/);
    });
  });

  it('a state is worth nothing changed, to other arguments, or a second time', async () => {
    await using agent = await connectModern(gateway.url, client);
    const params = { name: 'up.ask', arguments: { kind: 'elicitation' } };
    const { result } = await agent.request('tools/call', params);
    expect(result).toMatchObject({ resultType: 'input_required' });
    const { inputRequests, requestState } = result as { inputRequests: object; requestState: string };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, ELICITED]));
    const retry = { ...params, inputResponses, requestState };
    const changed = await agent.request('tools/call', { ...retry, requestState: `${requestState}A` });
    expect(changed.error?.code).toBe(-32602);
    const elsewhere = await agent.request('tools/call', { ...retry, arguments: { kind: 'roots' } });
    expect(elsewhere.error?.code).toBe(-32602);
    expect((await agent.request('tools/call', retry)).result).toMatchObject({ resultType: 'complete' });
    const again = await agent.request('tools/call', retry);
    expect(again.error?.code ?? again.result?.['resultType']).toBe(era === 'modern' ? 'complete' : -32602);
  });
});

it('what is missing in the answers is asked again, and what was not asked is ignored', async () => {
  await using up = await startStdioUpstream({ id: 'up', era: 'legacy', tools: ['ask'] });
  await using gateway = await startGateway({ upstreams: { up: { ...up.config, isolation: 'user' } } });
  await using agent = await connectModern(gateway.url, client);
  const params = { name: 'up.ask', arguments: { kind: 'elicitation' } };
  const first = (await agent.request('tools/call', params)).result as unknown as Unfinished;
  const inputResponses = { nobody_asked: ELICITED };
  const second = (
    await agent.request('tools/call', { ...params, inputResponses, requestState: first.requestState })
  ).result as unknown as Unfinished;
  expect(second.inputRequests).toEqual(first.inputRequests);
  expect(second.requestState).not.toBe(first.requestState);
  const answers = Object.fromEntries(Object.keys(second.inputRequests).map((key) => [key, ELICITED]));
  const last = await agent.request('tools/call', {
    ...params,
    inputResponses: answers,
    requestState: second.requestState,
  });
  expect(last.result).toMatchObject({ structuredContent: { answers: [{ result: ELICITED }] } });
});

it('calls that wait for answers are bounded for each user, and cancelled upstream when they lapse', async () => {
  await using up = await startStdioUpstream({ id: 'up', era: 'legacy', tools: ['ask'] });
  await using gateway = await startGateway({
    questions: { perPrincipal: 1, ttl: '1s' },
    upstreams: { up: { ...up.config, isolation: 'user' } },
  });
  await using agent = await connectModern(gateway.url, client);
  const params = { name: 'up.ask', arguments: { kind: 'elicitation' } };
  const waiting = (await agent.request('tools/call', params)).result as unknown as Unfinished;
  const refused = await agent.request('tools/call', params);
  expect(refused.result).toMatchObject({ isError: true });
  await up.untilReceived('notifications/cancelled', undefined, { times: 2 });
  const late = await agent.request('tools/call', {
    ...params,
    inputResponses: {},
    requestState: waiting.requestState,
  });
  expect(late.error?.code).toBe(-32602);
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

interface Unfinished {
  readonly inputRequests: object;
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
