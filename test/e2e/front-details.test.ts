import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

let up: ScriptedUpstream;
let gateway: StartedGateway;

beforeAll(async () => {
  up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['echo', 'log', 'progress'] });
  gateway = await startGateway({ upstreams: { up: up.config } });
  await gateway.gateway.settled();
});

afterAll(async () => {
  await gateway?.close();
  await up?.[Symbol.asyncDispose]();
});

describe('a request of a legacy session', () => {
  it.each(['GET', 'DELETE'])(
    '%s with a version that is not spoken is refused, and ends nothing',
    async (method) => {
      await using agent = await connectLegacy(gateway.url);
      const { status, error } = await agent.http(method, { 'mcp-protocol-version': '1999-01-01' }).done;
      expect([status, error?.code]).toEqual([400, -32022]);
      expect((await agent.request('ping')).status).toBe(200);
    },
  );
});

describe('HEAD', () => {
  it.each(['/healthz', '/readyz', '/metrics'])(
    'of %s is answered as GET is, without a body',
    async (path) => {
      const [head, get] = await Promise.all(
        ['HEAD', 'GET'].map((method) => fetch(`${gateway.origin}${path}`, { method })),
      );
      expect([head?.status, await head?.text()]).toEqual([200, '']);
      expect(head?.headers.get('content-type')).toBe(get?.headers.get('content-type'));
      expect(await get?.text()).not.toBe('');
    },
  );
});

describe('a body', () => {
  const body = (text: string) =>
    JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping', params: { text: text.padEnd(200_000, 'x') } });

  it.each<BufferEncoding>(['latin1', 'utf16le'])(
    'that is %s is refused, not taken for other words',
    async (encoding) => {
      await using agent = await connectLegacy(gateway.url);
      const headers = {
        'content-type': 'application/json',
        'mcp-session-id': agent.sessionId ?? '',
      };
      const posted = async (bytes: Buffer) => {
        const response = await fetch(gateway.url, { method: 'POST', headers, body: bytes });
        return [response.status, await response.json()];
      };
      expect(await posted(Buffer.from(body('café')))).toMatchObject([200, { result: {} }]);
      expect(await posted(Buffer.from(body('café'), encoding))).toMatchObject([
        400,
        { error: { code: -32700 } },
      ]);
    },
  );
});

describe('an initialize', () => {
  it('with a byte order mark before it, and its version in _meta as well, opens a session', async () => {
    await using agent = await connectLegacy(gateway.url, { greet: false });
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
      _meta: { [META.version]: '2025-11-25' },
    };
    const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    const { status, headers } = await agent.post(`\ufeff${JSON.stringify(body)}`);
    expect([status, headers['mcp-session-id']]).toEqual([200, expect.any(String)]);
  });
});

describe('a subscriptions/listen', () => {
  it('that takes no event stream is refused, since there is nothing else to answer it with', async () => {
    await using agent = await connectModern(gateway.url);
    const headers = { accept: 'application/json' };
    const { status, error } = await agent.request('subscriptions/listen', { notifications: {} }, { headers });
    expect([status, error?.code]).toEqual([406, -32600]);
  });
});

describe.each(AGENTS)('a progressToken of a $era client', ({ connect }) => {
  it.each([null, { a: 1 }, ['x'], true])('%j is none: nothing is told under it', async (progressToken) => {
    await using agent = await connect(gateway.url);
    const { progress, structured } = await agent.call('up.progress', {}, { meta: { progressToken } });
    expect([progress, structured]).toEqual([[], { steps: 3 }]);
  });
});

describe('a log level that there is none of', () => {
  it('is refused, and spoils nobody else’s on a connection that they share', async () => {
    await using agent = await connectModern(gateway.url);
    const meta = (level: unknown) => ({ meta: { [META.logLevel]: level } });
    const refused = await agent.request('tools/call', { name: 'up.echo' }, meta('verbose'));
    expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining('log level') });
    const { logs } = await agent.call('up.log', { level: 'debug' }, meta('debug'));
    expect(logs).toMatchObject([{ level: 'debug' }]);
    const levels = up.received.filter(({ method }) => method === 'logging/setLevel');
    expect(levels.map(({ params }) => params['level'])).toEqual(['debug']);
  });
});
