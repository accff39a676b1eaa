import { describe, expect, it } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { notification, type RpcId, request } from '../../../src/protocol/json-rpc.ts';
import { createStdioTransport } from '../../../src/upstream/stdio.ts';
import { createLogCatcher, opened, stdioUpstream } from './transport-kit.ts';

const CHILD = new URL('../../fixtures/upstreams/transport-child.mjs', import.meta.url).pathname;

async function child(changes: Parameters<typeof stdioUpstream>[2] = {}, log = SILENT) {
  const { transport, sink } = await opened(
    createStdioTransport({ upstream: stdioUpstream(process.execPath, [CHILD], changes), log }),
  );
  const call = (id: RpcId, method: string, params: Record<string, unknown> = {}) =>
    transport.send(request(id, method, params));
  return { transport, sink, call };
}

describe('messages over stdio', () => {
  it('carries requests, answers with the ids 0 and text, notifications and requests of the peer', async () => {
    const { transport, sink, call } = await child();
    await transport.send(notification('unknown'));
    await call(0, 'echo', { a: 1 });
    await call('', 'echo', { b: 2 });
    await call(1, 'raw', {
      text: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":1,"result":{}}\n',
    });
    expect(await sink.result(0)).toEqual({ params: { a: 1 } });
    expect(await sink.result('')).toEqual({ params: { b: 2 } });
    expect(await sink.result(1)).toEqual({});
    expect(sink.calls()).toEqual([{ jsonrpc: '2.0', id: 1, method: 'ping' }]);
    expect(sink.heard.every(({ origin }) => origin === undefined)).toBe(true);
  });

  it('carries signs at which readers such as the readline of Node end a line', async () => {
    const { sink, call } = await child();
    await call(0, 'echo', { text: 'a\u2028b\u2029c' });
    expect(await sink.result(0)).toEqual({ params: { text: 'a\u2028b\u2029c' } });
  });

  it('carries many messages of one turn in their order, each once', async () => {
    const { transport, sink, call } = await child();
    const ids = Array.from({ length: 300 }, (_, id) => id);
    const sent = ids.flatMap((id) => [
      call(id, 'echo', { id, text: 'é'.repeat(id * 10) }),
      transport.send(notification('unknown')),
    ]);
    await Promise.all(sent);
    for (const id of ids) {
      expect(await sink.result(id)).toMatchObject({ params: { id } });
    }
    expect(sink.heard.map(({ message }) => 'id' in message && message.id)).toEqual(ids);
  });

  it('C-028: noise between messages is skipped and reported a few times, and costs no answer', async () => {
    const { lines, log } = createLogCatcher();
    const { sink, call } = await child({}, log);
    const noise = [
      '*** Welcome to the server ***',
      '',
      '[tag] text',
      '\u001b[31mred\u001b[0m',
      'windows\r',
      '[1,2,3]',
      '[]',
      '"a string"',
      '42',
      'null',
      '{"level":30,"msg":"a log object"}',
      'y'.repeat(200_000),
      '{"jsonrpc":"2.0","id":12,"res',
    ];
    const text = [...noise, '{"jsonrpc":"2.0","id":$ID,"result":{"ok":1}}\r', ...noise, ''].join('\n');
    await call(12, 'raw', { text });
    expect(await sink.failure(12)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
    await call(13, 'raw', { text: text.replaceAll('"id":12', '"id":99') });
    expect(await sink.result(13)).toEqual({ ok: 1 });
    await call(14, 'echo');
    await sink.result(14);
    expect(sink.heard).toHaveLength(2);
    expect(sink.failures).toHaveLength(1);
    const reports = lines().filter((line) => line.includes('no MCP message'));
    expect(reports.length).toBeGreaterThan(0);
    expect(reports.length).toBeLessThanOrEqual(10);
    expect(Math.max(...reports.map((line) => line.length))).toBeLessThan(600);
  });

  it('C-028: a message glued to a log line fails that call, not the server', async () => {
    const { sink, call } = await child();
    await call(1, 'raw', { text: '[info] ready {"jsonrpc":"2.0","id":$ID,"result":{}}\n' });
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_NOT_MCP', upstream: 'up' });
    await call(2, 'raw', { text: '[info] ready {"result":{},"jsonrpc":"2.0","id":$ID}\n' });
    expect(await sink.failure(2)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
    await call(3, 'echo');
    await sink.result(3);
  });

  it("C-028: half an answer with another's whole answer on the same line fails both calls", async () => {
    const { sink, call } = await child();
    await call(1, 'never');
    await call(2, 'raw', {
      text: '{"jsonrpc":"2.0","id":1,"result":{"con{"jsonrpc":"2.0","id":$ID,"result":{}}\n',
    });
    expect(await sink.failure(1)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
    expect(await sink.failure(2)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
    // What is within an answer is none.
    await call(3, 'never');
    await call(4, 'raw', {
      text: '{"jsonrpc":"2.0","id":$ID,"result":{"con":[{"jsonrpc":"2.0","id":3,"result":{}}]},}\n',
    });
    expect(await sink.failure(4)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
    await call(5, 'echo');
    await sink.result(5);
    expect(sink.failures).toHaveLength(3);
  });

  it.each([
    '{"jsonrpc":"2.0","id":$ID,"result":"text"}',
    '{"id":$ID,"result":{}}',
    '{"jsonrpc":"2.0","id":$ID}',
  ])('an answer that is no JSON-RPC fails its call at once: %s', async (text) => {
    const { sink, call } = await child();
    await call(5, 'raw', { text: `${text}\n` });
    expect(await sink.failure(5)).toMatchObject({ code: 'UPSTREAM_NOT_MCP' });
  });

  it('each message of a batch counts, whatever stands beside it', async () => {
    const { sink, call } = await child();
    const batch = '[{"jsonrpc":"2.0","method":"notifications/x"},7,{"jsonrpc":"2.0","id":$ID,"result":{}}]\n';
    await call(1, 'raw', { text: batch });
    await sink.result(1);
    expect(sink.calls()).toHaveLength(1);
  });

  it('settles a request once: further answers and answers nobody asked for go nowhere', async () => {
    const { transport, sink, call } = await child();
    await call(7, 'never');
    transport.abandon(7);
    const answer = (id: number | string) => `{"jsonrpc":"2.0","id":${id},"result":{}}\n`;
    await call(1, 'raw', { text: answer(1) + answer(1) + answer(7) + answer(55) });
    await call(2, 'echo');
    await sink.result(2);
    expect(sink.heard.map(({ message }) => ('id' in message ? message.id : undefined))).toEqual([1, 2]);
    expect(sink.failures).toEqual([]);
  });

  it('an error that names no request reaches the connection as it is', async () => {
    const { sink, call } = await child();
    await call(1, 'raw', {
      text: '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n',
    });
    await sink.until(() => sink.heard[0]);
    expect(sink.heard[0]?.message).toMatchObject({ error: { code: -32700 } });
  });

  it.each([1, 65_536])('C-029: a text split into pieces of %i bytes arrives bit-exact', async (size) => {
    const { sink, call } = await child();
    // The prefix of the line is 41 bytes or so: sweeping the offset puts a border inside each kind of character.
    const text = size === 1 ? 'read—é🎉' : `${'a'.repeat(65_480)}${'—é🎉'.repeat(20_000)}`;
    for (let offset = 0; offset < (size === 1 ? 1 : 4); offset += 1) {
      await call(offset, 'pieces', { text: 'b'.repeat(offset) + text, size });
      expect(await sink.result(offset)).toEqual({ text: 'b'.repeat(offset) + text });
    }
  });

  it.each([
    ['its id first', '{"jsonrpc":"2.0","id":$ID,"result":{"text":"', '"}}\n'],
    ['its id last', '{"result":{"text":"', '"},"jsonrpc":"2.0","id":$ID}\n'],
  ])(
    'an oversized line with %s fails its own call, and the connection lives on',
    async (_title, before, after) => {
      const { sink, call } = await child();
      await call(1, 'never');
      await call(2, 'huge', { bytes: 3_000_000, before, after });
      await call(3, 'echo');
      expect(await sink.failure(2)).toMatchObject({ code: 'UPSTREAM_TOO_LARGE' });
      await sink.result(3);
      expect(sink.failures).toHaveLength(1);
    },
  );

  it('an oversized line fails its call before the line ends', async () => {
    const { sink, call } = await child();
    await call(2, 'huge', {
      bytes: 2_000_000,
      before: '{"jsonrpc":"2.0","id":$ID,"result":{"text":"',
      after: '',
    });
    expect(await sink.failure(2)).toMatchObject({ code: 'UPSTREAM_TOO_LARGE' });
  });

  it('a line of 128 MiB costs no memory, and the next call is served', async () => {
    const { sink, call } = await child();
    await call(1, 'echo');
    await sink.result(1);
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    await call(2, 'huge', { bytes: 134_217_728, before: '{"x":"', after: '"}\n' });
    await call(3, 'echo');
    await sink.result(3);
    const grown = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed - before;
    expect(grown).toBeLessThan(96_000_000);
  });
});
