import type { Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { notification, type RpcId, request } from '../../../src/protocol/json-rpc.ts';
import { createHttpTransport } from '../../../src/upstream/http.ts';
import {
  answerTo,
  createLogCatcher,
  httpUpstream,
  json,
  NO_CREDENTIAL,
  opened,
  startHttpPeer,
  startSocketPeer,
} from './transport-kit.ts';

async function connect(url: string, changes: Parameters<typeof httpUpstream>[1] = {}) {
  const { transport, sink } = await opened(
    createHttpTransport({ upstream: httpUpstream(url, changes), credential: NO_CREDENTIAL, log: SILENT }),
  );
  const call = (id: RpcId, method = 'x') => transport.send(request(id, method, { secret: 'body' }));
  return { transport, sink, call };
}

/** A complete HTTP answer on a bare socket. */
function rawAnswer(id: number): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id, result: {} });
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Calls back with each whole request's id. */
function onRequests(socket: Socket, each: (id: number) => void): void {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
    for (let found = /"id":(\d+),[^}]*\}\}/.exec(text); found; found = /"id":(\d+),[^}]*\}\}/.exec(text)) {
      text = text.slice(found.index + found[0].length);
      each(Number(found[1]));
    }
  });
}

describe('redirects', () => {
  it.each([301, 302, 303, 307, 308])(
    'C-043: %i within the origin is followed with method, body and headers, and remembered',
    async (status) => {
      const peer = await startHttpPeer((seen, response) =>
        seen.url === '/mcp/?a=1'
          ? json(response, answerTo(seen))
          : response.writeHead(status, { location: '/mcp/?a=1' }).end(),
      );
      const { sink, call } = await connect(peer.url, { headers: { Authorization: 'Bearer t' } });
      await call(1);
      await sink.result(1);
      await call(2);
      await sink.result(2);
      expect(peer.seen.map(({ url }) => url)).toEqual(['/mcp', '/mcp/?a=1', '/mcp/?a=1']);
      expect(peer.seen[1]).toMatchObject({
        method: 'POST',
        message: { id: 1 },
        headers: { authorization: 'Bearer t' },
      });
      expect(peer.seen[1]?.body).toBe(peer.seen[0]?.body);
    },
  );

  it('are told of once, and what is sent again with another token has not moved', async () => {
    const renewing = {
      ...NO_CREDENTIAL,
      headers: () => ({ authorization: 'Bearer t' }),
      refused: () => true,
    };
    const { log, lines } = createLogCatcher();
    const movedAfter = async (first: number, headers: Record<string, string>) => {
      const peer = await startHttpPeer((seen, response) =>
        peer.seen.length === 1 ? response.writeHead(first, headers).end() : json(response, answerTo(seen)),
      );
      const { transport, sink } = await opened(
        createHttpTransport({ upstream: httpUpstream(peer.url), credential: renewing, log }),
      );
      for (const id of [1, 2]) {
        await transport.send(request(id, 'x'));
        await sink.result(id);
      }
      return lines().filter((line) => line.includes('has moved')).length;
    };
    expect(await movedAfter(401, {})).toBe(0);
    expect(await movedAfter(307, { location: '/mcp/' })).toBe(1);
  });

  it('C-043: a redirect to something that is not MCP is not remembered', async () => {
    const peer = await startHttpPeer((seen, response) => {
      if (seen.url === '/login') {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<form>');
      } else if (seen.message?.id === 1) {
        response.writeHead(302, { location: '/login' }).end();
      } else {
        json(response, answerTo(seen));
      }
    });
    const { sink, call } = await connect(peer.url);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
    await call(2);
    await sink.result(2);
  });

  it('C-043: another origin gets nothing, and is named in the log alone', async () => {
    const other = await startHttpPeer((_seen, response) => response.writeHead(200).end());
    const peer = await startHttpPeer((seen, response) => {
      const location = seen.message?.id === 1 ? `${other.origin}/mcp` : 'http://169.254.169.254/latest';
      response.writeHead(307, { location }).end();
    });
    const { sink, call } = await connect(peer.url);
    for (const id of [1, 2]) {
      await call(id);
      const error = await sink.failure(id);
      expect(error.code).toBe('UPSTREAM_REDIRECT');
      expect(error.message).toContain('another origin');
      expect(error.message).not.toMatch(/127|169/);
      expect(error.logged).toContain(id === 1 ? other.origin : '169.254');
    }
    expect(other.seen).toEqual([]);
    expect(peer.seen).toHaveLength(2);
  });

  it.each([
    ['a loop', '/mcp', 6],
    ['a redirect to nowhere', '', 1],
    ['a redirect to no URL', 'http://[', 1],
    ['another scheme', 'https://127.0.0.1/mcp', 1],
  ])('C-043: %s ends', async (_title, location, requests) => {
    const peer = await startHttpPeer((_seen, response) =>
      response.writeHead(307, location === '' ? {} : { location }).end(),
    );
    const { sink, call } = await connect(peer.url);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_REDIRECT' });
    expect(peer.seen).toHaveLength(requests);
  });
});

describe('connections', () => {
  it('send rejects where nothing can have been sent, and the sink hears nothing', async () => {
    const { sink, call } = await connect('http://127.0.0.1:1/mcp');
    await expect(call(1)).rejects.toMatchObject({ code: 'UPSTREAM_DOWN', upstream: 'up' });
    await expect(call(2)).rejects.toThrowError('refused the connection');
    await expect(call(2)).rejects.not.toThrowError('127.0.0.1');
    expect(sink.failures).toEqual([]);
  });

  it('send rejects for a host without a name', async () => {
    const { call } = await connect('http://no-such-host.invalid/mcp');
    await expect(call(1)).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
    await expect(call(1)).rejects.not.toThrowError('no-such-host');
  });

  it('send rejects for TLS towards a server that speaks none', async () => {
    const peer = await startHttpPeer((_seen, response) => response.end());
    const { call } = await connect(peer.url.replace('http:', 'https:'));
    await expect(call(1)).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
  });

  it('send resolves before the answer', async () => {
    const peer = await startHttpPeer(() => {});
    const { sink, call } = await connect(peer.url);
    await call(1);
    expect(sink.heard).toEqual([]);
  });

  it.each([
    ['garbage', 'SSH-2.0-OpenSSH_9.6\r\n', 'UPSTREAM_NOT_MCP'],
    ['headers without end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}`, 'UPSTREAM_NOT_MCP'],
    ['half a body', 'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"json', 'UPSTREAM_LOST'],
    ['nothing', '', 'UPSTREAM_LOST'],
  ])('a peer that answers with %s and hangs up fails the request', async (_title, text, code) => {
    const peer = await startSocketPeer((socket) => onRequests(socket, () => socket.end(text)));
    const { sink, call } = await connect(peer.url);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code });
  });

  it('C-046: a connection that the server closed while it was idle is replaced', async () => {
    const sockets: Socket[] = [];
    const peer = await startSocketPeer((socket) => {
      sockets.push(socket);
      onRequests(socket, (id) => socket.write(rawAnswer(id)));
    });
    const { sink, call } = await connect(peer.url);
    await call(1);
    await sink.result(1);
    const closed = new Promise((resolve) => sockets[0]?.once('close', resolve));
    sockets[0]?.end();
    await closed;
    await call(2);
    await sink.result(2);
    expect(sockets).toHaveLength(2);
  });

  it('C-046: a connection that dies under a written request loses it, and it is not repeated', async () => {
    const ids: number[] = [];
    const peer = await startSocketPeer((socket) =>
      onRequests(socket, (id) => {
        ids.push(id);
        if (id === 2) {
          socket.resetAndDestroy();
        } else {
          socket.write(rawAnswer(id));
        }
      }),
    );
    const { sink, call } = await connect(peer.url);
    await call(1);
    await sink.result(1);
    await call(2);
    expect(await sink.failure(2)).toMatchObject({ code: 'UPSTREAM_LOST' });
    await call(3);
    await sink.result(3);
    expect(ids).toEqual([1, 2, 3]);
  });

  it('C-046: idle connections are given up before servers and firewalls do, whatever the server hints', async () => {
    let closed = () => {};
    const given = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const peer = await startSocketPeer((socket) => {
      socket.once('end', closed);
      onRequests(socket, (id) =>
        socket.write(rawAnswer(id).replace('OK\r\n', 'OK\r\nkeep-alive: timeout=600\r\n')),
      );
    });
    const { sink, call } = await connect(peer.url);
    await call(1);
    await sink.result(1);
    await given;
  });

  it('C-046: giving up one call closes its connection and no other', async () => {
    const peer = await startHttpPeer((seen, response) => {
      response.on('close', () => gone.push(seen.message?.id));
      if (seen.message?.id === 3) {
        json(response, answerTo(seen));
      } else {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        held.set(seen.message?.id, () => response.end(`data: ${JSON.stringify(answerTo(seen))}\n\n`));
      }
    });
    const gone: unknown[] = [];
    const held = new Map<unknown, () => void>();
    const { transport, sink, call } = await connect(peer.url);
    await Promise.all([call(1), call(2)]);
    await vi.waitFor(() => expect(held.size).toBe(2));
    transport.abandon(1);
    transport.abandon('unknown');
    await vi.waitFor(() => expect(gone).toEqual([1]));
    held.get(2)?.();
    await sink.result(2);
    await call(3);
    await sink.result(3);
    expect(sink.failures).toEqual([]);
    expect(sink.answers(1)).toEqual([]);
  });

  it('a call given up while it waits for a connection is never sent', async () => {
    const received: Buffer[] = [];
    let closed = () => {};
    const over = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const peer = await startSocketPeer((socket) => {
      socket.on('data', (chunk: Buffer) => received.push(chunk));
      socket.once('close', closed);
    });
    const { transport, sink, call } = await connect(peer.url);
    const sending = call(1);
    transport.abandon(1);
    await expect(sending).rejects.toMatchObject({ code: 'CANCELLED' });
    await over;
    expect(received).toEqual([]);
    expect(sink.failures).toEqual([]);
  });

  it('closing settles every open call, and nothing is sent or heard afterwards', async () => {
    const peer = await startHttpPeer(() => {});
    const { transport, sink, call } = await connect(peer.url);
    await Promise.all([call(1), call(2)]);
    await vi.waitFor(() => expect(peer.seen).toHaveLength(2));
    await transport.close(100);
    expect(sink.failures.map(({ id, error }) => [id, error.code])).toEqual([
      [1, 'UPSTREAM_LOST'],
      [2, 'UPSTREAM_LOST'],
    ]);
    expect(sink.ends).toHaveLength(1);
    await expect(call(3)).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
  });

  it('a header that cannot be written is no fault of the upstream', async () => {
    const peer = await startHttpPeer((seen, response) => json(response, answerTo(seen)));
    const { transport } = await connect(peer.url);
    const sending = transport.send(request(1, 'x'), { headers: { 'Mcp-Name': 'a\r\nb: c' } });
    await expect(sending).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(peer.seen).toEqual([]);
  });

  it('large answers side by side arrive whole', async () => {
    const text = 'é'.repeat(400_000);
    const peer = await startHttpPeer((seen, response) => json(response, answerTo(seen, { text })));
    const { sink, call } = await connect(peer.url);
    await Promise.all([call(1), call(2), call(3)]);
    for (const id of [1, 2, 3]) {
      expect((await sink.result(id))['text']).toBe(text);
    }
  });
});

describe('messages that ask for no answer', () => {
  it('are not sent while the server has not taken 256 of them, and are again when it has', async () => {
    const taken: (() => void)[] = [];
    const peer = await startHttpPeer((_seen, response) => {
      taken.push(() => response.writeHead(202).end());
    });
    const { transport } = await connect(peer.url, {
      limits: { concurrency: 16, queue: 256, maxMessageBytes: 1_048_576, connections: 300 },
    });
    const tell = () => transport.send(notification('notifications/progress'));
    const first = Array.from({ length: 256 }, tell);
    await expect(tell()).rejects.toMatchObject({ code: 'UPSTREAM_BUSY' });
    await expect.poll(() => taken.length).toBe(256);
    taken.shift()?.();
    await Promise.race(first);
    const again = tell();
    await expect.poll(() => taken.length).toBe(256);
    for (const take of taken) {
      take();
    }
    await Promise.all([...first, again]);
  });
});
