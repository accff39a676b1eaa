import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { notification, type RpcId, request } from '../../../src/protocol/json-rpc.ts';
import { createHttpTransport } from '../../../src/upstream/http.ts';
import {
  answerTo,
  type HttpPeer,
  httpUpstream,
  impatient,
  json,
  NO_CREDENTIAL,
  opened,
  startHttpPeer,
} from './transport-kit.ts';

async function connect(peer: HttpPeer, changes: Parameters<typeof httpUpstream>[1] = {}) {
  const { transport, sink } = await opened(
    createHttpTransport({
      upstream: httpUpstream(peer.url, changes),
      credential: NO_CREDENTIAL,
      log: SILENT,
    }),
  );
  const call = (id: RpcId, method = 'x', params: Record<string, unknown> = {}) =>
    transport.send(request(id, method, params));
  return { transport, sink, call };
}

/** A peer that gives the same answer to everything. `$ID` in a body becomes the id asked with. */
async function answering(status: number, headers: Record<string, string>, body: string | Buffer = '') {
  const peer = await startHttpPeer((seen, response) => {
    const bytes = typeof body === 'string' ? body.replaceAll('$ID', JSON.stringify(seen.message?.id)) : body;
    response.writeHead(status, headers);
    response.end(bytes);
  });
  return { peer, ...(await connect(peer)) };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const OK = '{"jsonrpc":"2.0","id":$ID,"result":{"ok":1}}';

describe('answers in JSON', () => {
  it.each([
    ['plain', JSON_TYPE],
    ['C-044: with a charset', { 'content-type': 'Application/JSON; charset=utf-8' }],
    ['C-044: without a content type', {}],
  ])('%s', async (_title, headers: Record<string, string>) => {
    const { peer, sink, call } = await answering(200, headers, OK);
    await call(0);
    await call('a');
    expect(await sink.result(0)).toEqual({ ok: 1 });
    expect(await sink.result('a')).toEqual({ ok: 1 });
    expect(sink.heard.map(({ origin }) => origin)).toEqual([0, 'a']);
    expect(peer.seen[0]).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      message: { jsonrpc: '2.0', id: 0, method: 'x', params: {} },
    });
  });

  it('a batch brings its notifications and its answer', async () => {
    const body = `[{"jsonrpc":"2.0","method":"notifications/x"},${OK}]`;
    const { sink, call } = await answering(200, JSON_TYPE, body);
    await call(1);
    await sink.result(1);
    expect(sink.calls()).toHaveLength(1);
  });

  it('an error without id is the answer to the one request it can belong to', async () => {
    const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}';
    const { sink, call } = await answering(200, JSON_TYPE, body);
    await call(4);
    expect(await sink.outcome(4)).toEqual({ jsonrpc: '2.0', id: 4, error: { code: -32700, message: 'no' } });
  });

  it.each([
    ['another id', '{"jsonrpc":"2.0","id":"other","result":{}}'],
    ['no JSON-RPC', '{"status":"ok"}'],
    ['no JSON', 'ok'],
    ['nothing', ''],
  ])('an answer with %s fails the request', async (_title, body) => {
    const { sink, call } = await answering(200, JSON_TYPE, body);
    await call(4);
    expect(await sink.failure(4)).toMatchObject({ code: 'UPSTREAM_NOT_MCP', upstream: 'up' });
    expect(sink.heard).toEqual([]);
  });

  it('an answer past maxMessageBytes fails its request alone', async () => {
    const peer = await startHttpPeer((seen, response) =>
      json(response, answerTo(seen, { text: 'x'.repeat(seen.message?.id === 1 ? 1_200_000 : 10) })),
    );
    const { sink, call } = await connect(peer);
    await call(1);
    await call(2);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_TOO_LARGE' });
    await sink.result(2);
  });
});

describe('content encodings', () => {
  const body = Buffer.from(OK.replace('$ID', '1'));
  it.each([
    ['gzip', gzipSync(body)],
    ['x-gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['br', brotliCompressSync(body)],
    ['identity', body],
    ['gzip, br', brotliCompressSync(gzipSync(body))],
  ])('%s is undone', async (encoding, bytes) => {
    const { peer, sink, call } = await answering(200, { ...JSON_TYPE, 'content-encoding': encoding }, bytes);
    await call(1);
    expect(await sink.result(1)).toEqual({ ok: 1 });
    expect(peer.seen[0]?.headers['accept-encoding']).toBe('gzip, br');
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(200_000_000, ' '))],
    ['br', brotliCompressSync(Buffer.alloc(50_000_000, ' '))],
  ])('a small %s body that unpacks to a huge one is cut at the bound', async (encoding, bomb) => {
    expect(bomb.length).toBeLessThan(400_000);
    const { sink, call } = await answering(200, { ...JSON_TYPE, 'content-encoding': encoding }, bomb);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_TOO_LARGE' });
  });

  it.each([
    ['an unknown coding', 'zstd', body],
    ['codings without end', 'gzip, gzip, gzip', gzipSync(gzipSync(gzipSync(body)))],
    ['a body that is not compressed', 'gzip', body],
    ['a body that is no brotli', 'br', Buffer.from('\u0000\u0001\u0002\u0003\u00ff')],
  ])('%s fails the request', async (_title, encoding, bytes) => {
    const { sink, call } = await answering(200, { ...JSON_TYPE, 'content-encoding': encoding }, bytes);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
  });
});

describe('answers that are something else', () => {
  const page = '<html><h1>Sign in to intranet.example.internal</h1></html>';

  it.each([
    ['200 and a page', 200, { 'content-type': 'text/html' }],
    ['200 and plain text', 200, { 'content-type': 'text/plain' }],
    ['a page without content type', 200, {}],
    ['a page as an event stream', 200, { 'content-type': 'text/event-stream' }],
    ['202', 202, {}],
    ['204', 204, {}],
  ])('C-044: %s fails a request at once, the page for the log alone', async (_title, status, headers) => {
    const { sink, call } = await answering(
      status,
      headers as Record<string, string>,
      status === 204 ? '' : page,
    );
    await call(1);
    const error = await sink.failure(1);
    expect(error.code).toBe('UPSTREAM_NOT_MCP');
    expect(error.message).not.toContain('intranet');
    if (status === 200 && 'content-type' in headers && headers['content-type'] === 'text/html') {
      expect(error.logged).toContain('status 200; text/html; body: <html><h1>Sign in');
    }
  });

  it('C-044: a page that never ends does not keep the request waiting', async () => {
    const peer = await startHttpPeer((_seen, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(page);
    });
    const { sink, call } = await connect(peer);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
    expect(peer.seen).toHaveLength(1);
  });

  it.each([
    [502, {}, 'UPSTREAM_FAILED', { status: 502 }],
    [404, {}, 'UPSTREAM_STATUS', { status: 404 }],
    [400, {}, 'UPSTREAM_STATUS', { status: 400 }],
    [503, { 'retry-after': '7' }, 'UPSTREAM_FAILED', { status: 503, retryAfterMs: 7_000 }],
    [429, { 'retry-after': '2' }, 'UPSTREAM_RATE_LIMITED', { status: 429, retryAfterMs: 2_000 }],
    [429, {}, 'UPSTREAM_RATE_LIMITED', { status: 429 }],
    [401, { 'www-authenticate': 'Bearer realm="x"' }, 'UPSTREAM_AUTH', { status: 401 }],
    [403, {}, 'UPSTREAM_AUTH', { status: 403 }],
  ])('C-044: status %i with headers %o is %s', async (status, headers, code, data) => {
    const { sink, call } = await answering(status, { 'content-type': 'text/html', ...headers }, page);
    await call(1);
    const error = await sink.failure(1);
    expect(error).toMatchObject({ code, data, upstream: 'up' });
    expect(error.data).toEqual(data);
    expect(error.message).not.toContain('intranet');
    expect(error.logged).toContain(`status ${status}`);
  });

  it.each([400, 404, 500])(
    'status %i with a JSON-RPC error for the request is its answer',
    async (status) => {
      const { sink, call } = await answering(
        status,
        JSON_TYPE,
        '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"v","data":{"supported":[]}}}',
      );
      await call(1);
      expect(await sink.outcome(1)).toMatchObject({
        id: 1,
        error: { code: -32022, data: { supported: [] } },
      });
    },
  );
});

describe('notifications and responses', () => {
  it('are taken with 202, and nothing is heard of them', async () => {
    const { peer, transport, sink } = await answering(202, {});
    await transport.send(notification('notifications/initialized'));
    await transport.send({ jsonrpc: '2.0', id: 5, result: {} });
    expect(peer.seen.map(({ message }) => message)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 5, result: {} },
    ]);
    expect(sink.heard).toEqual([]);
  });

  it('are over when the server has taken them, so what follows comes after them', async () => {
    let taken = false;
    const peer = await startHttpPeer((seen, response) => {
      if (seen.message?.id === undefined) {
        setImmediate(() => {
          taken = true;
          response.writeHead(202).end();
        });
      } else {
        json(response, answerTo(seen, { taken }));
      }
    });
    const { transport, sink, call } = await connect(peer);
    await transport.send(notification('notifications/initialized'));
    await call(1);
    expect(await sink.result(1)).toEqual({ taken: true });
  });

  it('that the server refuses, or never answers, harm nothing', async () => {
    const peer = await startHttpPeer((seen, response) => {
      if (seen.message?.method === 'refuse') {
        response.writeHead(400, { 'content-type': 'text/plain' }).end('no');
      } else if (seen.message?.id !== undefined) {
        json(response, answerTo(seen));
      }
    });
    const { transport, sink, call } = await connect(peer, {
      timeouts: impatient(100),
    });
    await transport.send(notification('refuse'));
    await transport.send(notification('ignore'));
    await call(1);
    await sink.result(1);
    expect(sink.failures).toEqual([]);
  });
});
