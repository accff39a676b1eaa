import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import { Unread } from '../../../src/front/unread.ts';

describe('what waits for all readers together', () => {
  function scene(most: number) {
    const cut: string[] = [];
    const unread = new Unread(() => most);
    const readers = new Map<string, object>();
    return {
      cut,
      unread,
      waits: (name: string, bytes: number) => {
        const reader = readers.get(name) ?? {};
        readers.set(name, reader);
        unread.waits(reader, bytes, () => cut.push(name));
      },
    };
  }

  it('cuts whoever waits for longest, and no more of them than needed', () => {
    const { unread, waits, cut } = scene(100);
    waits('a', 40);
    waits('b', 40);
    waits('c', 50);
    expect(cut).toEqual(['a']);
    expect(unread.bytes).toBe(90);
  });

  it('counts what a reader has left now; one that has caught up starts anew', () => {
    const { unread, waits, cut } = scene(100);
    waits('a', 60);
    waits('a', 90);
    waits('a', 0);
    expect(unread.bytes).toBe(0);
    waits('b', 60);
    waits('a', 30);
    waits('c', 30);
    expect(cut).toEqual(['b']);
  });

  it('lets one answer be larger than the bound', () => {
    const { waits, cut } = scene(100);
    waits('a', 500);
    expect(cut).toEqual([]);
    waits('b', 10);
    expect(cut).toEqual(['a']);
  });
});

describe('an answer that its client does not read', () => {
  const LARGE = 'x'.repeat(64 * 1_048_576);

  /** One answer over a real connection, handed over whole. Nothing of it is read before `read` is called. */
  async function answer(stallMs: number) {
    const lines: string[] = [];
    const log = createLog({
      level: 'warn',
      readable: false,
      destination: { write: (line) => lines.push(line) },
    });
    const unread = new Unread(() => Number.POSITIVE_INFINITY, stallMs);
    const server = createServer((_request, response) => server.emit('opened', response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const request = get({ port, host: '127.0.0.1', agent: false });
    const answered = once(request, 'response') as Promise<[IncomingMessage]>;
    const [response] = (await once(server, 'opened')) as [ServerResponse];
    response.end(LARGE);
    unread.answer(response, LARGE.length, log);
    const [reader] = await answered;
    reader.on('error', () => undefined);
    return { lines, unread, response, reader };
  }

  it('is cut when nothing of it is taken for a while, with a line in the log', async () => {
    const { lines, unread, response } = await answer(50);
    expect(unread.bytes).toBe(LARGE.length);
    await once(response, 'close');
    expect(response.writableFinished).toBe(false);
    expect(lines.join('')).toContain('did not read its answer');
    expect(unread.bytes).toBe(0);
  });

  it('counts until all of it was taken', async () => {
    const { lines, unread, response, reader } = await answer(60_000);
    let bytes = 0;
    reader.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await Promise.all([once(reader, 'end'), once(response, 'close')]);
    expect(bytes).toBe(LARGE.length);
    expect(unread.bytes).toBe(0);
    expect(lines).toEqual([]);
  });
});
