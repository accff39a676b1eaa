import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';

let gateway: StartedGateway;
beforeAll(async () => {
  gateway = await startGateway({ upstreams: {}, limits: { bodyTimeout: '200ms' } });
});
afterAll(() => gateway.close());

/** What comes back for these bytes until the gateway hangs up, which it must. */
async function answerTo(bytes: string): Promise<{ status: number; body: string }> {
  const socket = connect(gateway.port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => socket.destroy());
  socket.write(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), body };
}

const host = (): string => `Host: 127.0.0.1:${gateway.port}`;
const json = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream';

describe('what is no HTTP request is refused in the words of the table of errors', () => {
  const rows: readonly (readonly [what: string, bytes: () => string, status: number, code: string])[] = [
    ['noise', () => 'NOISE\r\n\r\n', 400, 'HTTP_INVALID'],
    ['an unknown method', () => `FOO /mcp HTTP/1.1\r\n${host()}\r\n\r\n`, 400, 'HTTP_INVALID'],
    ['a TLS greeting', () => '\x16\x03\x01\x02\x00\x01', 400, 'HTTP_INVALID'],
    [
      'two lengths',
      () => `POST /mcp HTTP/1.1\r\n${host()}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
      400,
      'HTTP_INVALID',
    ],
    [
      'a path that cannot be decoded',
      () => `GET /%zz HTTP/1.1\r\n${host()}\r\nConnection: close\r\n\r\n`,
      400,
      'HTTP_INVALID',
    ],
    [
      'headers without end',
      () => `GET /mcp HTTP/1.1\r\n${host()}\r\nX: ${'x'.repeat(33_000)}\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
    ['headers that do not come', () => `POST /mcp HTTP/1.1\r\n${host()}\r\n`, 408, 'REQUEST_SLOW'],
  ];
  it.each(rows)('%s', async (_what, bytes, status, code) => {
    const answer = await answerTo(bytes());
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toMatchObject({ jsonrpc: '2.0', error: { data: { code } } });
  });

  it('but never in the middle of another answer', async () => {
    await using agent = await connectLegacy(gateway.url);
    const socket = connect(gateway.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const session = `Mcp-Session-Id: ${agent.sessionId}\r\nAccept: text/event-stream`;
    socket.write(`GET /mcp HTTP/1.1\r\n${host()}\r\n${session}\r\n\r\n`);
    await expect.poll(() => text).toContain('200 OK');
    socket.write('NOISE\r\n\r\n');
    await once(socket, 'close');
    expect(text).not.toContain('HTTP_INVALID');
  });

  it('and whoever asks properly is served meanwhile', async () => {
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'nothing' });
    const request = `POST /mcp HTTP/1.1\r\n${host()}\r\n${json}\r\nConnection: close\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`;
    expect(JSON.parse((await answerTo(request)).body)).toMatchObject({ error: { code: -32600 } });
  });
});
