import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';

/** `node sdk2-gateway.ts PORT FILE`: the plainest gateway on the official SDK v2, for both eras, without sessions. */
type Entry = { readonly url: string } | { readonly command: string; readonly args: string[] };

const [port = '', file = ''] = process.argv.slice(2);
const { mcpServers } = JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: Record<string, Entry> };
const tools: Tool[] = [];
const routes = new Map<string, { readonly client: Client; readonly name: string }>();

await Promise.all(
  Object.entries(mcpServers).map(async ([id, entry]) => {
    const info = { name: 'sdk2-gateway', version: '1.0.0' };
    const client = new Client(info, { versionNegotiation: { mode: 'auto' } });
    await client.connect(
      'url' in entry
        ? new StreamableHTTPClientTransport(new URL(entry.url))
        : new StdioClientTransport({ command: entry.command, args: entry.args }),
    );
    for (const tool of (await client.listTools()).tools) {
      const name = `${id}.${tool.name}`;
      tools.push({ ...tool, name });
      routes.set(name, { client, name: tool.name });
    }
  }),
);

const handler = createMcpHandler(() => {
  const server = new Server({ name: 'sdk2-gateway', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const route = routes.get(params.name);
    if (route === undefined) {
      throw new Error(`no tool ${params.name}`);
    }
    return route.client.callTool({ name: route.name, arguments: params.arguments ?? {} });
  });
  return server;
});
// The SDK's own types of requests do not meet `exactOptionalPropertyTypes`.
const handle = toNodeHandler(handler) as (...exchange: Parameters<RequestListener>) => Promise<void>;
createServer((request, response) => {
  handle(request, response).catch(() => response.destroy());
}).listen(Number(port), '127.0.0.1');
