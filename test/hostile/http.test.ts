import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Agent } from '../kit/agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { type HostileServer, pour, startHostileServer, type Tool } from './http-server.ts';
import { MIB, watch } from './watch.ts';

/** Largest message taken from it. */
const LARGEST = 2 * MIB;

const streamed =
  (unit: string, type = 'text/event-stream'): Tool =>
  (response) => {
    response.writeHead(200, { 'content-type': type });
    return pour(response, unit);
  };

const LINE = `data: ${'x'.repeat(250)}\n`;
/** 32 MiB of blanks, which come packed. */
const blanks = Buffer.alloc(32 * MIB, ' ');
const packed =
  (encoding: string, bytes: Buffer, type = 'application/json'): Tool =>
  (response) => {
    response.writeHead(200, { 'content-type': type, 'content-encoding': encoding });
    response.end(bytes);
  };
const gzip = gzipSync(blanks, { level: 1 });
const lines = gzipSync(Buffer.alloc(32 * MIB, LINE), { level: 1 });
const brotli = brotliCompressSync(blanks, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

const TOO_LARGE = 'larger than this gateway accepts';
const TOO_LATE = 'did not answer in time';
const NOT_MCP = 'not MCP';

/** What it does, and what its caller is told. */
const HARMS: Readonly<Record<string, readonly [Tool, string]>> = {
  'an event without end': [streamed('data: xxxxxxxx'), TOO_LARGE],
  'an event of lines without end': [streamed(LINE), TOO_LARGE],
  'comments without end': [streamed(':\n'), TOO_LATE],
  'one comment without end': [streamed(': x'), TOO_LATE],
  'events without end': [
    streamed('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"no"}}\n\n'),
    TOO_LATE,
  ],
  'JSON without end': [streamed(' ', 'application/json'), TOO_LARGE],
  'gzip of blanks': [packed('gzip', gzip), TOO_LARGE],
  'deflate of blanks': [packed('deflate', deflateSync(blanks, { level: 1 })), TOO_LARGE],
  'brotli of blanks': [packed('br', brotli), TOO_LARGE],
  'gzip of gzip': [packed('gzip, gzip', gzipSync(gzip)), TOO_LARGE],
  'gzip three times': [packed('gzip, gzip, gzip', gzipSync(gzipSync(gzip))), NOT_MCP],
  'gzip of an event': [packed('gzip', lines, 'text/event-stream'), TOO_LARGE],
  'a header of 1 MiB': [
    (response) => {
      response.socket?.write(`HTTP/1.1 200 OK\r\nx-large: ${'x'.repeat(MIB)}\r\n\r\n`);
    },
    NOT_MCP,
  ],
  'headers without end': [
    async (response) => {
      response.socket?.write('HTTP/1.1 200 OK\r\n');
      for (let at = 0; at < 10_000; at += 1) {
        response.socket?.write(`x-${at}: x\r\n`);
      }
    },
    NOT_MCP,
  ],
  'announcements without end': [
    async (response) => {
      while (!response.destroyed && response.socket?.writable) {
        const unread = response.socket.write('HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'.repeat(1_000));
        await new Promise((resolve) =>
          unread ? setImmediate(resolve) : response.socket?.once('drain', resolve),
        );
      }
    },
    TOO_LATE,
  ],
};

describe('a hostile server over HTTP answers a call with', () => {
  let server: HostileServer;
  let gateway: StartedGateway;
  let agent: Agent;
  let hasty: Agent;

  beforeAll(async () => {
    const tools = Object.entries(HARMS).map(([name, [tool]]) => [name, tool] as const);
    server = await startHostileServer(Object.fromEntries(tools));
    const bad = { url: server.url, limits: { maxMessageBytes: '2MiB' } };
    const late = { ...bad, timeouts: { call: '250ms' } };
    gateway = await startGateway({ upstreams: { bad, late } });
    await gateway.gateway.settled();
    agent = await connectModern(`${gateway.url}/bad`);
    hasty = await connectModern(`${gateway.url}/late`);
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await hasty[Symbol.asyncDispose]();
    await gateway.close();
    await server[Symbol.asyncDispose]();
  });

  it.each(Object.entries(HARMS))('%s', async (name, [, told]) => {
    const { value, kept, healthy } = await watch(gateway, () =>
      (told === TOO_LATE ? hasty : agent).call(name),
    );
    expect(value.result['isError']).toBe(true);
    expect(value.text).toContain(told);
    expect(healthy).toBeGreaterThan(0);
    expect(kept).toBeLessThan(10 * LARGEST);
    if (told === TOO_LATE) {
      await expect.poll(() => [...server.cut]).toContain(name);
    }
  });
});
