import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { startGateway } from '../kit/start-gateway.ts';

const MODERN = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'exact', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const NUMBERS = '{"id":12345678901234567890,"low":-9223372036854775808,"ratio":0.1234567890123456789}';
const SCHEMA = {
  type: 'object',
  properties: { id: { type: 'integer' }, low: { type: 'integer' }, ratio: { type: 'number', maximum: 1 } },
  required: ['id', 'low', 'ratio'],
};

/** A server that says as text what it was told as numbers, and the other way round. */
async function startEcho() {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { id, method } = JSON.parse(body || '{}') as { readonly id?: unknown; readonly method?: string };
    bodies.push(...(method === 'tools/call' ? [body] : []));
    const hints = '"ttlMs":60000,"cacheScope":"public"';
    const results: Readonly<Record<string, string>> = {
      'server/discover': `{"resultType":"complete",${hints},"supportedVersions":["${MODERN}"],"capabilities":{"tools":{}}}`,
      'tools/list': `{"resultType":"complete",${hints},"tools":[${JSON.stringify({ name: 'echo', description: 'Says what it was told.', inputSchema: SCHEMA, outputSchema: SCHEMA })}]}`,
      'tools/call': `{"resultType":"complete","content":[],"structuredContent":${NUMBERS}}`,
    };
    const result = results[method ?? ''];
    response.writeHead(result === undefined ? 404 : 200, { 'content-type': 'application/json' });
    const said = result === undefined ? '"error":{"code":-32601,"message":"no"}' : `"result":${result}`;
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${said}}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    bodies,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

it.each(['off', 'warn', 'enforce'])(
  'numbers of more than 53 bits cross the gateway in both directions as they were written, results %s',
  async (results) => {
    await using echo = await startEcho();
    await using gateway = await startGateway({
      upstreams: { up: { url: echo.url, validate: { arguments: 'enforce', results } } },
    });
    await gateway.gateway.settled();
    const params = `{"name":"up.echo","arguments":${NUMBERS},"_meta":${JSON.stringify(META)}}`;
    const response = await fetch(gateway.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': 'tools/call',
        'mcp-name': 'up.echo',
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
    });
    expect(await response.text()).toContain(`"structuredContent":${NUMBERS}`);
    expect(echo.bodies).toEqual([expect.stringContaining(`"arguments":${NUMBERS}`)]);
    expect(gateway.logged.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  },
);
