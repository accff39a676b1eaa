import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent, HeaderChanges } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Answer } from '../kit/http-exchange.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

let up: ScriptedUpstream;
let other: ScriptedUpstream;
let gateway: StartedGateway;
let legacy: Agent;
let modern: Agent;

beforeAll(async () => {
  up = await startHttpUpstream({
    id: 'up',
    tools: ['echo', 'slow', 'progress'],
    prompts: ['greet'],
    resources: ['note://x'],
    templates: ['note://{id}/x'],
    instructions: 'Ask me first.',
  });
  other = await startHttpUpstream({
    id: 'other',
    tools: [
      'echo',
      { name: 'app', inputSchema: { type: 'object' }, _meta: { ui: { resourceUri: 'note://x' } } },
    ],
    resources: ['note://x'],
    capabilities: { prompts: null, completions: null },
  });
  gateway = await startGateway({
    limits: { maxBodyBytes: '64KiB' },
    streams: { keepAlive: '20ms' },
    upstreams: {
      up: up.config,
      other: other.config,
      resting: { command: 'never-started', enabled: false },
    },
  });
  await gateway.gateway.settled();
  legacy = await connectLegacy(gateway.url);
  modern = await connectModern(gateway.url);
});

afterAll(async () => {
  await legacy?.[Symbol.asyncDispose]();
  await modern?.[Symbol.asyncDispose]();
  await gateway?.close();
  await up?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
});

const agentOf = (era: string) => (era === 'legacy' ? legacy : modern);
const ERAS = [{ era: 'legacy' }, { era: 'modern' }] as const;

/** A call of `up.echo` in the form of an era. */
const callOf = (era: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'up.echo',
    arguments: { a: 1 },
    _meta:
      era === 'legacy'
        ? {}
        : {
            [META.version]: '2026-07-28',
            [META.capabilities]: {},
            [META.clientInfo]: { name: 'c', version: '1' },
          },
  },
});

/** Posts a body as it is, in the name of an open session or as a modern request of that tool. */
function post(era: string, body: unknown, more: HeaderChanges = {}): Promise<Answer> {
  const own =
    era === 'legacy'
      ? { 'mcp-session-id': legacy.sessionId ?? '' }
      : { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'up.echo' };
  return agentOf(era).post(body, { ...own, ...more });
}

const only = ({ status, messages }: Answer) => [status, messages[0]] as const;

describe('C-042: HTTP methods of the endpoint', () => {
  it.each(['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD'])(
    '%s without a session is refused at once, with Allow',
    async (method) => {
      const { status, headers, ended } = await modern.http(method, { 'mcp-protocol-version': null }).done;
      expect([status, ended]).toEqual([405, 'whole']);
      expect(headers['allow']).toMatch(/\bPOST\b.*\bGET\b.*\bDELETE\b/);
    },
  );

  it.each(['PUT', 'PATCH', 'HEAD'])('%s with a session is refused likewise', async (method) => {
    expect((await legacy.http(method).done).status).toBe(405);
  });

  it('OPTIONS says what there is', async () => {
    const { status, headers } = await modern.http('OPTIONS').done;
    expect([status, headers['allow']]).toEqual([204, expect.stringMatching(/POST.*GET.*DELETE/)]);
  });

  it('a GET that takes no event stream is refused, not answered with something else', async () => {
    const { status } = await legacy.http('GET', { accept: 'application/json' }).done;
    expect(status).toBe(406);
    expect((await legacy.http('GET', { accept: 'text/html' }).done).status).toBe(406);
  });

  it.each(['/', '/nope', '/mcp/up/more', '/mcpx', '/sse', '/messages'])(
    'there is nothing at %s',
    async (path) => {
      const response = await fetch(`${gateway.origin}${path}`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      });
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
    },
  );
});

describe('an endpoint that is not there', () => {
  it.each(['POST', 'GET', 'DELETE', 'PUT', 'PATCH', 'HEAD'])(
    'is so for %s, whatever else is wrong',
    async (method) => {
      const { status } = await fetch(`${gateway.url}/nobody`, { method });
      expect(status).toBe(404);
    },
  );
});

describe('C-043: /mcp/ is /mcp', () => {
  it.each(AGENTS)('a $era client is served there directly', async ({ connect }) => {
    await using agent = await connect(`${gateway.url}/`);
    expect(await agent.names()).toContain('up.echo');
    expect((await agent.call('up.echo', { n: 1 })).structured).toEqual({ n: 1 });
    await using stream = await agent.listen();
    expect(stream.count()).toBeLessThanOrEqual(1);
    await using single = await connect(`${gateway.url}/up/`);
    expect(await single.names()).toContain('echo');
  });
});

describe('C-042: event streams', () => {
  const GENTLE = {
    'content-type': expect.stringMatching(/^text\/event-stream/),
    'cache-control': expect.stringContaining('no-cache'),
    'x-accel-buffering': 'no',
  };

  it.each(ERAS)(
    'of a call to a $era client: headers at once, not buffered, alive while it is quiet',
    async ({ era }) => {
      const agent = agentOf(era);
      const label = `stream-${era}`;
      const running = agent.begin(
        'tools/call',
        { name: 'up.slow', arguments: { label, steps: 1 } },
        { progressToken: 'p' },
      );
      const { status, headers } = await running.opened;
      expect([status, headers]).toMatchObject([200, GENTLE]);
      await running.next('notifications/progress');
      expect(running.count()).toBe(1);
      // Nothing but time tells that it is quiet: three intervals and more.
      await agent.call('up.slow', { ms: 200 });
      expect(await up.release(label)).toBe(1);
      const answer = await running.done;
      expect(answer.result).toMatchObject({ structuredContent: { done: true } });
      expect(answer.comments).toBeGreaterThanOrEqual(2);
      expect(answer.text).not.toMatch(/\r/);
    },
  );

  it.each(ERAS)('of notices to a $era client: the same', async ({ era }) => {
    const agent = agentOf(era);
    const stream = await agent.listen({ tools: true });
    await agent.call('up.slow', { ms: 200 });
    await stream.close();
    const { status, headers, comments } = await stream.closed;
    expect([status, headers]).toMatchObject([200, GENTLE]);
    expect(comments).toBeGreaterThanOrEqual(2);
  });
});

describe.each(ERAS)('bodies of a $era client', ({ era }) => {
  const CALL = callOf(era);

  it('up to the limit are taken; larger ones are 413, announced or not', async () => {
    const sized = (bytes: number) => ({
      ...CALL,
      params: { ...CALL.params, arguments: { a: 'x'.repeat(bytes) } },
    });
    expect((await post(era, sized(60_000))).status).toBe(200);
    expect(only(await post(era, sized(70_000)))).toMatchObject([413, { error: { code: -32600 } }]);
    const chunked = await post(era, sized(70_000), { 'transfer-encoding': 'chunked' });
    expect(chunked.status).toBe(413);
    expect((await post(era, CALL)).status).toBe(200);
  });

  it.each([
    'text/plain',
    'application/jsonp',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    null,
  ])('called %s are 415', async (type) => {
    expect(only(await post(era, CALL, { 'content-type': type }))).toMatchObject([415, { error: {} }]);
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"'])(
    'called %s are JSON',
    async (type) => {
      expect(only(await post(era, CALL, { 'content-type': type }))).toMatchObject([
        200,
        { id: 1, result: {} },
      ]);
    },
  );

  it.each(['{', '', 'null x', '{"jsonrpc":"2.0","id":1,}', '\u0000'])(
    'that are no JSON (%j) are -32700',
    async (body) => {
      const [status, message] = only(await post(era, body));
      expect([status, message]).toMatchObject([400, { jsonrpc: '2.0', error: { code: -32700 } }]);
    },
  );

  it.each([
    ['null', null],
    ['a string', '"tools/list"'],
    ['a number', 7],
    ['no jsonrpc', { id: 1, method: 'ping' }],
    ['another jsonrpc', { jsonrpc: '1.0', id: 1, method: 'ping' }],
    ['no method', { jsonrpc: '2.0', id: 1 }],
    ['a method that is no string', { jsonrpc: '2.0', id: 1, method: 7 }],
    ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: [] }],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'tools/list' }],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'tools/list' }],
    ['an id that is a fraction', { jsonrpc: '2.0', id: 1.5, method: 'tools/list' }],
    ['an id beyond the safe integers', '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}'],
  ])('that are no JSON-RPC (%s) are -32600', async (_title, body) => {
    const raw = body === null ? 'null' : body === 7 ? '7' : body;
    const [status, message] = only(await post(era, raw));
    expect([status, message]).toMatchObject([400, { jsonrpc: '2.0', error: { code: -32600 } }]);
  });

  it.each([0, -1, '', 'x', '1', 9_007_199_254_740_991])(
    'with the id %j are answered under it',
    async (id) => {
      expect(only(await post(era, { ...CALL, id }))).toMatchObject([200, { id, result: {} }]);
    },
  );

  it('that are batches are refused, empty ones too', async () => {
    const before = up.count('tools/call') + other.count('tools/call');
    for (const batch of [[], [CALL], [CALL, { ...CALL, id: 2 }]]) {
      const [status, message] = only(await post(era, batch));
      expect([status, message]).toMatchObject([400, { error: { code: -32600 } }]);
    }
    expect(up.count('tools/call') + other.count('tools/call')).toBe(before);
  });

  it('with members of odd names pass them on as data', async () => {
    const odd = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"a":1}},"toString":null,"":0}';
    const body = JSON.stringify(CALL).replace('{"a":1}', odd);
    const answer = await post(era, body);
    expect(answer.text).toContain(`"structuredContent":${odd}`);
    expect(({} as JsonObject)['polluted']).toBeUndefined();
    const { message } = await up.untilReceived('tools/call', ({ params }) =>
      Object.hasOwn(Object(params['arguments']), ''),
    );
    expect(JSON.stringify(message)).toContain(odd);
  });

  it('with params that nobody knows pass them on, whatever the method', async () => {
    const agent = agentOf(era);
    const after = up.mark();
    const more = { timeout: 5, 'x-vendor': { a: [null] }, task: undefined };
    await agent.result('tools/call', { name: 'up.echo', arguments: {}, ...more });
    await agent.result('prompts/get', { name: 'up.greet', ...more });
    await agent.result('resources/read', { uri: 'note://x', ...more });
    expect(await agent.result('tools/list', more)).toMatchObject({ tools: expect.any(Array) });
    for (const method of ['tools/call', 'prompts/get', 'resources/read']) {
      const { params } = await up.untilReceived(method, undefined, { after });
      expect(params).toMatchObject({ timeout: 5, 'x-vendor': { a: [null] } });
    }
  });
});

describe('members that come twice', () => {
  const CALL = callOf('modern');

  it('count as what the headers say, or the request is refused', async () => {
    const twice = JSON.stringify(CALL).replace('"name":"up.echo"', '"name":"up.echo","name":"other.echo"');
    const before = other.count('tools/call') + up.count('tools/call');
    expect(only(await post('modern', twice))).toMatchObject([400, { error: { code: expect.any(Number) } }]);
    const method = JSON.stringify(CALL).replace(
      '"method":"tools/call"',
      '"method":"tools/call","method":"tools/list"',
    );
    expect(only(await post('modern', method))).toMatchObject([400, { error: {} }]);
    expect(other.count('tools/call') + up.count('tools/call')).toBe(before);
  });
});

describe.each(ERAS)('Accept of a $era client', ({ era }) => {
  const CALL = callOf(era);

  it.each([
    'application/json, text/event-stream',
    'application/json',
    '*/*',
    'application/*',
    null,
    'text/html, */*;q=0.1',
    'APPLICATION/JSON;q=0.9,text/event-stream;q=0.8',
  ])('%s: JSON', async (accept) => {
    const { status, headers } = await post(era, CALL, { accept });
    expect([status, headers['content-type']]).toEqual([200, expect.stringMatching(/^application\/json/)]);
  });

  it('text/event-stream alone: an event stream', async () => {
    const { status, headers, messages } = await post(era, CALL, { accept: 'text/event-stream' });
    expect([status, headers['content-type']]).toEqual([200, expect.stringMatching(/^text\/event-stream/)]);
    expect(messages).toMatchObject([{ id: 1, result: { structuredContent: { a: 1 } } }]);
  });

  it.each(['text/html', 'image/*', 'application/xml, text/plain'])('%s: 406', async (accept) => {
    expect(only(await post(era, CALL, { accept }))).toMatchObject([406, { error: { code: -32600 } }]);
  });

  it('application/json alone: the result, though there is progress to tell', async () => {
    const params = { ...CALL.params, name: 'up.progress', _meta: { ...CALL.params._meta, progressToken: 1 } };
    const named = era === 'modern' ? { 'mcp-name': 'up.progress' } : {};
    const { headers, messages } = await post(
      era,
      { ...CALL, params },
      { accept: 'application/json', ...named },
    );
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(messages).toMatchObject([{ id: 1, result: { structuredContent: { steps: 3 } } }]);
  });
});

describe('Accept of an initialize', () => {
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params: hello };

  it.each(['application/json', 'text/event-stream'])('%s: that form, and a session', async (accept) => {
    const { headers, messages } = await legacy.post(body, { 'mcp-session-id': null, accept });
    expect(headers['content-type']).toContain(accept);
    expect(messages).toMatchObject([{ id: 0, result: { protocolVersion: '2025-11-25' } }]);
    const opened = { 'mcp-session-id': headers['mcp-session-id'] ?? '' };
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect(await legacy.post(ping, opened)).toMatchObject({ status: 200 });
  });
});

describe.each(AGENTS)('/mcp/<upstream id> for a $era client', ({ era, connect }) => {
  it('is that upstream alone, under its own names and URIs', async () => {
    await using agent = await connect(`${gateway.url}/other`);
    expect(await agent.names()).toEqual(['echo', 'app']);
    expect(await agent.names('resources')).toEqual(['note://x']);
    const { _meta } = (await agent.list('tools'))[1] ?? {};
    expect(_meta).toEqual({ ui: { resourceUri: 'note://x' } });
    const marked = other.mark();
    expect((await agent.call('echo', { n: 1 })).structured).toEqual({ n: 1 });
    expect((await other.untilReceived('tools/call', undefined, { after: marked })).params['name']).toBe(
      'echo',
    );
    expect(await agent.result('resources/read', { uri: 'note://x' })).toMatchObject({
      contents: [{ uri: 'note://x', text: 'note://x of other' }],
    });
    for (const name of ['other.echo', 'up.echo', 'slow']) {
      const { error } = await agent.request('tools/call', { name, arguments: {} });
      expect(error?.code, name).toBe(-32602);
    }
  });

  it('declares what that upstream can do, and no more', async () => {
    await using small = await connect(`${gateway.url}/other`);
    expect(Object.keys(small.hello['capabilities'] as object).toSorted()).toEqual([
      'logging',
      'resources',
      'tools',
    ]);
    expect(small.hello).not.toHaveProperty('instructions');
    const { error } = await small.request('prompts/list');
    expect(error?.code).toBe(-32601);
    await using full = await connect(`${gateway.url}/up`);
    expect(Object.keys(full.hello['capabilities'] as object)).toEqual(
      expect.arrayContaining(['completions', 'prompts', 'resources', 'tools']),
    );
    expect(full.hello['instructions']).toContain('Ask me first.');
    expect(await full.names('prompts')).toEqual(['greet']);
  });

  it('hears the changes of that upstream alone', async () => {
    await using agent = await connect(`${gateway.url}/up`);
    await using notices = await agent.listen({ tools: true });
    await Promise.all([up.untilListening(), other.untilListening()]);
    const added = `more-${era}`;
    await other.addTool(added);
    await other.notify('tools');
    await agentOf(era).untilNames((names) => names.includes(`other.${added}`));
    await up.addTool(added);
    await up.notify('tools');
    await notices.next('notifications/tools/list_changed');
    expect(notices.count('notifications/tools/list_changed')).toBe(1);
    const rest = (other.script.tools ?? []).filter((tool) => tool !== added);
    await other.setTools(rest);
    await other.notify('tools');
    await agentOf(era).untilNames((names) => !names.includes(`other.${added}`));
  });

  it.each(['nobody', 'resting', 'constructor', '__proto__', 'UP', 'up%2F', '..%2Fup'])(
    '%s is no endpoint',
    async (id) => {
      await using agent = await connect(`${gateway.url}/${id}`, { greet: false });
      expect((await agent.request('tools/list')).status).toBe(404);
    },
  );
});
