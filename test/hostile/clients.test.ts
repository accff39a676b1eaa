import { connect as connectSocket, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent } from '../kit/agent.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { MIB, watch } from './watch.ts';

const BODY = 4 * MIB;
const HEAD = [
  'POST /mcp HTTP/1.1',
  'Content-Type: application/json',
  'Accept: application/json',
  'MCP-Protocol-Version: 2026-07-28',
  'Mcp-Method: tools/call',
];
const CALL = { name: 'up.echo', arguments: {} };

describe('a hostile client', () => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;
  let agent: Agent;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    up = await startHttpUpstream({
      id: 'up',
      tools: ['echo', 'big', 'never'],
      calls: { big: { does: 'big', bytes: 12 * MIB } },
    });
    gateway = await startGateway({
      limits: { maxBodyBytes: BODY, bodiesBytes: 3 * BODY },
      streams: { unreadBytes: '24MiB' },
      upstreams: { up: up.config },
    });
    await gateway.gateway.settled();
    agent = await connectModern(gateway.url);
  });

  afterAll(async () => {
    for (const socket of sockets) {
      socket.destroy();
    }
    await agent[Symbol.asyncDispose]();
    await gateway.close();
    await up[Symbol.asyncDispose]();
  });

  /** A connection of its own, and everything that comes over it as text. */
  function open(read = true, port = gateway.port) {
    const socket = connectSocket(port, '127.0.0.1');
    sockets.push(socket);
    const heard = { text: '', closed: false };
    socket.setEncoding('latin1').on('error', () => {});
    if (read) {
      socket.on('data', (chunk) => {
        heard.text += chunk;
      });
    }
    socket.on('close', () => {
      heard.closed = true;
    });
    return { socket, heard };
  }

  const message = (params: object, id: unknown = 1) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { ...params, _meta: { [META.version]: '2026-07-28', [META.capabilities]: {} } },
    });
  const head = (name: string, bytes: number, more: readonly string[] = []) =>
    [
      ...HEAD,
      `Host: 127.0.0.1:${gateway.port}`,
      `Mcp-Name: ${name}`,
      `Content-Length: ${bytes}`,
      ...more,
      '',
      '',
    ].join('\r\n');
  const bytes = (text: string) => Buffer.byteLength(text);
  const isServed = async () => expect((await agent.request('tools/call', CALL)).status).toBe(200);

  it.each([
    ['nested deeply', `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`, 413],
    ['nested deeply, and no message', `${'['.repeat(500_000)}${']'.repeat(500_000)}`, 413],
    ['in a million parts', `[${'{},'.repeat(1_000_000)}{}]`, 413],
    ['larger than a body may be', ' '.repeat(BODY + 1), 413],
    ['with an id of 1 MiB', message(CALL, 'i'.repeat(MIB)), 400],
  ])('sends a message %s', async (_how, body, status) => {
    const { value, kept } = await watch(gateway, () => agent.post(body));
    expect(value.status).toBe(status);
    expect(kept).toBeLessThan(10 * BODY);
    await isServed();
  });

  it('calls itself by a name of 1 MiB: it is served, and the log does not repeat it', async () => {
    const name = 'n'.repeat(MIB);
    await using client = await connectLegacy(gateway.url, { clientInfo: { name, version: '1' } });
    expect((await client.request('tools/call', CALL)).status).toBe(200);
    expect(JSON.stringify(gateway.logged).includes('n'.repeat(1_000))).toBe(false);
  });

  it('packs its body: it is not unpacked', async () => {
    const { socket, heard } = open();
    const packed = gzipSync(Buffer.alloc(64 * MIB, ' '), { level: 1 });
    socket.write(head('up.echo', packed.length, ['Content-Encoding: gzip']));
    socket.write(packed);
    await expect.poll(() => heard.text).toContain('HTTP/1.1 415');
    await isServed();
  });

  it.each([connectModern, connectLegacy])(
    'sends arguments that are just within bounds: they arrive as they are',
    async (connect) => {
      await using client = await connect(gateway.url);
      const deep = JSON.parse(`${'{"0":'.repeat(2_000)}1${'}'.repeat(2_000)}`);
      const odd = JSON.parse(
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"dup":1,"dup":2}',
      );
      const args = { deep, odd, lone: '\ud800', text: 'x'.repeat(MIB), regular: `${'a'.repeat(50_000)}!` };
      const mark = up.mark();
      const { value } = await watch(gateway, () =>
        client.call('up.echo', args, { meta: { 'example.com/huge': 'm'.repeat(MIB) } }),
      );
      expect(value.result['isError']).not.toBe(true);
      const seen = await up.untilReceived('tools/call', undefined, { after: mark });
      expect(JSON.stringify(seen)).toContain('"__proto__":{"polluted":1}');
      expect(JSON.stringify(value.structured)).toContain('\\ud800');
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    },
  );

  it('sends its body byte by byte: it has its time, then its connection is closed, and nobody waits for it', async () => {
    await using hasty = await startGateway({ limits: { bodyTimeout: '300ms' }, upstreams: {} });
    const slow = Array.from({ length: 50 }, () => open(true, hasty.port));
    for (const { socket } of slow) {
      socket.write(head('up.echo', 1_000).replace(`:${gateway.port}`, `:${hasty.port}`));
    }
    const drip = setInterval(() => {
      for (const { socket } of slow) {
        socket.write(' ');
      }
    }, 20);
    try {
      await expect.poll(() => slow.every(({ heard }) => heard.closed)).toBe(true);
    } finally {
      clearInterval(drip);
    }
    expect(slow[0]?.heard.text).toContain('408');
    await isServed();
  });

  it('sends headers without end', async () => {
    const { socket, heard } = open();
    socket.write(`POST /mcp HTTP/1.1\r\nx: ${'x'.repeat(MIB)}\r\n`);
    await expect.poll(() => heard.text).toContain('431');
    await isServed();
  });

  it('keeps many large requests open: beyond the bound others are told to come again, and room comes back', async () => {
    const text = message({ name: 'up.never', arguments: { text: 'x'.repeat(3 * MIB) } });
    const clients = Array.from({ length: 5 }, () => open());
    for (const { socket } of clients) {
      socket.write(head('up.never', bytes(text)));
      socket.write(text);
    }
    await expect.poll(() => clients.some(({ heard }) => heard.text.includes('503'))).toBe(true);
    expect(clients.find(({ heard }) => heard.text.includes('503'))?.heard.text).toMatch(/retry-after: 1/i);
    for (const { socket } of clients) {
      socket.destroy();
    }
    await expect
      .poll(
        async () =>
          (
            await agent.post(message({ name: 'up.echo', arguments: { x: 'x'.repeat(3 * MIB) } }), {
              'mcp-protocol-version': '2026-07-28',
              'mcp-method': 'tools/call',
              'mcp-name': 'up.echo',
            })
          ).status,
      )
      .toBe(200);
  });

  it('sends 2,000 requests over one connection without waiting: each is answered, and nobody waits for it', async () => {
    const text = message({}).replace('tools/call', 'server/discover');
    const one = head('up.echo', bytes(text)).replace('tools/call', 'server/discover') + text;
    const { socket } = open(false);
    let answered = 0;
    socket.on('data', (chunk) => {
      answered += String(chunk).split('HTTP/1.1 200').length - 1;
    });
    const { kept, healthy } = await watch(gateway, async () => {
      socket.write(one.repeat(2_000));
      // An answer whose first line was cut between two chunks is not counted.
      await expect.poll(() => answered, { timeout: 45_000 }).toBeGreaterThan(1_900);
    });
    expect(healthy).toBeGreaterThan(1);
    expect(kept).toBeLessThan(64 * MIB);
  });

  it('reads nothing of what it asked for: it is cut with a line in the log, and others are served', async () => {
    const text = message({ name: 'up.big', arguments: {} });
    const deaf = Array.from({ length: 6 }, () => open(false));
    const { kept, healthy } = await watch(gateway, async () => {
      for (const { socket } of deaf) {
        socket.write(head('up.big', bytes(text)) + text);
      }
      await expect
        .poll(
          () => gateway.logged.filter(({ msg }) => String(msg).includes('did not read its answer')).length,
        )
        .toBeGreaterThan(0);
    });
    expect(healthy).toBeGreaterThan(0);
    expect(kept).toBeLessThan(10 * 24 * MIB);
    await isServed();
  });
});
