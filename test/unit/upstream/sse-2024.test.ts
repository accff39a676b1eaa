import type { ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { notification, type RpcId, request } from '../../../src/protocol/json-rpc.ts';
import { createSseTransport } from '../../../src/upstream/sse-2024.ts';
import {
  answerTo,
  event,
  httpUpstream,
  impatient,
  NO_CREDENTIAL,
  opened,
  Recorder,
  type Seen,
  startHttpPeer,
} from './transport-kit.ts';

interface OldServer {
  readonly url: string;
  readonly seen: Seen[];
  readonly stream: () => ServerResponse;
}

/** A 2024-11-05 server: names `endpoint` on its stream, answers there what is posted. */
async function startOldServer(
  endpoint: (origin: string) => string,
  post: (seen: Seen, response: ServerResponse, stream: ServerResponse) => void = (seen, response, stream) => {
    response.writeHead(202).end('Accepted');
    if (seen.message?.id !== undefined) {
      stream.write(event(answerTo(seen, { url: seen.url }), 'event: message\n'));
    }
  },
): Promise<OldServer> {
  const streams: ServerResponse[] = [];
  const peer = await startHttpPeer((seen, response) => {
    if (seen.method === 'GET') {
      streams.push(response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: ${endpoint(peer.origin)}\n\n`);
      return;
    }
    const stream = streams.at(-1);
    if (stream !== undefined) {
      post(seen, response, stream);
    }
  });
  const stream = () => {
    const last = streams.at(-1);
    if (last === undefined) {
      throw new Error('no stream is open');
    }
    return last;
  };
  return { url: `${peer.origin}/base/sse?key=1`, seen: peer.seen, stream };
}

async function connect(url: string) {
  const upstream = httpUpstream(url, { transport: 'sse', headers: { Authorization: 'Bearer t' } });
  const { transport, sink } = await opened(
    createSseTransport({ upstream, credential: NO_CREDENTIAL, log: SILENT }),
  );
  const call = (id: RpcId, method = 'x') => transport.send(request(id, method));
  return { transport, sink, call };
}

/** What `open` rejects with when the GET is answered so. */
async function refused(respond: (response: ServerResponse, seen: Seen) => void, connectMs = 5_000) {
  const peer = await startHttpPeer((seen, response) => respond(response, seen));
  const sink = new Recorder();
  const upstream = httpUpstream(peer.url, {
    timeouts: impatient(connectMs),
  });
  const transport = createSseTransport({ upstream, credential: NO_CREDENTIAL, log: SILENT });
  const error = await transport.open(sink).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  await expect(transport.send(request(1, 'x'))).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
  await transport.close(100);
  expect(sink.ends).toEqual([]);
  return { error, peer };
}

describe('the old HTTP+SSE pair', () => {
  it.each([
    ['a relative path', () => 'messages?sid=2', '/base/messages?sid=2'],
    ['an absolute path', () => '/base/messages?sid=2', '/base/messages?sid=2'],
    ['a query with odd characters', () => '/m?sid=a%20b+c&x=%2F&x=2', '/m?sid=a%20b+c&x=%2F&x=2'],
    ['a whole URL', (origin: string) => `${origin}/messages?sid=2`, '/messages?sid=2'],
    ['a query alone', () => '?sid=2', '/base/sse?sid=2'],
  ])('C-048: reaches the endpoint named as %s', async (_title, endpoint, url) => {
    const server = await startOldServer(endpoint);
    const { transport, sink, call } = await connect(server.url);
    await call(0);
    expect(await sink.result(0)).toEqual({ url });
    await transport.send(notification('notifications/initialized'));
    await vi.waitFor(() => expect(server.seen).toHaveLength(3));
    expect(sink.heard[0]?.origin).toBeUndefined();
    expect(server.seen[0]).toMatchObject({
      url: '/base/sse?key=1',
      headers: { accept: 'text/event-stream' },
    });
    expect(server.seen[1]).toMatchObject({ headers: { 'content-type': 'application/json' } });
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill('Bearer t'));
  });

  it('C-048: refuses an endpoint of another origin', async () => {
    const other = await startHttpPeer((_seen, response) => response.end());
    const { error } = await refused((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: ${other.origin}/messages\n\n`);
    });
    expect(error).toMatchObject({ code: 'UPSTREAM_REDIRECT', upstream: 'up' });
    expect((error as Error).message).not.toContain('127');
    expect(other.seen).toEqual([]);
  });

  it.each([
    [
      'a page',
      'UPSTREAM_NOT_MCP',
      (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    ],
    [
      'a page as an event stream',
      'UPSTREAM_NOT_MCP',
      (response: ServerResponse) =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('<p>'),
    ],
    ['404', 'UPSTREAM_STATUS', (response: ServerResponse) => response.writeHead(404).end()],
    ['401', 'UPSTREAM_AUTH', (response: ServerResponse) => response.writeHead(401).end()],
    [
      'a stream that ends',
      'UPSTREAM_LOST',
      (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
    ],
  ])('C-048: %s in answer to the GET rejects with %s', async (_title, code, respond) => {
    const { error } = await refused((response) => void respond(response));
    expect(error).toMatchObject({ code, upstream: 'up' });
  });

  it('does not wait for an endpoint for ever', async () => {
    const { error } = await refused((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': ping\n\n');
    }, 100);
    expect(error).toMatchObject({ code: 'UPSTREAM_DOWN' });
  });

  it('follows a redirect of the stream within its origin', async () => {
    const peer = await startHttpPeer((seen, response) => {
      if (seen.url === '/mcp') {
        response.writeHead(307, { location: '/deep/sse' }).end();
      } else if (seen.method === 'GET') {
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .write('event: endpoint\ndata: post\n\n');
      } else {
        response.writeHead(202).end();
      }
    });
    const { call } = await connect(peer.url);
    await call(1);
    await vi.waitFor(() =>
      expect(peer.seen.map(({ url }) => url)).toEqual(['/mcp', '/deep/sse', '/deep/post']),
    );
  });

  it.each([
    [500, 'UPSTREAM_FAILED'],
    [401, 'UPSTREAM_AUTH'],
    [429, 'UPSTREAM_RATE_LIMITED'],
  ])('a POST answered %i fails its request alone', async (status, code) => {
    const server = await startOldServer(
      () => '/m',
      (seen, response, stream) => {
        if (seen.message?.method === 'bad') {
          response.writeHead(status).end();
        } else {
          response.writeHead(200).end();
          stream.write(event(answerTo(seen)));
        }
      },
    );
    const { transport, sink, call } = await connect(server.url);
    await call(1, 'bad');
    await transport.send(notification('bad'));
    await call(2);
    expect(await sink.failure(1)).toMatchObject({ code });
    await sink.result(2);
    expect(sink.failures).toHaveLength(1);
  });

  it('an answer that comes before its POST is over counts, and a refusal in JSON-RPC is an answer', async () => {
    const server = await startOldServer(
      () => '/m',
      (seen, response, stream) => {
        if (seen.message?.id === 1) {
          stream.write(event(answerTo(seen)), () => response.writeHead(500).end());
        } else {
          response.writeHead(400, { 'content-type': 'application/json' });
          response.end('{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"no"}}');
        }
      },
    );
    const { sink, call } = await connect(server.url);
    await call(1);
    await sink.result(1);
    await call(2);
    expect(await sink.outcome(2)).toMatchObject({ error: { code: -32600 } });
    expect(sink.failures).toEqual([]);
  });

  it.each([
    ['ends', (stream: ServerResponse) => stream.end()],
    ['breaks', (stream: ServerResponse) => stream.destroy()],
  ])('C-048: when the stream %s everything pending fails at once', async (_title, end) => {
    const server = await startOldServer(
      () => '/m',
      (_seen, response) => response.writeHead(202).end(),
    );
    const { sink, call } = await connect(server.url);
    await call(1);
    await vi.waitFor(() => expect(server.seen).toHaveLength(2));
    end(server.stream());
    expect(await sink.end()).toMatchObject({ code: 'UPSTREAM_LOST', upstream: 'up' });
    await expect(call(2)).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
    expect(sink.ends).toHaveLength(1);
  });

  it('hears an answer in the body of its POST, and takes no word of thanks there for one', async () => {
    const server = await startOldServer(
      () => '/m',
      (seen, response, stream) => {
        const method = String(seen.message?.method);
        const type = method === 'plain' ? 'text/plain' : 'application/json';
        const answer = answerTo(seen, { method });
        response.writeHead(200, { 'content-type': type });
        response.end(method === 'json' ? JSON.stringify(answer) : method === 'plain' ? 'Accepted' : '');
        if (method !== 'json') {
          stream.write(event(answer, 'event: message\n'));
        }
      },
    );
    const { sink, call } = await connect(server.url);
    for (const [id, method] of ['json', 'plain', 'empty'].entries()) {
      await call(id, method);
      expect(await sink.result(id)).toEqual({ method });
    }
    expect(sink.failures).toEqual([]);
  });

  it('an event past the bound ends the stream', async () => {
    const server = await startOldServer(() => '/m');
    const { sink } = await connect(server.url);
    server.stream().write(`data: ${'x'.repeat(1_500_000)}`);
    expect(await sink.end()).toMatchObject({ code: 'UPSTREAM_TOO_LARGE' });
  });

  it('reads a compressed stream, and skips what is no message', async () => {
    const peer = await startHttpPeer((seen, response) => {
      if (seen.method === 'POST') {
        response.writeHead(202).end();
        packed.write(`event: ping\ndata: 1\n\ndata: hello\n\n${event(answerTo(seen, { text: 'é🎉' }))}`);
      } else {
        packed.pipe(
          response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }),
        );
        packed.write('event: endpoint\ndata: /m\n\n');
      }
      packed.flush();
    });
    const packed = createGzip();
    const { sink, call } = await connect(peer.url);
    await call(1);
    expect(await sink.result(1)).toEqual({ text: 'é🎉' });
    expect(sink.heard).toHaveLength(1);
  });

  it('close ends the stream and tells the sink once', async () => {
    const server = await startOldServer(() => '/m');
    const { transport, sink, call } = await connect(server.url);
    const closed = new Promise((resolve) => server.stream().once('close', resolve));
    await Promise.all([transport.close(100), transport.close(100)]);
    await closed;
    expect(sink.ends).toHaveLength(1);
    await expect(call(1)).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
  });
});
