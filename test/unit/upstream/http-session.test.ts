import type { ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { notification, type RpcId, request } from '../../../src/protocol/json-rpc.ts';
import { createHttpTransport } from '../../../src/upstream/http.ts';
import {
  answerTo,
  event,
  type HttpPeer,
  httpUpstream,
  json,
  NO_CREDENTIAL,
  opened,
  type Seen,
  startHttpPeer,
} from './transport-kit.ts';

type Respond = (seen: Seen, response: ServerResponse) => void;

/** A stateful legacy server: gives out s1, s2, … and leaves the rest to `respond`. */
async function startSessions(respond: Respond = (seen, response) => json(response, answerTo(seen))) {
  let sessions = 0;
  return startHttpPeer((seen, response) => {
    if (seen.message?.method === 'initialize') {
      sessions += 1;
      json(response, answerTo(seen), 200, { 'Mcp-Session-Id': `s${sessions}` });
    } else if (seen.message !== undefined && seen.message.id === undefined) {
      response.writeHead(202).end();
    } else {
      respond(seen, response);
    }
  });
}

async function connect(peer: HttpPeer, changes: Parameters<typeof httpUpstream>[1] = {}) {
  const { transport, sink } = await opened(
    createHttpTransport({
      upstream: httpUpstream(peer.url, changes),
      credential: NO_CREDENTIAL,
      log: SILENT,
    }),
  );
  const call = (id: RpcId, method = 'x') => transport.send(request(id, method));
  const initialize = async (id: RpcId) => {
    await call(id, 'initialize');
    await sink.result(id);
    transport.agreed?.({ version: '2025-11-25', era: 'legacy' });
    await transport.send(notification('notifications/initialized'));
  };
  return { transport, sink, call, initialize };
}

const sessionsOf = (peer: HttpPeer) => peer.seen.map(({ headers }) => headers['mcp-session-id']);

describe('headers', () => {
  it('carry the session and the agreed version once there are some', async () => {
    const peer = await startSessions();
    const { sink, call, initialize } = await connect(peer);
    await initialize(0);
    await call(1);
    await sink.result(1);
    expect(sessionsOf(peer)).toEqual([undefined, 's1', 's1']);
    expect(peer.seen.map(({ headers }) => headers['mcp-protocol-version'])).toEqual([
      undefined,
      '2025-11-25',
      '2025-11-25',
    ]);
  });

  it('of one request win over the agreed ones, and are sent once', async () => {
    const peer = await startHttpPeer((seen, response) => json(response, answerTo(seen)));
    const { transport, sink } = await connect(peer);
    transport.agreed?.({ version: '2026-07-28', era: 'modern' });
    await transport.send(request(1, 'tools/call'), {
      headers: { 'mcp-method': 'tools/call', 'mcp-name': 'a', 'mcp-protocol-version': '2027-01-01' },
    });
    await sink.result(1);
    await transport.send(request(2, 'x'));
    await sink.result(2);
    expect(peer.seen[0]?.headers).toMatchObject({
      'mcp-method': 'tools/call',
      'mcp-name': 'a',
      'mcp-protocol-version': '2027-01-01',
    });
    expect(peer.seen[1]?.headers).toMatchObject({ 'mcp-protocol-version': '2026-07-28' });
    expect(peer.seen[1]?.headers).not.toHaveProperty('mcp-name');
  });

  it('C-050: are those made here and the configured ones, nothing else', async () => {
    const peer = await startSessions((seen, response) =>
      seen.method === 'GET' ? response.writeHead(405).end() : json(response, answerTo(seen)),
    );
    const headers = {
      Authorization: 'Bearer configured',
      'X-Team': 'core',
      'X-Empty': '',
      Connection: 'close',
      Accept: 'no',
    };
    const { transport, sink, call, initialize } = await connect(peer, { headers });
    await initialize(0);
    await call(1);
    await sink.result(1);
    transport.listen?.(() => {});
    await vi.waitFor(() => expect(peer.count('GET')).toBe(1));
    await transport.close(1_000);
    const expected = new Set([
      'host',
      'connection',
      'content-length',
      'user-agent',
      'accept',
      'accept-encoding',
      'content-type',
      'authorization',
      'x-team',
      'mcp-protocol-version',
      'mcp-session-id',
    ]);
    expect(peer.seen.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'GET', 'DELETE']);
    for (const { headers: sent, method } of peer.seen) {
      expect(Object.keys(sent).filter((name) => !expected.has(name))).toEqual([]);
      expect(sent).toMatchObject({
        authorization: 'Bearer configured',
        'x-team': 'core',
        'user-agent': 'patchbay',
      });
      expect(sent.accept).toBe(
        { POST: 'application/json, text/event-stream', GET: 'text/event-stream' }[method] ?? 'no',
      );
    }
  });
});

describe('sessions', () => {
  it.each([
    ['404 without a body', (response: ServerResponse) => response.writeHead(404).end()],
    [
      '404 with an error of nobody',
      (response: ServerResponse) =>
        json(
          response,
          { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } },
          404,
        ),
    ],
    [
      '404 with an error of the request',
      (response: ServerResponse) =>
        json(response, { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'Session not found' } }, 404),
    ],
    [
      '400 that names the session',
      (response: ServerResponse) => response.writeHead(400).end('Invalid session ID'),
    ],
  ])('C-039: %s ends the session; its id is never sent again', async (_title, refuse) => {
    const peer = await startSessions((seen, response) =>
      seen.headers['mcp-session-id'] === 's2' ? json(response, answerTo(seen)) : refuse(response),
    );
    const { sink, call, initialize } = await connect(peer);
    await initialize(0);
    await call(1);
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_SESSION' });
    await initialize(2);
    await call(3);
    await sink.result(3);
    expect(sessionsOf(peer)).toEqual([undefined, 's1', 's1', undefined, 's2', 's2']);
    expect(peer.seen[3]?.headers).not.toHaveProperty('mcp-protocol-version');
  });

  it('C-039: a late 404 of the old session does not end the new one', async () => {
    const held: ServerResponse[] = [];
    const peer = await startSessions((seen, response) => {
      if (seen.headers['mcp-session-id'] === 's1') {
        held.push(response);
      } else {
        json(response, answerTo(seen));
      }
    });
    const { sink, call, initialize } = await connect(peer);
    await initialize(0);
    await call(1);
    await vi.waitFor(() => expect(held).toHaveLength(1));
    await initialize(2);
    held[0]?.writeHead(404).end();
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_SESSION' });
    await call(3);
    await sink.result(3);
    expect(sessionsOf(peer).at(-1)).toBe('s2');
  });

  it('a 404 without a session is a status, and with one an unknown method may be an answer', async () => {
    const peer = await startSessions((_seen, response) =>
      json(response, { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'Method not found' } }, 404),
    );
    const { sink, call, initialize } = await connect(peer);
    await initialize(0);
    await call(1);
    expect(await sink.outcome(1)).toMatchObject({ error: { code: -32601 } });
  });

  it('C-049: are ended with DELETE on close', async () => {
    const peer = await startSessions((_seen, response) => response.writeHead(200).end());
    const { transport, sink, initialize } = await connect(peer);
    await initialize(0);
    await Promise.all([transport.close(1_000), transport.close(1_000)]);
    expect(peer.seen.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 's1' } });
    expect(peer.count('DELETE')).toBe(1);
    expect(sink.ends).toHaveLength(1);
  });

  it.each([
    ['405', (response: ServerResponse) => response.writeHead(405).end()],
    ['nothing', () => {}],
    ['a reset', (response: ServerResponse) => response.destroy()],
  ])('C-049: %s in answer to the DELETE delays the end no longer than the grace', async (_title, respond) => {
    const peer = await startSessions((_seen, response) => respond(response));
    const { transport, sink, initialize } = await connect(peer);
    await initialize(0);
    await transport.close(150);
    expect(peer.count('DELETE')).toBe(1);
    expect(sink.ends).toHaveLength(1);
  });

  it('C-049: there is no DELETE without a session', async () => {
    const peer = await startHttpPeer((seen, response) => json(response, answerTo(seen)));
    const { transport, sink, call } = await connect(peer);
    await call(1);
    await sink.result(1);
    await transport.close(1_000);
    expect(peer.count('DELETE')).toBe(0);
  });
});

describe('the stream of notices', () => {
  async function listening(get: (response: ServerResponse, seen: Seen, count: number) => void) {
    let count = 0;
    const peer: HttpPeer = await startSessions((seen, response) => {
      if (seen.method === 'GET') {
        count += 1;
        get(response, seen, count);
      } else {
        json(response, answerTo(seen));
      }
    });
    const connected = await connect(peer);
    await connected.initialize(0);
    connected.transport.listen?.(() => {});
    return { peer, ...connected };
  }

  it.each([
    ['405', 1, (response: ServerResponse) => response.writeHead(405, { allow: 'POST' }).end()],
    ['404', 2, (response: ServerResponse) => response.writeHead(404).end()],
    ['406', 1, (response: ServerResponse) => response.writeHead(406).end()],
    ['200 with JSON', 1, (response: ServerResponse) => json(response, { hello: 1 })],
    [
      '200 with a page',
      1,
      (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hi'),
    ],
    [
      'a page as an event stream',
      1,
      (response: ServerResponse) =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('<p>hi'),
    ],
    ['401', 1, (response: ServerResponse) => response.writeHead(401).end()],
    [
      'a redirect elsewhere',
      1,
      (response: ServerResponse) => response.writeHead(302, { location: 'http://x.test/' }).end(),
    ],
  ])('C-042: %s in answer to GET is tolerated: %i in all', async (_title, tries, refuse) => {
    const { peer, sink, call } = await listening(refuse);
    await vi.waitFor(() => expect(peer.count('GET')).toBe(tries));
    // Back-off is at most 10 ms here: a storm would have begun while these calls were answered.
    for (let id = 1; id <= 30; id += 1) {
      await call(id);
      await sink.result(id);
    }
    expect(peer.count('GET')).toBe(tries);
    expect(sink.ends).toEqual([]);
  });

  it('brings messages that belong to no request, and is opened again when it breaks', async () => {
    const { peer, sink } = await listening((response, _seen, count) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const message = { jsonrpc: '2.0', method: 'notifications/n', params: { count } };
      response.write(event(message, `id: e${count}\nretry: 100\n`));
      if (count === 2) {
        response.destroy();
      } else if (count < 4) {
        response.end();
      }
    });
    await sink.until(() => sink.calls()[2]);
    await vi.waitFor(() => expect(peer.count('GET')).toBe(4));
    expect(sink.heard.slice(1).every(({ origin }) => origin === undefined)).toBe(true);
    const gets = peer.seen.filter(({ method }) => method === 'GET').map(({ headers }) => headers);
    expect(gets[0]).toMatchObject({ 'mcp-session-id': 's1', 'mcp-protocol-version': '2025-11-25' });
    expect(gets.map((headers) => headers['last-event-id']).slice(0, 2)).toEqual([undefined, 'e1']);
  });

  it('is tried again with back-off while the server fails', async () => {
    const { peer, sink } = await listening((response, _seen, count) => {
      if (count < 4) {
        response.writeHead(503).end();
      } else {
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .write(event({ jsonrpc: '2.0', method: 'n' }));
      }
    });
    await sink.until(() => sink.calls()[0]);
    expect(peer.count('GET')).toBe(4);
  });

  it('may bring the answer to a request, whose own connection is then closed', async () => {
    let notices: ServerResponse | undefined;
    let closed = () => {};
    const over = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const peer = await startSessions((seen, response) => {
      if (seen.method === 'GET') {
        notices = response.writeHead(200, { 'content-type': 'text/event-stream' });
        notices.flushHeaders();
      } else {
        response.once('close', closed);
        notices?.write(event(answerTo(seen, { elsewhere: 1 })));
      }
    });
    const { transport, sink, call, initialize } = await connect(peer);
    await initialize(0);
    transport.listen?.(() => {});
    await vi.waitFor(() => expect(notices).toBeDefined());
    await call(1);
    expect(await sink.result(1)).toEqual({ elsewhere: 1 });
    await over;
    expect(sink.failures).toEqual([]);
  });

  it('ends with the transport', async () => {
    let closed = () => {};
    const ended = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { transport, peer } = await listening((response) => {
      response.on('close', closed);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    });
    await vi.waitFor(() => expect(peer.count('GET')).toBe(1));
    await transport.close(500);
    await ended;
  });
});
