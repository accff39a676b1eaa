import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { Script } from '../kit/upstream.ts';

const LEGACY: Script = { id: 'up', era: 'legacy', tools: ['echo', 'slow'] };

/** With a stream of notices its end is heard; without one only calls find out. */
const STREAMS = AGENTS.flatMap((client) => [
  { ...client, getStream: true },
  { ...client, getStream: false },
]);

describe.each(STREAMS)(
  'C-039: an upstream (stream of notices: $getStream) ends its session; a $era client',
  ({ connect, getStream }) => {
    let up: ScriptedHttp;
    let other: ScriptedHttp;
    let gateway: StartedGateway;
    let agent: Agent;

    beforeAll(async () => {
      up = await startHttpUpstream({ ...LEGACY, http: { getStream } });
      other = await startHttpUpstream({ ...LEGACY, id: 'other' });
      const restart = { base: '20ms', cap: '50ms' };
      gateway = await startGateway({ upstreams: { up: { ...up.config, restart }, other: other.config } });
      await gateway.gateway.settled();
      agent = await connect(gateway.url);
    });

    afterAll(async () => {
      await agent?.[Symbol.asyncDispose]();
      await gateway?.close();
      await up?.[Symbol.asyncDispose]();
      await other?.[Symbol.asyncDispose]();
    });

    const calls = (count: number) =>
      Promise.all(Array.from({ length: count }, (_, n) => agent.call('up.echo', { n })));
    const opened = (after: number) =>
      up.received.slice(after).filter(({ method }) => method === 'initialize').length;
    const ready = () =>
      expect
        .poll(() => gateway.gateway.readiness().upstreams['up'], { timeout: 10_000 })
        .toMatchObject({ state: 'ready' });

    it('gets ordinary results from ten calls at once: one new session, lists read again', async () => {
      await ready();
      const [old = ''] = up.sessions;
      await up.setTools(['echo', 'slow', 'new']);
      const after = up.mark();
      up.forgetSessions();
      const answers = await calls(10);
      expect(answers.map(({ structured }) => structured)).toEqual(answers.map((_, n) => ({ n })));
      expect(opened(after)).toBe(1);
      await agent.untilNames((names) => names.includes('up.new'));
      const next = up.mark();
      expect((await agent.call('up.new', { a: 1 })).structured).toEqual({ a: 1 });
      const sent = up.received.slice(next).map(({ headers }) => headers['mcp-session-id']);
      expect(sent).not.toContain(old);
      await ready();
    });

    it.each([
      { title: 'with words', body: 'Bad Request: no valid session ID provided' },
      {
        title: 'as JSON-RPC',
        body: { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Session expired' } },
      },
    ])('gets an ordinary result from one that says 400 $title', async ({ body }) => {
      await ready();
      const after = up.mark();
      await up.change({ faults: [{ on: 'tools/call', times: 1, do: { status: 400, body } }] });
      expect((await calls(1))[0]?.structured).toEqual({ n: 0 });
      expect(opened(after)).toBe(1);
    });

    it('gets one error naming the server when the new session is refused too, and is served later', async () => {
      await ready();
      const after = up.mark();
      await up.change({ faults: [{ on: 'tools/call', do: { status: 404 } }] });
      const { result } = await agent.request('tools/call', { name: 'up.echo', arguments: {} });
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^\[up\] /) }] });
      const asked = up.received.slice(after).filter(({ method }) => method === 'tools/call');
      expect(asked).toHaveLength(2);
      await up.change({ faults: [] });
      await expect
        .poll(() => agent.request('tools/call', { name: 'up.echo', arguments: { n: 9 } }), {
          timeout: 10_000,
        })
        .toMatchObject({ result: { structuredContent: { n: 9 } } });
    });

    it('never disturbed the other server by all that', async () => {
      expect(other.count('initialize')).toBe(1);
      expect(other.sessions).toHaveLength(1);
      expect((await agent.call('other.echo', { n: 1 })).structured).toEqual({ n: 1 });
    });
  },
);

it('C-039: 404 from a server without sessions is an error of that call, and no reason for a new handshake', async () => {
  await using up = await startHttpUpstream({ ...LEGACY, http: { sessions: false } });
  await using gateway = await startGateway({ upstreams: { up: up.config } });
  await gateway.gateway.settled();
  await using agent = await connectModern(gateway.url);
  await up.change({ faults: [{ on: 'tools/call', times: 1, do: { status: 404, body: 'Not here' } }] });
  const { result } = await agent.request('tools/call', { name: 'up.echo', arguments: {} });
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^\[up\] /) }] });
  expect(JSON.stringify(result)).not.toContain('Not here');
  expect(up.count('initialize')).toBe(1);
  expect((await agent.call('up.echo', { n: 1 })).structured).toEqual({ n: 1 });
});

describe('C-040: session ids that nobody knows', () => {
  let up: ScriptedHttp;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await startHttpUpstream(LEGACY);
    gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const hello = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  };
  const stale = { 'mcp-session-id': 'a-session-of-yesterday' };

  it('404 for requests, notifications and responses, GET and DELETE; 400 for none at all', async () => {
    await using agent = await connectLegacy(gateway.url, { greet: false });
    const notice = { jsonrpc: '2.0', method: 'notifications/initialized' };
    for (const body of [list, notice, { jsonrpc: '2.0', id: 5, result: {} }]) {
      const { status, headers } = await agent.post(body, stale);
      expect([status, headers['content-type']]).toEqual([404, expect.stringMatching(/^application\/json/)]);
    }
    expect(await agent.post(list, stale)).toMatchObject({ messages: [{ error: { code: -32600 } }] });
    expect((await agent.http('GET', stale).done).status).toBe(404);
    expect((await agent.http('DELETE', stale).done).status).toBe(404);
    expect((await agent.post(list)).status).toBe(400);
    const { messages } = await agent.post(list);
    expect(messages).toMatchObject([{ id: 1, error: { message: expect.stringContaining('initialize') } }]);
  });

  it('a fresh session for an initialize that carries one', async () => {
    await using agent = await connectLegacy(gateway.url, { greet: false });
    const { status, headers, messages } = await agent.post(hello, stale);
    expect([status, messages]).toMatchObject([200, [{ id: 0, result: { protocolVersion: '2025-11-25' } }]]);
    const fresh = { 'mcp-session-id': headers['mcp-session-id'] ?? '' };
    expect(fresh['mcp-session-id']).not.toBe(stale['mcp-session-id']);
    expect(await agent.post(list, fresh)).toMatchObject({
      status: 200,
      messages: [{ id: 1, result: { tools: [{}, {}] } }],
    });
  });

  it('a modern request is served, whatever session it names', async () => {
    await using agent = await connectModern(gateway.url);
    await using session = await connectLegacy(gateway.url);
    for (const id of ['a-session-of-yesterday', '', session.sessionId ?? '']) {
      const { status, result } = await agent.request('tools/list', {}, { headers: { 'mcp-session-id': id } });
      expect([status, result?.['resultType']]).toEqual([200, 'complete']);
    }
  });

  it('after its DELETE an id is refused like any other, a second DELETE too', async () => {
    await using agent = await connectLegacy(gateway.url);
    await using stream = await agent.listen();
    expect((await agent.http('DELETE').done).status).toBe(204);
    expect((await stream.closed).ended).toBe('whole');
    expect((await agent.http('DELETE').done).status).toBe(404);
    expect((await agent.http('GET').done).status).toBe(404);
    expect((await agent.request('tools/list')).status).toBe(404);
  });

  it('an id is worth nothing altered, at another endpoint, or at another gateway', async () => {
    await using agent = await connectLegacy(gateway.url);
    const id = agent.sessionId ?? '';
    const at = Math.floor(id.length / 2);
    const altered = { 'mcp-session-id': id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1) };
    expect((await agent.post(list, altered)).status).toBe(404);
    await using elsewhere = await connectLegacy(`${gateway.url}/up`, { greet: false });
    expect((await elsewhere.post(list, { 'mcp-session-id': id })).status).toBe(404);
    await using second = await startGateway({ upstreams: {} });
    await using foreign = await connectLegacy(second.url, { greet: false });
    expect((await foreign.post(list, { 'mcp-session-id': id })).status).toBe(404);
    expect((await agent.post(list, { 'mcp-session-id': id })).status).toBe(200);
  });
});

describe('C-049: sessions that the gateway opened for its clients', () => {
  it.each([{ deletes: true }, { deletes: false }])(
    'end when the client ends its own, when it has been idle, and at the end (DELETE offered: $deletes)',
    async ({ deletes }) => {
      await using up = await startHttpUpstream({ ...LEGACY, http: { deletes } });
      const limits = { concurrency: 100 };
      const config = { ...up.config, isolation: 'session', timeouts: { idle: '300ms' }, limits };
      await using gateway = await startGateway({ upstreams: { up: config } });
      await gateway.gateway.settled();
      const agents = await Promise.all(Array.from({ length: 20 }, () => connectLegacy(gateway.url)));
      const running = agents.map((agent) =>
        agent.begin('tools/call', { name: 'up.slow', arguments: { label: 'all' } }),
      );
      await up.untilReceived('tools/call', undefined, { times: 20 });
      expect(up.sessions).toHaveLength(21);
      await up.release('all');
      await Promise.all(running.map(({ done }) => done));
      // Half of them say goodbye, the others vanish.
      const farewells = agents.slice(0, 10).map((agent) => agent.http('DELETE').done);
      expect((await Promise.all(farewells)).map(({ status }) => status)).toEqual(Array(10).fill(204));
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
      await up.untilReceived('$DELETE', undefined, { times: 20 });
      if (deletes) {
        await expect.poll(() => up.sessions.length).toBe(1);
      }
      const deleted = up.received.filter(({ method }) => method === '$DELETE');
      const ids = deleted.map(({ headers }) => headers['mcp-session-id']);
      expect(new Set(ids).size).toBe(20);
      await gateway.close();
      await up.untilReceived('$DELETE', undefined, { times: 21 });
      expect(up.count('$DELETE')).toBe(21);
    },
  );

  it('of calls under way end within the grace when the gateway closes', async () => {
    await using up = await startHttpUpstream(LEGACY);
    const shutdown = { grace: '200ms' };
    await using gateway = await startGateway({
      shutdown,
      upstreams: { up: { ...up.config, isolation: 'user' } },
    });
    await gateway.gateway.settled();
    await using agent = await connectLegacy(gateway.url);
    const running = agent.begin('tools/call', { name: 'up.slow', arguments: {} });
    await up.untilReceived('tools/call');
    await gateway.close();
    expect((await running.done).result ?? {}).toMatchObject({ isError: true });
    await expect.poll(() => up.sessions, { timeout: 5_000 }).toEqual([]);
  });
});

describe('C-050: headers of a client', () => {
  const canaries = {
    authorization: 'Bearer canary-token-1',
    cookie: 'sid=canary-cookie-2',
    'x-api-key': 'canary-key-3',
    'x-forwarded-for': '192.0.2.77',
    'x-forwarded-host': 'canary-host.example',
    forwarded: 'for=192.0.2.78',
    'proxy-authorization': 'Basic canary-proxy-5',
    'mcp-param-foo': 'canary-param-4',
    'x-custom': 'canary-custom-6',
    'user-agent': 'canary-agent-7',
    'accept-language': 'canary-language-8',
    'last-event-id': 'canary-event-9',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  };
  const ERAS = AGENTS.flatMap((client) => [
    { ...client, upstream: 'legacy' as const },
    { ...client, upstream: 'modern' as const },
  ]);

  it.each(ERAS)('of a $era client never reach a $upstream upstream', async ({ connect, upstream }) => {
    const script: Script = {
      era: upstream,
      tools: ['echo', 'whoami'],
      prompts: ['p'],
      resources: ['note://x'],
    };
    await using plain = await startHttpUpstream({ ...script, id: 'plain' });
    await using keyed = await startHttpUpstream({ ...script, id: 'keyed', http: { bearer: 'own-secret' } });
    await using gateway = await startGateway({
      upstreams: {
        plain: { ...plain.config, isolation: 'user' },
        keyed: { ...keyed.config, headers: { Authorization: 'Bearer own-secret', 'X-Team': 'core' } },
      },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url, { headers: canaries });
    await agent.untilNames((names) => names.length === 4);
    for (const id of ['plain', 'keyed']) {
      expect((await agent.call(`${id}.whoami`)).structured).toMatchObject({ id });
      await agent.result('prompts/get', { name: `${id}.p` });
    }
    await agent.result('resources/read', { uri: 'note://x' });
    const sent = [...plain.received, ...keyed.received].map(({ headers }) => headers);
    expect(sent.length).toBeGreaterThan(10);
    expect(JSON.stringify(sent)).not.toMatch(/canary|192\.0\.2\.7|0af7651916cd43dd8448eb211c80319c/);
    const names = new Set(plain.received.flatMap(({ headers }) => Object.keys(headers)));
    for (const name of [
      'authorization',
      'cookie',
      'x-api-key',
      'x-forwarded-for',
      'x-team',
      'mcp-param-foo',
    ]) {
      expect([...names]).not.toContain(name);
    }
    const own = keyed.received.map(({ headers }) => [headers['authorization'], headers['x-team']]);
    expect(new Set(own.map(String))).toEqual(new Set(['Bearer own-secret,core']));
  });
});
