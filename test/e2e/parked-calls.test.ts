import { describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { CLOSED } from '../fixtures/upstreams/scripted-peer.ts';
import type { Agent } from '../kit/agent.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import type { Recorded } from '../kit/recorder.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

/** Calls at a server of the `initialize` era that wait for the answer of a client: parked for a modern one, open for a legacy one. */
const CARRIERS = [
  { carrier: 'stdio', start: startStdioUpstream },
  { carrier: 'http', start: startHttpUpstream },
] as const;

const CANCELLED = 'notifications/cancelled';
const ELICITED = { action: 'accept', content: { name: 'Ada' } };
const SAMPLED = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm' };
const ROOTS = { roots: [{ uri: 'file:///srv', name: 'srv' }] };
const able = { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} } };

interface Unfinished {
  readonly resultType: 'input_required';
  readonly inputRequests: Readonly<Record<string, { readonly method: string }>>;
  readonly requestState: string;
}

const argumentsOf = ({ params }: Recorded) => objectAt(params, 'arguments') ?? {};
const tagged = (tag: unknown) => (entry: Recorded) => argumentsOf(entry)['tag'] === tag;
const ask = (more: JsonObject = {}) => ({ name: 'up.ask', arguments: { kind: 'elicitation', ...more } });

/** Makes a call up to the questions in it, or answers some and goes on. */
async function untilAsked(agent: Agent, params: JsonObject): Promise<Unfinished> {
  const { result, error } = await agent.request('tools/call', params);
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ resultType: 'input_required' });
  return result as unknown as Unfinished;
}

/** The key under which a question of that method was put. */
function keyOf({ inputRequests }: Unfinished, method: string): string {
  const [key = ''] = Object.entries(inputRequests).find(([, asked]) => asked.method === method) ?? [];
  return key;
}

const answered = (asked: Unfinished, method: string, response: unknown) => ({
  inputResponses: { [keyOf(asked, method)]: response },
  requestState: asked.requestState,
});

const inFront = (up: ScriptedUpstream, own: JsonObject = {}, rest: JsonObject = {}) =>
  startGateway({ ...rest, upstreams: { up: { ...up.config, isolation: 'user', ...own } } });

describe.each(CARRIERS)('at a legacy upstream over $carrier', ({ start }) => {
  const script = { id: 'up', era: 'legacy', tools: ['ask', 'echo', 'never', 'slow'] } as const;

  it('what is missing in the answers is asked again, and what was not asked is ignored', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up);
    await using agent = await connectModern(gateway.url, able);
    const params = ask();
    const first = await untilAsked(agent, params);
    const inputResponses = { nobody_asked: ELICITED };
    const second = await untilAsked(agent, { ...params, inputResponses, requestState: first.requestState });
    expect(second.inputRequests).toEqual(first.inputRequests);
    expect(second.requestState).not.toBe(first.requestState);
    const last = await agent.request('tools/call', {
      ...params,
      ...answered(second, 'elicitation/create', ELICITED),
    });
    expect(last.result).toMatchObject({ structuredContent: { answers: [{ result: ELICITED }] } });
  });

  it('of several questions each answer goes on at once, and only the others are asked again', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up);
    await using agent = await connectModern(gateway.url, able);
    const params = ask({ also: [{ kind: 'sampling' }, { kind: 'roots' }] });
    const all = await untilAsked(agent, params);
    expect(Object.values(all.inputRequests).map(({ method }) => method)).toEqual([
      'elicitation/create',
      'sampling/createMessage',
      'roots/list',
    ]);
    const two = await untilAsked(agent, { ...params, ...answered(all, 'sampling/createMessage', SAMPLED) });
    expect(Object.values(two.inputRequests).map(({ method }) => method)).toEqual([
      'elicitation/create',
      'roots/list',
    ]);
    const { message } = await up.untilReceived('$response');
    expect(message).toMatchObject({ result: SAMPLED });
    const inputResponses = {
      [keyOf(two, 'elicitation/create')]: ELICITED,
      [keyOf(two, 'roots/list')]: ROOTS,
    };
    const done = await agent.result('tools/call', {
      ...params,
      inputResponses,
      requestState: two.requestState,
    });
    expect(done).toMatchObject({
      structuredContent: { answers: [{ result: ELICITED }, { result: SAMPLED }, { result: ROOTS }] },
    });
    expect(up.count('tools/call')).toBe(1);
  });

  it('a question that comes while another waits is asked with the next answer', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up);
    await using agent = await connectModern(gateway.url, able);
    const params = ask({ also: [{ kind: 'sampling', gate: 'late' }] });
    const first = await untilAsked(agent, params);
    expect(Object.keys(first.inputRequests)).toHaveLength(1);
    expect(await up.release('late')).toBe(1);
    const second = await untilAsked(agent, { ...params, ...answered(first, 'elicitation/create', ELICITED) });
    expect(Object.values(second.inputRequests).map(({ method }) => method)).toEqual([
      'sampling/createMessage',
    ]);
    const done = { ...params, ...answered(second, 'sampling/createMessage', SAMPLED) };
    expect((await agent.result('tools/call', done))['structuredContent']).toEqual({
      answers: [{ result: ELICITED }, { result: SAMPLED }],
    });
  });

  it('C-069: and is refused at once where the client declared nothing of the kind', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up);
    await using agent = await connectModern(gateway.url, { capabilities: { elicitation: { form: {} } } });
    const params = ask({ also: [{ kind: 'sampling', gate: 'late' }] });
    const first = await untilAsked(agent, params);
    expect(await up.release('late')).toBe(1);
    const { message } = await up.untilReceived('$response');
    expect(message).toMatchObject({ error: { code: -32601 } });
    const done = { ...params, ...answered(first, 'elicitation/create', ELICITED) };
    expect((await agent.result('tools/call', done))['structuredContent']).toMatchObject({
      answers: [{ result: ELICITED }, { error: { code: -32601 } }],
    });
  });

  it('C-070: a client that comes back declaring less is not asked what it no longer declares', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up);
    await using agent = await connectModern(gateway.url, able);
    await using less = await connectModern(gateway.url, { capabilities: { elicitation: { form: {} } } });
    const params = ask({ also: [{ kind: 'sampling' }] });
    const first = await untilAsked(agent, params);
    const done = { ...params, ...answered(first, 'elicitation/create', ELICITED) };
    expect((await less.result('tools/call', done))['structuredContent']).toMatchObject({
      answers: [{ result: ELICITED }, { error: { code: -32601 } }],
    });
  });

  it('a question that the server takes back is asked no more', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up, { isolation: 'user' });
    await using agent = await connectModern(gateway.url, able);
    const params = ask({ also: [{ kind: 'sampling' }] });
    const first = await untilAsked(agent, params);
    // The first question of a scripted server has the id 0.
    await up.push({ jsonrpc: '2.0', method: CANCELLED, params: { requestId: 0 } });
    await up.untilReceived('$response', ({ id }) => id === 0);
    const done = { ...params, ...answered(first, 'sampling/createMessage', SAMPLED) };
    expect((await agent.result('tools/call', done))['structuredContent']).toMatchObject({
      answers: [{ error: { code: -32603 } }, { result: SAMPLED }],
    });
  });

  it('they are bounded for each user, and cancelled upstream when they lapse', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up, {}, { questions: { perPrincipal: 1, ttl: '1s' } });
    await using agent = await connectModern(gateway.url, able);
    const waiting = await untilAsked(agent, ask({ tag: 'waits' }));
    const refused = await agent.request('tools/call', ask({ tag: 'refused' }));
    expect(refused.result).toMatchObject({ isError: true });
    expect(JSON.stringify(refused.result)).toContain('waiting for your answers');
    for (const tag of ['refused', 'waits']) {
      const { id } = await up.untilReceived('tools/call', tagged(tag));
      await up.untilReceived(CANCELLED, ({ params }) => params['requestId'] === id);
    }
    const late = await agent.request('tools/call', {
      ...ask({ tag: 'waits' }),
      ...answered(waiting, 'elicitation/create', ELICITED),
    });
    expect(late.error?.code).toBe(-32602);
    // There is room again.
    await untilAsked(agent, ask({ tag: 'after' }));
  });

  it('they are cancelled upstream when the client goes while it waits for more', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up);
    await using agent = await connectModern(gateway.url, able);
    const params = ask({ also: [{ kind: 'never/answered', gate: 'never' }] });
    const asked = await untilAsked(agent, params);
    const { id } = await up.untilReceived('tools/call');
    const retry = agent.begin('tools/call', {
      ...params,
      ...answered(asked, 'elicitation/create', ELICITED),
    });
    await up.untilReceived('$response');
    retry.abort();
    await up.untilReceived(CANCELLED, ({ params: given }) => given['requestId'] === id);
    const again = await agent.request('tools/call', {
      ...params,
      ...answered(asked, 'elicitation/create', ELICITED),
    });
    expect(again.error?.code).toBe(-32602);
  });

  it('they end upstream when the gateway closes', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up);
    await using agent = await connectModern(gateway.url, able);
    await untilAsked(agent, ask());
    const { id, connection } = await up.untilReceived('tools/call');
    await gateway.close();
    // Over HTTP with their session, which the gateway ends.
    await up.untilReceived(
      [CANCELLED, '$DELETE'],
      (entry) =>
        entry.params['requestId'] === id || (entry.method === '$DELETE' && entry.connection === connection),
    );
  });

  it('one whose client went before it was made is not made', async () => {
    const faults = [{ on: 'tools/list', skip: 1, times: 1, do: { hold: 'list' } }];
    await using up = await start({ ...script, faults });
    await using gateway = await inFront(up);
    await using agent = await connectModern(gateway.url, able);
    await using other = await connectModern(gateway.url, able);
    await agent.untilNames((names) => names.includes('up.ask'));
    await up.addTool({ name: 'new', inputSchema: { type: 'object' } });
    // A name that nobody knows yet: its likely owner is asked first.
    const call = agent.begin('tools/call', { name: 'up.new', arguments: {} });
    await up.untilReceived('tools/list', undefined, { times: 2 });
    call.abort();
    await call.done;
    await other.call('up.echo', { tag: 'meanwhile' });
    expect(await up.release('list')).toBe(1);
    await other.untilNames((names) => names.includes('up.new'));
    await other.call('up.echo', { tag: 'last' });
    await up.untilReceived('tools/call', tagged('last'));
    expect(up.count('tools/call', ({ params }) => params['name'] === 'new')).toBe(0);
  });

  it('one whose server dies is told so to who answers, and is not made again', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up, { restart: { base: '20ms', cap: '60ms' } });
    await using agent = await connectModern(gateway.url, able);
    const params = ask({ tag: 'dies' });
    const asked = await untilAsked(agent, params);
    const after = up.mark();
    await ('restart' in up ? (up as Http).restart() : (up as Stdio).kill());
    await up.untilReceived(['initialize', 'server/discover'], undefined, { after });
    const { result, error } = await agent.request('tools/call', {
      ...params,
      ...answered(asked, 'elicitation/create', ELICITED),
    });
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain('[up]');
    // It is reached again after a while.
    const tag = 'afterwards';
    await expect.poll(async () => (await agent.call('up.echo', { tag })).structured).toEqual({ tag });
    await up.untilReceived('tools/call', tagged(tag));
    expect(up.count('tools/call', tagged('dies'))).toBe(1);
  });

  it('they take no place in the queue, and no time of the server: others are served, and the limit of silence rests', async () => {
    await using up = await start(script);
    await using gateway = await inFront(up, { limits: { concurrency: 1 }, timeouts: { call: '300ms' } });
    await using agent = await connectModern(gateway.url, able);
    const params = ask();
    const asked = await untilAsked(agent, params);
    // Takes as long as a silent call may.
    const { text } = await agent.call('up.never');
    expect(text).toContain('300 ms');
    const done = { ...params, ...answered(asked, 'elicitation/create', ELICITED) };
    expect((await agent.result('tools/call', done))['structuredContent']).toEqual({
      answers: [{ result: ELICITED }],
    });
  });

  describe('a legacy client that is being asked', () => {
    const begin = async (agent: Agent) => {
      const call = agent.begin('tools/call', ask({ tag: 'asked' }));
      const question = await call.next((message) => message['method'] === 'elicitation/create');
      return { call, question };
    };
    /** Never answers. */
    const silent = { ...able, answers: { 'elicitation/create': () => new Promise<JsonObject>(() => {}) } };

    it('C-063: cancels its call: the upstream hears that, and the question is over', async () => {
      await using up = await start(script);
      await using gateway = await inFront(up, { isolation: 'session' });
      await using agent = await connectLegacy(gateway.url, silent);
      const { call } = await begin(agent);
      const { id } = await up.untilReceived('tools/call', tagged('asked'));
      await agent.cancel(call);
      await up.untilReceived(CANCELLED, ({ params }) => params['requestId'] === id);
      expect((await call.done).result).toBeUndefined();
    });

    it('ends its session: the call and its connection end upstream', async () => {
      await using up = await start(script);
      await using gateway = await inFront(up, { isolation: 'session' });
      await using agent = await connectLegacy(gateway.url, silent);
      await begin(agent);
      const { id } = await up.untilReceived('tools/call', tagged('asked'));
      await agent.http('DELETE').done;
      const over = ({ params }: Recorded) => params['requestId'] === id;
      await up.untilReceived(
        [CANCELLED, CLOSED, '$response'],
        (entry) => entry.method === '$response' || over(entry),
      );
    });

    it('hears that the server takes its question back', async () => {
      await using up = await start(script);
      await using gateway = await inFront(up, { isolation: 'session' });
      await using agent = await connectLegacy(gateway.url, silent);
      const { call, question } = await begin(agent);
      await up.push({ jsonrpc: '2.0', method: CANCELLED, params: { requestId: 0 } });
      const { params } = await call.next((message) => message['method'] === CANCELLED);
      expect(params).toMatchObject({ requestId: question['id'] });
      expect((await call.done).result).toMatchObject({
        structuredContent: { answers: [{ error: { code: -32603 } }] },
      });
    });
  });
});

type Http = Awaited<ReturnType<typeof startHttpUpstream>>;
type Stdio = Awaited<ReturnType<typeof startStdioUpstream>>;
