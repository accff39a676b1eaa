import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as bodyText } from 'node:stream/consumers';
import { isObject, type JsonObject, stringAt } from '../../src/base/json.ts';

/** Writes the whole answer to one call, in whatever form. */
export type Tool = (response: ServerResponse, id: unknown) => void | Promise<void>;

export interface HostileServer extends AsyncDisposable {
  readonly url: string;
  /** Answers that were cut by the gateway before they had ended, by tool. */
  readonly cut: Set<string>;
}

/** A modern server over HTTP whose handshake is in order. `lists` gives whole JSON texts of results, by method. */
export async function startHostileServer(
  tools: Readonly<Record<string, Tool>>,
  lists: Readonly<Record<string, (params: JsonObject) => string>> = {},
): Promise<HostileServer> {
  const cut = new Set<string>();
  const results: Record<string, (params: JsonObject) => string> = {
    'server/discover': () =>
      `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{}}}`,
    'tools/list': () =>
      JSON.stringify({
        tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })),
      }),
    'prompts/list': () => '{"prompts":[]}',
    ...lists,
  };
  const server = createServer(async (request, response) => {
    response.on('error', () => {});
    const message: unknown = JSON.parse(await bodyText(request));
    const id = isObject(message) ? message['id'] : undefined;
    const params = isObject(message) && isObject(message['params']) ? message['params'] : {};
    const name = stringAt(params, 'name') ?? '';
    const result = results[stringAt(message, 'method') ?? '']?.(params);
    if (result !== undefined) {
      response.setHeader('content-type', 'application/json');
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
      return;
    }
    response.on('close', () => response.writableFinished || cut.add(name));
    await tools[name]?.(response, id);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    cut,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes this over and over until nobody reads it any more. */
export async function pour(response: ServerResponse, unit: string): Promise<void> {
  const piece = Buffer.from(unit.repeat(Math.ceil(65_536 / unit.length)));
  const closed = new Promise<void>((resolve) => response.once('close', resolve));
  while (!response.destroyed) {
    if (!response.write(piece)) {
      await Promise.race([closed, new Promise<void>((resolve) => response.once('drain', resolve))]);
    }
  }
}
