import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as bodyText } from 'node:stream/consumers';
import { isObject, type JsonObject, objectAt } from '../../src/base/json.ts';
import { piecesOf } from './mutations.ts';
import { chunked } from './raw-client.ts';

/** What the call of a wild server tells it to answer: the same words for a child and for an HTTP server. */
export interface Told extends JsonObject {
  /** With `"@id@"` where the id of the call belongs, `"@next@"` for that of the next. Over HTTP the body. */
  readonly text: string;
  /** Where it is cut into pieces, see `piecesOf`. */
  readonly cuts: readonly number[];
  /** HTTP: lines of the head; `@length@` becomes the length of the body. Absent: the head is in the text. */
  readonly head?: readonly string[];
  /** HTTP: where the body is cut into chunks. */
  readonly chunks?: readonly number[];
}

export interface WildServer extends AsyncDisposable {
  url(path: string): string;
}

/** Answers by path and method where there is a result; anything else is no method. */
export type Lists = (path: string, method: string, id: unknown) => string | undefined;

/**
 * A server over HTTP with one tool `say`, that writes bytes as it is told. Its era is the first word of the path.
 * `lists` gives whole bodies in place of those that are in order.
 */
export async function startWildServer(lists: Lists = () => undefined): Promise<WildServer> {
  const server = createServer(async (request, response) => {
    response.on('error', () => {});
    const [, path = '', era] = /^\/((\w+).*)$/.exec(request.url ?? '') ?? [];
    const message: unknown = request.method === 'POST' ? JSON.parse(await bodyText(request)) : undefined;
    if (!isObject(message)) {
      response.writeHead(405).end();
      return;
    }
    const { id, method } = message;
    const told = lists(path, String(method), id);
    const result = resultOf(era === 'modern', String(method));
    if (method === 'tools/call') {
      await write(response, id, objectAt(objectAt(message, 'params'), 'arguments') as unknown as Told);
    } else if (id === undefined || method === undefined) {
      response.writeHead(202).end();
    } else {
      const answer =
        result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(told ?? JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}/${path}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a server of this era answers when it is in order. */
export function resultOf(modern: boolean, method: string): JsonObject | undefined {
  const capabilities = { tools: {}, prompts: {}, resources: {} };
  const serverInfo = { name: 'wild', version: '1' };
  const results: Readonly<Record<string, JsonObject>> = {
    ...(modern
      ? { 'server/discover': { supportedVersions: ['2026-07-28'], capabilities, instructions: 'be wild' } }
      : { initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo, instructions: 'be wild' } }),
    'tools/list': {
      tools: [
        {
          name: 'say',
          description: 'says',
          inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
        },
      ],
    },
    'prompts/list': { prompts: [{ name: 'ask', arguments: [{ name: 'topic', required: true }] }] },
    'resources/list': { resources: [{ uri: 'wild://1', name: 'one', mimeType: 'text/plain' }] },
    'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'wild://{x}', name: 'any' }] },
  };
  const result = results[method];
  return result === undefined || !modern ? result : { resultType: 'complete', ...result };
}

/** Straight to the socket: nothing is put in order on the way. */
async function write(response: ServerResponse, id: unknown, told: Told): Promise<void> {
  const { socket } = response;
  const text = told.text.replaceAll('"@id@"', JSON.stringify(id)).replaceAll('"@next@"', `${Number(id) + 1}`);
  const body = Buffer.from(text, 'utf8');
  const framed = told.chunks === undefined ? body : chunked(piecesOf(body, told.chunks));
  const head = (told.head ?? [])
    .map((line) => `${line.replace('@length@', String(body.length))}\r\n`)
    .join('');
  const bytes = Buffer.concat([Buffer.from(told.head === undefined ? '' : `${head}\r\n`, 'latin1'), framed]);
  for (const piece of piecesOf(bytes, told.cuts)) {
    if (socket?.writable) {
      await new Promise<void>((resolve) => socket.write(piece, () => setImmediate(resolve)));
    }
  }
  socket?.end();
}
