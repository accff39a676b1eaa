import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Direct } from '../../src/front/direct.ts';
import { META } from '../../src/protocol/meta.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';

const KEY = 'a-key-that-opens-this-gateway';
const SHA256 = '9d4a6262483ff3bbc3e7c36ccf80b9a348d4129a2c286a348b7683caa4e80bff';

let up: ScriptedHttp;
let open: StartedGateway;
let closed: StartedGateway;
const take = vi.spyOn(Direct.prototype, 'take');

beforeAll(async () => {
  up = await startHttpUpstream({ id: 'up', tools: ['echo', 'progress'] });
  const common = { limits: { maxBodyBytes: '64KiB' }, upstreams: { up: up.config } };
  open = await startGateway(common);
  closed = await startGateway({
    ...common,
    auth: { mode: 'keys', keys: [{ id: 'somebody', sha256: SHA256 }] },
  });
  await open.gateway.settled();
});
afterAll(async () => {
  take.mockRestore();
  await open?.close();
  await closed?.close();
  await up?.[Symbol.asyncDispose]();
});

interface Sent {
  readonly to?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Everything that the server says to one POST before it closes the connection, but for what differs each time. */
function answerTo(port: number, { to = '/mcp', headers = {}, body }: Sent): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const head = {
    host: `127.0.0.1:${port}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => (value === '' ? '' : `${name}: ${value}\r\n`));
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      heard += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () =>
      resolve(heard.replace(/^date: .*$/im, 'date').replace(/^(mcp-session-id: ).*$/im, '$1…')),
    );
    socket.write(`POST ${to} HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
  });
}

/** What a request made the gateway log, but for what differs each time. */
function loggedSince({ logged }: StartedGateway, before: number) {
  const named = logged.slice(before).filter(({ reqId }) => /^req-[0-9a-z]+$/.test(String(reqId)));
  return named.map(({ time: _time, reqId: _id, err, ...line }) => ({
    ...line,
    err: typeof err === 'object' && err !== null ? { ...err, stack: undefined } : err,
  }));
}

const envelope = {
  [META.version]: '2026-07-28',
  [META.clientInfo]: { name: 'test', version: '1' },
  [META.clientCapabilities]: {},
};
const modern = (method: string, params: object = {}, more: Partial<Sent> = {}): Sent => ({
  body: { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: envelope } },
  ...more,
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...more.headers },
});
const call = (text: string, more: Partial<Sent> = {}) =>
  modern(
    'tools/call',
    { name: 'up.echo', arguments: { text } },
    more.headers === undefined
      ? { ...more, headers: { 'mcp-name': 'up.echo' } }
      : { ...more, headers: { 'mcp-name': 'up.echo', ...more.headers } },
  );
const initialize = {
  jsonrpc: '2.0',
  id: 'a',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};

const CASES: Readonly<Record<string, Sent>> = {
  'a call': call('größe'),
  'a call with a long text': call('größe "M"\n'.repeat(2_000)),
  'a call at the endpoint of a server': modern(
    'tools/call',
    { name: 'echo', arguments: {} },
    { to: '/mcp/up', headers: { 'mcp-name': 'echo' } },
  ),
  'a call for a client of event streams alone': call('x', { headers: { accept: 'text/event-stream' } }),
  'a call that reports progress': modern(
    'tools/call',
    { name: 'up.progress', arguments: {} },
    { headers: { 'mcp-name': 'up.progress' } },
  ),
  'a list': modern('tools/list'),
  'an unknown tool': modern('tools/call', { name: 'up.none' }, { headers: { 'mcp-name': 'up.none' } }),
  'an unknown method': modern('no/such'),
  'headers that say something else': call('x', { headers: { 'mcp-name': 'up.other' } }),
  'an introduction': { body: initialize },
  'a notification': {
    body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: envelope } },
  },
  'a request without a session': { body: { jsonrpc: '2.0', id: 1, method: 'ping' } },
  'a session that is none': {
    body: { jsonrpc: '2.0', id: 1, method: 'ping' },
    headers: { 'mcp-session-id': 'x' },
  },
  'no JSON': { body: '{"jsonrpc":' },
  'a batch': { body: [initialize] },
  'no message': { body: { id: 3 } },
  'a client that takes nothing': call('x', { headers: { accept: 'text/html' } }),
  'a host that is not ours': call('x', { headers: { host: 'evil.example' } }),
  'an origin that is not ours': call('x', { headers: { origin: 'https://evil.example' } }),
  'a coded body': { body: initialize, headers: { 'content-encoding': 'gzip' } },
  'a body that is too long': { body: `"${'x'.repeat(70_000)}"` },
  'an endpoint that is none': { body: initialize, to: '/mcp/nothing' },
};

describe('a POST that the framework does not see', () => {
  it.each(Object.entries(CASES))('is answered and logged like one that it sees: %s', async (_name, sent) => {
    for (const gateway of [open, closed]) {
      take.mockClear();
      let mark = gateway.logged.length;
      const direct = await answerTo(gateway.port, sent);
      const directLog = loggedSince(gateway, mark);
      mark = gateway.logged.length;
      const framed = await answerTo(gateway.port, { ...sent, to: `${sent.to ?? '/mcp'}?x` });
      expect(take.mock.results.map(({ value }) => value)).toEqual([true, false]);
      expect(direct).toMatch(/^HTTP\/1\.1 \d{3} /);
      expect(direct).toBe(framed);
      expect(directLog).toEqual(loggedSince(gateway, mark));
    }
  });

  it('carries the headers that a page of our own may read', async () => {
    const sent = call('x', { headers: { origin: `http://127.0.0.1:${open.port}` } });
    const direct = await answerTo(open.port, sent);
    expect(direct).toContain('access-control-allow-origin');
    expect(direct).toBe(await answerTo(open.port, { ...sent, to: '/mcp?x' }));
  });

  it.each<[string, Partial<Sent> & { readonly to?: string }]>([
    ['a query', { to: '/mcp?names=strict' }],
    ['an encoded path', { to: '/mcp/%75p' }],
    ['a slash at the end', { to: '/mcp/' }],
    ['a media type with parameters', { headers: { 'content-type': 'application/json; charset=utf-8' } }],
    [
      'a body in pieces',
      { headers: { 'transfer-encoding': 'chunked', 'content-length': '' }, body: '0\r\n\r\n' },
    ],
    ['another media type', { headers: { 'content-type': 'text/plain' } }],
    ['no body', { body: '' }],
  ])('is left to the framework with %s', async (_name, more) => {
    take.mockClear();
    await answerTo(open.port, { ...call('x'), ...more, headers: { ...call('x').headers, ...more.headers } });
    expect(take.mock.results.map(({ value }) => value)).toEqual([false]);
  });

  it('is let in by its key, and only by it', async () => {
    const answers = [KEY, 'another-key'].map((key) =>
      answerTo(closed.port, call('x', { headers: { authorization: `Bearer ${key}` } })),
    );
    const [right, wrong] = await Promise.all(answers);
    expect(right).toMatch(/^HTTP\/1\.1 200 /);
    expect(wrong).toMatch(/^HTTP\/1\.1 401 /);
  });
});
