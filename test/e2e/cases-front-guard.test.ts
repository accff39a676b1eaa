import { connect as connectSocket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One request over a socket of its own, exactly as written: no header is added, not even Host. */
function raw(port: number, head: readonly string[], body = ''): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => {
      const [start = '', rest = ''] = text.split(/\r\n\r\n(.*)/s);
      const [line = '', ...lines] = start.split('\r\n');
      const headers = lines.map((each) => {
        const at = each.indexOf(':');
        return [each.slice(0, at).toLowerCase(), each.slice(at + 1).trim()];
      });
      resolve({ status: Number(line.split(' ')[1]), headers: Object.fromEntries(headers), body: rest });
    });
    socket.write(
      `${[...head, 'Connection: close', `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`,
    );
  });
}

const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'up.echo',
    arguments: { a: 1 },
    _meta: { [META.version]: '2026-07-28', [META.capabilities]: {} },
  },
});
const POST = [
  'POST /mcp HTTP/1.1',
  'Content-Type: application/json',
  'Accept: application/json',
  'MCP-Protocol-Version: 2026-07-28',
  'Mcp-Method: tools/call',
  'Mcp-Name: up.echo',
];

let up: ScriptedUpstream;

beforeAll(async () => {
  up = await startHttpUpstream({ id: 'up', tools: ['echo', 'progress'] });
});

afterAll(() => up?.[Symbol.asyncDispose]());

async function gatewayOf(listen: object, more: object = {}): Promise<StartedGateway> {
  const gateway = await startGateway({ listen, ...more, upstreams: { up: up.config } });
  await gateway.gateway.settled();
  return gateway;
}

describe('C-092: DNS rebinding', () => {
  let gateway: StartedGateway;

  beforeAll(async () => {
    gateway = await gatewayOf({});
  });

  afterAll(() => gateway?.close());

  const hosts = (port: number) => ({
    good: [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `LOCALHOST:${port}`,
      `[::1]:${port}`,
      `127.1.2.3:${port}`,
    ],
    bad: [
      'evil.example',
      `evil.example:${port}`,
      'localhost:9999',
      'localhost',
      `localhost.evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `evil.example@127.0.0.1:${port}`,
      `192.168.0.7:${port}`,
      `127.0.0.1:${port}, evil.example`,
      '',
    ],
  });

  it('binds to loopback unless told otherwise, and serves loopback names with its port alone', async () => {
    const { port } = gateway;
    const before = up.count('tools/call');
    const { good, bad } = hosts(port);
    for (const host of bad) {
      const { status, body } = await raw(port, [...POST, `Host: ${host}`], CALL);
      expect([status, body], host).toEqual([403, expect.stringContaining('"error"')]);
    }
    expect(up.count('tools/call')).toBe(before);
    for (const host of good) {
      expect((await raw(port, [...POST, `Host: ${host}`], CALL)).status, host).toBe(200);
    }
    expect(up.count('tools/call')).toBe(before + good.length);
  });

  it.each(['GET', 'POST', 'DELETE', 'OPTIONS', 'PUT'])(
    'refuses %s everywhere under a foreign name',
    async (method) => {
      const { port } = gateway;
      for (const path of [
        '/mcp',
        '/mcp/up',
        '/healthz',
        '/readyz',
        '/metrics',
        '/.well-known/oauth-protected-resource',
        '/nope',
      ]) {
        const { status } = await raw(port, [`${method} ${path} HTTP/1.1`, `Host: evil.example:${port}`]);
        expect(status, path).toBe(403);
      }
    },
  );

  it('serves nothing without a Host', async () => {
    const { port } = gateway;
    const before = up.count('tools/call');
    expect((await raw(port, POST, CALL)).status).toBeGreaterThanOrEqual(400);
    const old = POST.map((line) => line.replace('HTTP/1.1', 'HTTP/1.0'));
    expect((await raw(port, old, CALL)).status).toBe(403);
    const twice = await raw(port, [...POST, `Host: 127.0.0.1:${port}`, 'Host: evil.example'], CALL);
    expect(twice.status).toBeGreaterThanOrEqual(400);
    expect(up.count('tools/call')).toBe(before);
  });

  it('believes no forwarded header', async () => {
    const { port } = gateway;
    const forwarded = [
      'X-Forwarded-Host: localhost',
      `Forwarded: host="127.0.0.1:${port}"`,
      'X-Forwarded-For: 127.0.0.1',
    ];
    expect((await raw(port, [...POST, 'Host: evil.example', ...forwarded], CALL)).status).toBe(403);
    const foreign = ['X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example'];
    expect((await raw(port, [...POST, `Host: 127.0.0.1:${port}`, ...foreign], CALL)).status).toBe(200);
  });

  it('refuses an Origin that is present and not allowed', async () => {
    const { port } = gateway;
    const host = `Host: 127.0.0.1:${port}`;
    const before = up.count('tools/call');
    for (const origin of [
      'https://evil.example',
      'null',
      '',
      `http://127.0.0.1:${port + 1}`,
      `https://127.0.0.1:${port}`,
      `http://127.0.0.1:${port}.evil.example`,
    ]) {
      const { status, headers } = await raw(port, [...POST, host, `Origin: ${origin}`], CALL);
      expect([status, headers['access-control-allow-origin']], origin).toEqual([403, undefined]);
    }
    expect(up.count('tools/call')).toBe(before);
    const own = await raw(port, [...POST, host, `Origin: http://127.0.0.1:${port}`], CALL);
    expect(own.status).toBe(200);
  });

  it('off loopback: names of the configuration, addresses and loopback names pass, others do not', async () => {
    await using wide = await gatewayOf(
      {
        host: '0.0.0.0',
        allowedHosts: ['gw.example', 'ported.example:8443'],
        publicUrl: 'https://public.example/mcp',
      },
      { auth: { allowAnonymous: true } },
    );
    const { port } = wide;
    const statusFor = async (host: string) => (await raw(port, [...POST, `Host: ${host}`], CALL)).status;
    for (const host of [
      'gw.example',
      'GW.example:81',
      'ported.example:8443',
      'public.example',
      `192.168.0.7:${port}`,
      `localhost:${port}`,
    ]) {
      expect(await statusFor(host), host).toBe(200);
    }
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'ported.example',
      'ported.example:1',
      'xgw.example',
      'gw.example.evil.example',
    ]) {
      expect(await statusFor(host), host).toBe(403);
    }
    const from = async (origin: string) =>
      (await raw(port, [...POST, 'Host: gw.example', `Origin: ${origin}`], CALL)).status;
    expect(await from('https://evil.example')).toBe(403);
    expect(await from('https://public.example')).toBe(200);
  });
});

describe('C-093: browsers', () => {
  const APP = 'https://app.example';
  const ASKED =
    'authorization, content-type, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, mcp-param-region, last-event-id';
  let gateway: StartedGateway;

  beforeAll(async () => {
    gateway = await gatewayOf({ allowedOrigins: [APP] });
  });

  afterAll(() => gateway?.close());

  const fetched = (path: string, init: RequestInit = {}) => fetch(`${gateway.origin}${path}`, init);
  const preflight = (path: string, origin: string) =>
    raw(gateway.port, [
      `OPTIONS ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${gateway.port}`,
      `Origin: ${origin}`,
      'Access-Control-Request-Method: POST',
      `Access-Control-Request-Headers: ${ASKED}`,
    ]);

  it.each([
    '/mcp',
    '/mcp/',
    '/mcp/up',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
  ])('a preflight of an allowed origin on %s gets all it needs, without signing in', async (path) => {
    const { status, headers } = await preflight(path, APP);
    expect([status, headers['access-control-allow-origin']]).toEqual([204, APP]);
    const allowed = (headers['access-control-allow-headers'] ?? '').toLowerCase().split(/\s*,\s*/);
    expect(allowed).toEqual(expect.arrayContaining(ASKED.split(', ')));
    expect(headers['access-control-allow-methods']).toMatch(/POST.*GET.*DELETE/);
    expect(headers['vary']).toMatch(/origin/i);
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it.each(['/mcp', '/.well-known/oauth-protected-resource'])(
    'a preflight of another origin on %s gets nothing',
    async (path) => {
      for (const origin of [
        'https://evil.example',
        'null',
        'https://app.example:444',
        'http://app.example',
        `${APP}.evil.example`,
      ]) {
        const { status, headers } = await preflight(path, origin);
        expect(status, origin).toBe(403);
        expect(
          Object.keys(headers).filter((name) => name.startsWith('access-control-')),
          origin,
        ).toEqual([]);
        expect(headers['vary']).toMatch(/origin/i);
      }
    },
  );

  it('a preflight asks for nothing but headers of ours', async () => {
    const { headers } = await raw(gateway.port, [
      'OPTIONS /mcp HTTP/1.1',
      `Host: 127.0.0.1:${gateway.port}`,
      `Origin: ${APP}`,
      'Access-Control-Request-Headers: cookie, x-evil, mcp-param-, mcp-param-a b, mcp-param-ok',
    ]);
    const allowed = (headers['access-control-allow-headers'] ?? '').split(', ');
    expect(allowed).toContain('mcp-param-ok');
    for (const name of ['cookie', 'x-evil', 'mcp-param-', 'mcp-param-a b']) {
      expect(allowed).not.toContain(name);
    }
  });

  /** What a page of that origin may read of the answer. */
  const readable = (headers: Headers | Readonly<Record<string, string>>) => {
    const of = (name: string) => (headers instanceof Headers ? headers.get(name) : headers[name]);
    expect(of('access-control-allow-origin')).toBe(APP);
    expect(of('access-control-expose-headers')?.toLowerCase()).toContain('mcp-session-id');
    expect(of('access-control-expose-headers')?.toLowerCase()).toContain('www-authenticate');
    expect(of('vary')).toMatch(/origin/i);
    expect(of('access-control-allow-credentials') ?? undefined).toBeUndefined();
  };

  it.each(AGENTS)(
    'a $era page opens, lists, calls and listens, and may read every answer',
    async ({ connect }) => {
      await using agent = await connect(gateway.url, { headers: { origin: APP } });
      const listed = await agent.request('tools/list');
      readable(listed.headers);
      expect(listed.result).toMatchObject({ tools: [{}, {}] });
      const params = { name: 'up.progress', arguments: {} };
      const streamed = await agent.request('tools/call', params, { progressToken: 1 });
      expect(streamed.headers['content-type']).toMatch(/^text\/event-stream/);
      readable(streamed.headers);
      const stream = await agent.listen();
      await stream.close();
      readable((await stream.closed).headers);
    },
  );

  it('may read errors too', async () => {
    const json = { origin: APP, 'content-type': 'application/json', accept: 'application/json' };
    const statuses = await Promise.all(
      [
        fetched('/nope', { headers: { origin: APP } }),
        fetched('/mcp/nobody', { method: 'POST', body: '{}', headers: json }),
        fetched('/mcp', { headers: { origin: APP } }),
        fetched('/mcp', { method: 'POST', body: '{', headers: json }),
        fetched('/mcp', {
          method: 'POST',
          body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
          headers: json,
        }),
        fetched('/mcp', { method: 'POST', body: CALL, headers: { ...json, accept: 'text/html' } }),
        fetched('/mcp', { method: 'POST', body: CALL, headers: { ...json, 'content-type': 'text/plain' } }),
        fetched('/mcp', { method: 'POST', body: CALL, headers: json }),
        fetched('/mcp', { method: 'DELETE', headers: { origin: APP, 'mcp-session-id': 'stale' } }),
        fetched('/mcp', { method: 'POST', body: `"${'x'.repeat(9 * 1024 * 1024)}"`, headers: json }),
        fetched('/healthz', { headers: { origin: APP } }),
        fetched('/readyz', { headers: { origin: APP } }),
      ].map(async (answer) => {
        const { status, headers } = await answer;
        readable(headers);
        return status;
      }),
    );
    expect(statuses).toEqual([404, 404, 405, 400, 400, 406, 415, 400, 404, 413, 200, 200]);
  });

  it('a client that is no browser gets none of these headers', async () => {
    await using agent = await connectModern(gateway.url);
    const { headers } = await agent.request('tools/list');
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
    await using session = await connectLegacy(gateway.url);
    expect(session.sessionId).toBeDefined();
  });
});
