import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const VERSION = '2025-03-26';

let up: ScriptedUpstream;
let gateway: StartedGateway;
let agent: Agent;

beforeAll(async () => {
  up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['echo', 'slow', 'progress', 'ask'] });
  gateway = await startGateway({ upstreams: { up: { ...up.config, isolation: 'user' } } });
  agent = await connectLegacy(gateway.url, { version: VERSION, capabilities: { elicitation: {} } });
  await agent.untilNames((names) => names.length === 4);
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await gateway?.close();
  await up?.[Symbol.asyncDispose]();
});

const post = (body: unknown, by: Agent = agent, headers: Record<string, string> = {}) =>
  by.post(body, { 'mcp-session-id': by.sessionId ?? null, ...headers });
const request = (id: unknown, method: string, params?: JsonObject) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const call = (id: unknown, name: string, args: JsonObject = {}, meta: JsonObject = {}) =>
  request(id, 'tools/call', { name: `up.${name}`, arguments: args, _meta: meta });
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
const byId = (messages: readonly JsonObject[]) =>
  new Map(messages.map((message) => [message['id'], message]));

describe('a batch in a session of 2025-03-26', () => {
  it('is answered with one array, to each request its own, whatever becomes of the others', async () => {
    const { status, headers, text } = await post([
      call(0, 'echo', { n: 0 }),
      initialized,
      call('0', 'echo', { n: 1 }),
      request('unknown', 'no/such'),
      request('greeting', 'initialize', { protocolVersion: VERSION, capabilities: {} }),
      { jsonrpc: '2.0', id: 'broken', method: 5 },
      'nothing',
    ]);
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('application/json');
    const answers = byId(JSON.parse(text));
    expect(answers.size).toBe(6);
    expect(answers.get(0)).toMatchObject({ result: { structuredContent: { n: 0 } } });
    expect(answers.get('0')).toMatchObject({ result: { structuredContent: { n: 1 } } });
    expect(answers.get('unknown')).toMatchObject({ error: { code: -32601 } });
    for (const id of ['greeting', 'broken', undefined]) {
      expect(answers.get(id)).toMatchObject({ error: { code: -32600 } });
    }
  });

  it('is served at once: one request does not wait for another', async () => {
    const mark = up.mark();
    const batch = post([call('held', 'slow'), call('quick', 'echo'), call('held too', 'slow')]);
    const isSlow = ({ params }: { params: JsonObject }) => params['name'] === 'slow';
    const held = () => up.received.slice(mark).filter(isSlow).length;
    await expect.poll(held).toBe(2);
    await up.release('slow');
    expect([...byId((await batch).messages).keys()].toSorted()).toEqual(['held', 'held too', 'quick']);
  });

  it('becomes an event stream when there is something to say before; each answer is an event', async () => {
    const batch = post([
      call('first', 'echo'),
      call('counting', 'progress', { steps: 2 }, { progressToken: 't' }),
      call('held', 'slow'),
    ]);
    await expect.poll(() => up.release('slow')).toBe(1);
    const { events, messages, headers } = await batch;
    expect(headers['content-type']).toContain('text/event-stream');
    expect(events.every(({ data, id }) => data.startsWith('{') && id !== undefined)).toBe(true);
    const answers = byId(messages.filter((message) => 'result' in message));
    expect([...answers.keys()].toSorted()).toEqual(['counting', 'first', 'held']);
    expect(messages.filter(({ method }) => method === 'notifications/progress').length).toBe(2);
    expect(messages.at(-1)).toHaveProperty('result');
  });

  it('of notifications and answers only is taken, with nothing to say to it', async () => {
    const asking = agent.begin('tools/call', { name: 'up.ask', arguments: { kind: 'elicitation' } });
    const { id } = await asking.next('elicitation/create');
    // The agent itself answered that already: it has no answer, and says so.
    expect((await asking.done).result).toMatchObject({
      structuredContent: { answers: [{ error: { code: -32601 } }] },
    });
    const answer = { jsonrpc: '2.0', id, result: { action: 'accept' } };
    expect(await post([initialized, answer])).toMatchObject({ status: 202, text: '' });
  });

  it('of notifications is taken at once, whatever its servers make of them, and so is a single one', async () => {
    await using own = await startHttpUpstream({ id: 'own', era: 'legacy', tools: ['echo'] });
    await using apart = await startGateway({ upstreams: { own: { ...own.config, isolation: 'session' } } });
    await using client = await connectLegacy(apart.url, { version: VERSION, capabilities: { roots: {} } });
    await client.untilNames((names) => names.length === 1);
    const mark = own.mark();
    await own.change({ faults: [{ on: 'initialize', do: { hold: 'connect' } }] });
    const running = client.begin('tools/call', { name: 'own.echo', arguments: { n: 1 } });
    await own.untilReceived('initialize', undefined, { after: mark });
    const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
    expect(await post([changed, initialized], client)).toMatchObject({ status: 202 });
    expect(await post(changed, client)).toMatchObject({ status: 202 });
    await own.release('connect');
    // Neither waited for that connection, or it would have been given up by now.
    expect((await running.done).result).toMatchObject({ structuredContent: { n: 1 } });
  });

  it('may cancel what it asks for', async () => {
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'given up' },
    };
    const { messages } = await post([call('given up', 'slow'), cancelled, call('kept', 'echo')]);
    expect(byId(messages).get('kept')).toMatchObject({ result: {} });
    expect(byId(messages).get('given up')).not.toHaveProperty('result');
  });

  it('has one message at least, and a hundred at most', async () => {
    const pings = (count: number) => Array.from({ length: count }, (_, id) => request(id, 'ping'));
    for (const body of [[], pings(101)]) {
      expect(await post(body)).toMatchObject({ status: 400, error: { code: -32600 } });
    }
    expect((await post(pings(100))).messages.length).toBe(100);
  });
});

describe('the resources that one session watches', () => {
  it('are bounded in number', async () => {
    await using many = await startHttpUpstream({
      id: 'many',
      resources: ['note://x'],
      capabilities: { resources: { subscribe: true } },
    });
    await using wide = await startGateway({ upstreams: { many: many.config } });
    await using client = await connectLegacy(wide.url, { version: VERSION });
    await client.untilNames((names) => names.length === 1, 'resources');
    const watch = (id: number) => request(id, 'resources/subscribe', { uri: `note://${id}` });
    const answers: JsonObject[] = [];
    for (let from = 0; from < 1_100; from += 100) {
      answers.push(
        ...(
          await post(
            Array.from({ length: 100 }, (_, n) => watch(from + n)),
            client,
          )
        ).messages,
      );
    }
    expect(answers.filter((answer) => 'result' in answer).length).toBe(1_000);
    expect(answers.filter((answer) => 'error' in answer)).toMatchObject(
      Array(100).fill({ error: { code: -32602 } }),
    );
    // What is watched already counts once.
    expect((await post(watch(5), client)).messages).toMatchObject([{ result: {} }]);
  });
});

describe('a batch anywhere else is refused:', () => {
  const batch = [request(1, 'ping')];

  it.each(['2024-11-05', '2025-06-18', '2025-11-25'])('in a session of %s', async (version) => {
    await using other = await connectLegacy(gateway.url, { version });
    expect(await post(batch, other)).toMatchObject({ status: 400, error: { code: -32600 } });
  });

  it('without a session, in the modern era too', async () => {
    expect(await agent.post(batch)).toMatchObject({ status: 400, error: { code: -32600 } });
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'ping' };
    expect(await agent.post(batch, modern)).toMatchObject({ status: 400, error: { code: -32600 } });
  });

  it('in a session that nobody knows', async () => {
    expect(await agent.post(batch, { 'mcp-session-id': 'x' })).toMatchObject({ status: 404 });
  });

  it('under a version that nobody knows', async () => {
    const headers = { 'mcp-protocol-version': '1999-01-01' };
    expect(await post(batch, agent, headers)).toMatchObject({ status: 400 });
  });
});
