import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { createMessageQueue, type MessageQueue } from '../kit/message-queue.ts';
import { everythingStdio } from '../kit/real-servers.ts';
import { connectSdk } from '../kit/sdk-clients.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const ON = { legacySse: { enabled: true } };
const PROBE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A raw client of the 2024-11-05 transport. */
interface SseAgent extends AsyncDisposable {
  /** What the `endpoint` event said. */
  readonly endpoint: string;
  readonly messages: MessageQueue;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  send(message: unknown, headers?: Record<string, string>): Promise<Response>;
  ask(id: string | number, method: string, params?: JsonObject): Promise<JsonObject>;
  close(): void;
}

async function connectSse(url: string, capabilities?: JsonObject): Promise<SseAgent> {
  const closing = new AbortController();
  const response = await fetch(url, { headers: { accept: 'text/event-stream' }, signal: closing.signal });
  expect(response.status).toBe(200);
  const messages = createMessageQueue(`GET ${url}`);
  let name: (endpoint: string) => void = () => {};
  const named = new Promise<string>((resolve) => {
    name = resolve;
  });
  const parser = createParser({
    onEvent: ({ event, data }) => (event === 'endpoint' ? name(data) : messages.push(JSON.parse(data))),
  });
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      parser.feed(decoder.decode(chunk, { stream: true }));
    }
    messages.end('whole');
  };
  const ended = read();
  // A test that closes it knows that it ends.
  ended.catch(() => messages.end('broken'));
  const endpoint = await named;
  const send: SseAgent['send'] = (message, headers) =>
    fetch(new URL(endpoint, url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof message === 'string' ? message : JSON.stringify(message),
    });
  const ask: SseAgent['ask'] = async (id, method, params) => {
    const { status } = await send({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) });
    expect(status).toBe(202);
    return messages.next((message) => message['id'] === id && !('method' in message));
  };
  const close = () => closing.abort();
  if (capabilities !== undefined) {
    const clientInfo = { name: 'sse-agent', version: '1.0.0' };
    await ask('hello', 'initialize', { protocolVersion: '2024-11-05', capabilities, clientInfo });
    await send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }
  const dispose = async () => close();
  return { endpoint, messages, ended, send, ask, close, [Symbol.asyncDispose]: dispose };
}

describe('the HTTP+SSE front', () => {
  let up: ScriptedUpstream;
  let shared: ScriptedUpstream;
  let gateway: StartedGateway;
  let url: string;
  beforeAll(async () => {
    up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['echo', 'slow', 'progress', 'ask'] });
    shared = await startHttpUpstream({ id: 'shared', era: 'legacy', tools: ['slow'] });
    const upstreams = { up: { ...up.config, isolation: 'session' }, shared: shared.config };
    gateway = await startGateway({ upstreams, ...ON });
    await gateway.gateway.settled();
    url = `${gateway.origin}/sse`;
  });
  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
    await shared?.[Symbol.asyncDispose]();
  });

  const call = (name: string, args: JsonObject = {}, meta: JsonObject = {}) => ({
    name: `up.${name}`,
    arguments: args,
    _meta: meta,
  });

  it('names an address on its own origin first, and then carries everything on the stream', async () => {
    await using agent = await connectSse(url);
    expect(agent.endpoint).toMatch(/^\/sse\?sessionId=[\w-]{20,}$/);
    const clientInfo = { name: 'c', version: '1' };
    const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo };
    expect(await agent.ask(0, 'initialize', hello)).toMatchObject({
      result: { protocolVersion: '2024-11-05' },
    });
    expect(await agent.ask('a', 'tools/list')).toMatchObject({ result: { tools: { length: 5 } } });
    const counted = agent.ask('b', 'tools/call', call('progress', { steps: 2 }, { progressToken: 7 }));
    expect(await counted).toMatchObject({ result: { structuredContent: { steps: 2 } } });
    const progress = agent.messages.all.filter(({ method }) => method === 'notifications/progress');
    expect(progress.map(({ params }) => params)).toMatchObject([
      { progressToken: 7, progress: 1 },
      { progressToken: 7, progress: 2 },
    ]);
  });

  it('tells of list changes', async () => {
    await using agent = await connectSse(url, {});
    await up.untilListening();
    await up.addTool('more');
    await up.notify('tools');
    await agent.messages.next('notifications/tools/list_changed');
  });

  it('asks what a server wants to know', async () => {
    await using agent = await connectSse(url, { elicitation: {} });
    const answered = agent.ask('a', 'tools/call', call('ask', { kind: 'elicitation' }));
    const { id } = await agent.messages.next('elicitation/create');
    const result = { action: 'accept', content: { name: 'Ada' } };
    await agent.send({ jsonrpc: '2.0', id, result });
    expect(await answered).toMatchObject({ result: { structuredContent: { answers: [{ result }] } } });
  });

  it('C-063: cancels a call by its id, and says nothing more of it', async () => {
    await using agent = await connectSse(url, {});
    const mark = up.mark();
    await agent.send({ jsonrpc: '2.0', id: 'gone', method: 'tools/call', params: call('slow') });
    await up.untilReceived('tools/call', undefined, { after: mark });
    await agent.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'gone' } });
    await up.untilReceived('notifications/cancelled', undefined, { after: mark });
    await agent.ask('after', 'ping');
    expect(agent.messages.all.filter(({ id }) => id === 'gone')).toEqual([]);
  });

  it('ends everything of a client that closes its stream', async () => {
    const agent = await connectSse(url, {});
    const mark = up.mark();
    await agent.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call('slow') });
    await agent.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'shared.slow' } });
    await up.untilReceived('tools/call', undefined, { after: mark });
    await shared.untilReceived('tools/call');
    agent.close();
    await shared.untilReceived('notifications/cancelled');
    // The connection that was this session's own goes as a whole.
    await up.untilReceived('$DELETE', undefined, { after: mark });
    expect((await agent.send({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(404);
  });

  it('keeps clients apart', async () => {
    await using one = await connectSse(url, {});
    await using other = await connectSse(url, {});
    const answers = await Promise.all([
      one.ask(1, 'tools/call', call('echo', { of: 'one' })),
      other.ask(1, 'tools/call', call('echo', { of: 'other' })),
    ]);
    expect(answers).toMatchObject([
      { result: { structuredContent: { of: 'one' } } },
      { result: { structuredContent: { of: 'other' } } },
    ]);
    expect(one.messages.count()).toBe(2);
  });

  it('knows nothing of the modern era, which sends clients that try it to initialize', async () => {
    await using agent = await connectSse(url);
    expect(await agent.ask('probe', 'server/discover', { _meta: PROBE })).toMatchObject({
      error: { code: -32601 },
    });
    expect(await agent.ask('early', 'tools/list')).toMatchObject({ error: { code: -32600 } });
  });

  it.each([
    ['no JSON', '{"jsonrpc":', {}, 400, -32700],
    ['another type', '{}', { 'content-type': 'text/plain' }, 415, -32600],
    ['another origin', '{}', { origin: 'https://evil.example' }, 403, -32600],
  ])('refuses a message at once: %s', async (_, body, headers, status, code) => {
    await using agent = await connectSse(url, {});
    const refused = await agent.send(body, headers);
    expect(refused.status).toBe(status);
    expect(await refused.json()).toMatchObject({ error: { code } });
  });

  it.each([
    ['POST', '/sse', 405],
    ['POST', '/sse?sessionId=00000000-0000-4000-8000-000000000000', 404],
    ['DELETE', '/sse', 405],
    ['HEAD', '/sse', 405],
    ['GET', '/sse/nobody', 404],
    ['GET', '/sse?names=nice', 400],
  ])('answers %s %s with %i', async (method, path, status) => {
    const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
    expect((await fetch(`${gateway.origin}${path}`, { method, ...body })).status).toBe(status);
  });

  it('refuses an address of another entrance', async () => {
    await using agent = await connectSse(url, {});
    const elsewhere = await fetch(`${gateway.origin}/sse/up?${agent.endpoint.split('?')[1]}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
    expect(elsewhere.status).toBe(404);
  });

  it('serves one upstream alone, and names in the style asked for', async () => {
    await using alone = await connectSse(`${url}/up`, {});
    expect(await alone.ask(1, 'tools/list')).toMatchObject({
      result: { tools: [{ name: 'echo' }, {}, {}, {}, {}] },
    });
    await using strict = await connectSse(`${url}?names=strict`, {});
    expect(await strict.ask(1, 'tools/list')).toMatchObject({
      result: { tools: [{ name: 'up__echo' }, {}, {}, {}, {}, {}] },
    });
  });
});

describe('the settings of the HTTP+SSE front', () => {
  it('have it off', async () => {
    await using gateway = await startGateway({ upstreams: {} });
    expect((await fetch(`${gateway.origin}/sse`)).status).toBe(404);
  });

  it('say where it is, and how it is seen from outside', async () => {
    const listen = { publicUrl: 'https://mcp.example.com/tools/mcp' };
    const legacySse = { enabled: true, path: '/old/events' };
    await using gateway = await startGateway({ upstreams: {}, listen, legacySse });
    await using agent = await connectSse(`${gateway.origin}/old/events`);
    expect(agent.endpoint).toMatch(/^\/tools\/old\/events\?sessionId=/);
  });

  it.each(['/mcp', '/mcp/sse', '/healthz', 'sse', '/', '/a/../mcp?x'])('refuse the path %s', async (path) => {
    await expect(startGateway({ upstreams: {}, legacySse: { enabled: true, path } })).rejects.toThrow();
  });

  it('bound the number of streams', async () => {
    await using gateway = await startGateway({ upstreams: {}, ...ON, streams: { max: 1 } });
    const first = await connectSse(`${gateway.origin}/sse`);
    expect((await fetch(`${gateway.origin}/sse`)).status).toBe(503);
    first.close();
    await expect
      .poll(async () => {
        const { status, body } = await fetch(`${gateway.origin}/sse`);
        await body?.cancel();
        return status;
      })
      .toBe(200);
  });

  it('end the streams at a shutdown', async () => {
    const gateway = await startGateway({ upstreams: {}, ...ON });
    await using agent = await connectSse(`${gateway.origin}/sse`, {});
    await gateway.close();
    await agent.ended;
  });
});

describe('the session of an HTTP+SSE client', () => {
  it('lives as long as its stream, not as long as an id of a session would', async () => {
    await using gateway = await startGateway({ upstreams: {}, ...ON, sessions: { maxAge: '1ms' } });
    await using agent = await connectSse(`${gateway.origin}/sse`, {});
    expect(await agent.ask('late', 'ping')).toMatchObject({ result: {} });
  });

  it('is over with a shutdown, but not before what it asked for is answered', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['slow'] });
    const gateway = await startGateway({ upstreams: { up: up.config }, ...ON });
    await gateway.gateway.settled();
    await using agent = await connectSse(`${gateway.origin}/sse`, {});
    const answered = agent.ask('slow', 'tools/call', { name: 'up.slow', arguments: {} });
    await up.untilReceived('tools/call');
    const closed = gateway.close();
    await expect
      .poll(() => fetch(`${gateway.origin}/healthz`).then(({ status }) => status, String))
      .not.toBe(200);
    await up.release('slow');
    expect(await answered).toMatchObject({ result: { structuredContent: { done: true } } });
    await agent.ended;
    await closed;
  });
});

describe.each(['v1', 'v2-auto', 'v2-legacy'] as const)(
  'the client of the SDK, %s, over HTTP+SSE,',
  (label) => {
    it('works with a real server behind the gateway', async () => {
      await using gateway = await startGateway({ upstreams: { every: everythingStdio() }, ...ON });
      await gateway.gateway.settled();
      await using sdk = await connectSdk(label, { sseUrl: `${gateway.origin}/sse` });
      expect((await sdk.listTools()).map(({ name }) => name)).toContain('every.echo');
      const { content } = await sdk.callTool('every.echo', { message: 'hi' });
      expect(content).toMatchObject([{ type: 'text', text: 'Echo: hi' }]);
    });
  },
);
