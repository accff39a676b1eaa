import type { ServerResponse } from 'node:http';
import { type BrotliCompress, constants, createBrotliCompress, createGzip, type Gzip } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { type RpcId, request } from '../../../src/protocol/json-rpc.ts';
import { createHttpTransport } from '../../../src/upstream/http.ts';
import {
  answerTo,
  event,
  type HttpPeer,
  httpUpstream,
  json,
  NO_CREDENTIAL,
  opened,
  startHttpPeer,
} from './transport-kit.ts';

async function connect(peer: HttpPeer) {
  const { transport, sink } = await opened(
    createHttpTransport({ upstream: httpUpstream(peer.url), credential: NO_CREDENTIAL, log: SILENT }),
  );
  const call = (id: RpcId, method = 'x') => transport.send(request(id, method));
  return { transport, sink, call };
}

function streaming(response: ServerResponse, headers: Record<string, string> = {}): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
}

const note = (n: number) => ({ jsonrpc: '2.0', method: 'notifications/progress', params: { n } });

describe('answers as event streams', () => {
  it('bring notifications and requests of the server under the id of their request, then the answer', async () => {
    const peer = await startHttpPeer((seen, response) => {
      streaming(response).end(
        [
          ': keep-alive\n\n',
          event(note(1)),
          event({ jsonrpc: '2.0', id: 1, method: 'sampling/createMessage' }, 'event: message\nid: e1\n'),
          event(answerTo(seen, { ok: seen.message?.id }), 'retry: 5\n'),
          event(note(2)),
        ].join(''),
      );
    });
    const { sink, call } = await connect(peer);
    await Promise.all([call(1), call(2)]);
    expect(await sink.result(1)).toEqual({ ok: 1 });
    expect(await sink.result(2)).toEqual({ ok: 2 });
    for (const id of [1, 2]) {
      const own = sink.heard.filter(({ origin }) => origin === id).map(({ message }) => message);
      expect(own).toMatchObject([note(1), { id: 1, method: 'sampling/createMessage' }, { id, result: {} }]);
    }
  });

  it('answer no request but their own', async () => {
    const peer = await startHttpPeer((seen, response) => {
      streaming(response);
      if (seen.message?.id === 2) {
        response.end(event({ jsonrpc: '2.0', id: 1, result: { stolen: true } }) + event(answerTo(seen)));
      } else {
        response.flushHeaders();
      }
    });
    const { sink, call } = await connect(peer);
    await call(1);
    await call(2);
    await sink.result(2);
    expect(sink.answers(1)).toEqual([]);
  });

  it('are not waited for when the answer has come', async () => {
    let closed = () => {};
    const ended = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const peer = await startHttpPeer((seen, response) => {
      response.on('close', closed);
      streaming(response).write(event(answerTo(seen)));
    });
    const { sink, call } = await connect(peer);
    await call(1);
    await sink.result(1);
    await ended;
    expect(sink.failures).toEqual([]);
  });

  it('leave their connection to the next request when they end', async () => {
    const ports = new Set<number | undefined>();
    const peer = await startHttpPeer((seen, response, incoming) => {
      ports.add(incoming.socket.remotePort);
      streaming(response).end(event(answerTo(seen)));
    });
    const { sink, call } = await connect(peer);
    for (const id of [1, 2, 3]) {
      await call(id);
      await sink.result(id);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(ports.size).toBeLessThan(3);
  });

  it('C-029: a stream split inside characters and inside line ends arrives bit-exact', async () => {
    const text = 'read—é🎉';
    const peer = await startHttpPeer(async (seen, response) => {
      const body = event(note(1)) + event(answerTo(seen, { text }));
      const bytes = Buffer.from(body.replaceAll('\n', '\r\n'), 'utf8');
      streaming(response).socket?.setNoDelay(true);
      for (const byte of bytes) {
        await new Promise((resolve) => response.write(Buffer.from([byte]), resolve));
      }
      response.end();
    });
    const { sink, call } = await connect(peer);
    await call(1);
    expect(await sink.result(1)).toEqual({ text });
    expect(sink.calls()).toEqual([note(1)]);
  });

  it.each([
    ['gzip', () => createGzip()],
    ['br', () => createBrotliCompress()],
  ])('%s: each event arrives as it is flushed', async (encoding, create: () => Gzip | BrotliCompress) => {
    let goOn = () => {};
    const heard = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const peer = await startHttpPeer(async (seen, response) => {
      const packed = create();
      packed.pipe(streaming(response, { 'content-encoding': encoding }));
      packed.write(event(note(1)));
      packed.flush(encoding === 'br' ? constants.BROTLI_OPERATION_FLUSH : constants.Z_SYNC_FLUSH);
      await heard;
      packed.end(event(answerTo(seen, { ok: 1 })));
    });
    const { sink, call } = await connect(peer);
    await call(1);
    await sink.until(() => sink.calls()[0]);
    goOn();
    expect(await sink.result(1)).toEqual({ ok: 1 });
  });

  it.each([
    ['one line without end', (response: ServerResponse) => response.write(`data: ${'x'.repeat(1_500_000)}`)],
    [
      'many lines without end',
      (response: ServerResponse) => response.write(`data: ${'x'.repeat(999)}\n`.repeat(1_500)),
    ],
    ['one whole event', (response: ServerResponse) => response.write(`data: "${'x'.repeat(1_500_000)}"\n\n`)],
  ])('an event past the bound fails its request: %s', async (_title, write) => {
    const peer = await startHttpPeer((_seen, response) => void write(streaming(response)));
    const { sink, call } = await connect(peer);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_TOO_LARGE' });
  });

  it('may be longer than the bound as a whole', async () => {
    const peer = await startHttpPeer((seen, response) => {
      streaming(response);
      for (let n = 0; n < 30; n += 1) {
        response.write(event({ ...note(n), params: { text: 'x'.repeat(100_000) } }));
      }
      response.end(event(answerTo(seen)));
    });
    const { sink, call } = await connect(peer);
    await call(1);
    await sink.result(1);
    expect(sink.calls()).toHaveLength(30);
  });

  it('C-048: the event stream of an old server in answer to a POST is recognised at once', async () => {
    const peer = await startHttpPeer((_seen, response) => {
      streaming(response).write('event: endpoint\ndata: /messages?sid=1\n\n');
    });
    const { sink, call } = await connect(peer);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_NOT_MCP', data: { endpointEvent: true } });
  });

  it('that hold no readable answer fail their request when they end', async () => {
    const peer = await startHttpPeer((_seen, response) => void streaming(response).end('data: not json\n\n'));
    const { sink, call } = await connect(peer);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
  });
});

describe('streams that end before the answer', () => {
  it.each([
    ['in order', (response: ServerResponse) => response.end()],
    ['by a reset', (response: ServerResponse) => response.destroy()],
  ])('lose a request that cannot be resumed: %s', async (_title, end) => {
    const peer = await startHttpPeer((_seen, response) => {
      streaming(response).write(event(note(1)), () => end(response));
    });
    const { sink, call } = await connect(peer);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_LOST' });
    expect(peer.seen).toHaveLength(1);
  });

  it('are taken up again with the last event id, as often as the server polls', async () => {
    let gets = 0;
    const peer = await startHttpPeer((seen, response) => {
      streaming(response);
      if (seen.method === 'POST') {
        response.end('id: e0\nretry: 1\ndata:\n\n');
        return;
      }
      gets += 1;
      const id = `id: e${gets}\n`;
      response.end(
        gets < 5 ? event(note(gets), id) : event({ jsonrpc: '2.0', id: 1, result: { ok: 1 } }, id),
      );
    });
    const { transport, sink, call } = await connect(peer);
    transport.agreed?.({ version: '2025-11-25', era: 'legacy' });
    await call(1);
    expect(await sink.result(1)).toEqual({ ok: 1 });
    expect(sink.heard.every(({ origin }) => origin === 1)).toBe(true);
    const resumed = peer.seen.filter(({ method }) => method === 'GET').map(({ headers }) => headers);
    expect(resumed.map((headers) => headers['last-event-id'])).toEqual(['e0', 'e1', 'e2', 'e3', 'e4']);
    expect(resumed[0]).toMatchObject({ accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' });
  });

  it.each([
    ['as long as it may be', 4_096, true],
    ['longer', 4_097, false],
  ])('with an event id that is %s', async (_title, length, resumed) => {
    const id = 'e'.repeat(length);
    const peer = await startHttpPeer((seen, response) => {
      streaming(response).end(
        seen.method === 'POST'
          ? `id: ${id}\nretry: 1\ndata:\n\n`
          : event({ jsonrpc: '2.0', id: 1, result: { sent: seen.headers['last-event-id'] === id } }),
      );
    });
    const { sink, call } = await connect(peer);
    await call(1);
    if (resumed) {
      expect(await sink.result(1)).toEqual({ sent: true });
    } else {
      expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_LOST' });
      expect(peer.count('GET')).toBe(0);
    }
  });

  it('are not taken up faster than every 50 ms, however short the server asks to wait', async () => {
    const arrivals: number[] = [];
    const peer = await startHttpPeer((_seen, response) => {
      arrivals.push(performance.now());
      const last = arrivals.length > 10;
      streaming(response).end(
        last ? event({ jsonrpc: '2.0', id: 1, result: {} }) : event(note(1), `id: e\nretry: 0\n`),
      );
    });
    const { sink, call } = await connect(peer);
    await call(1);
    await sink.result(1);
    // A timer never fires early, but for the fraction that clocks round away.
    expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(10 * 48);
  });

  it.each([
    ['that are refused', 1, (response: ServerResponse) => json(response, {}, 405)],
    ['that fail for a while', 2, (response: ServerResponse) => response.writeHead(503).end()],
    ['that break at once', 2, (response: ServerResponse) => response.destroy()],
    ['that bring nothing', 1, (response: ServerResponse) => void streaming(response).end()],
  ])('are given up after a few tries %s', async (_title, tries, refuse) => {
    const peer = await startHttpPeer((seen, response) => {
      if (seen.method === 'POST') {
        streaming(response).end('id: e0\nretry: 1\ndata:\n\n');
      } else {
        refuse(response);
      }
    });
    const { sink, call } = await connect(peer);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_LOST' });
    expect(peer.count('GET')).toBeGreaterThanOrEqual(tries);
    expect(peer.count('GET')).toBeLessThanOrEqual(2);
  });

  it('are not resumed with a modern server', async () => {
    const peer = await startHttpPeer(
      (_seen, response) => void streaming(response).end('id: e0\nretry: 1\ndata:\n\n'),
    );
    const { transport, sink, call } = await connect(peer);
    transport.agreed?.({ version: '2026-07-28', era: 'modern' });
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_LOST' });
    expect(peer.count('GET')).toBe(0);
  });
});
