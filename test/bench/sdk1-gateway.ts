import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js';

/** `node sdk1-gateway.ts PORT FILE`: the plainest gateway on the official SDK v1. A session is a server object. */
type Entry = { readonly url: string } | { readonly command: string; readonly args: string[] };

const [port = '', file = ''] = process.argv.slice(2);
const { mcpServers } = JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: Record<string, Entry> };
const tools: Tool[] = [];
const routes = new Map<string, { readonly client: Client; readonly name: string }>();

await Promise.all(
  Object.entries(mcpServers).map(async ([id, entry]) => {
    const client = new Client({ name: 'sdk1-gateway', version: '1.0.0' });
    // The SDK's own types of its transports do not meet `exactOptionalPropertyTypes`.
    const transport =
      'url' in entry
        ? new StreamableHTTPClientTransport(new URL(entry.url))
        : new StdioClientTransport({ command: entry.command, args: entry.args });
    await client.connect(transport as Transport);
    for (const tool of (await client.listTools()).tools) {
      const name = `${id}.${tool.name}`;
      tools.push({ ...tool, name });
      routes.set(name, { client, name: tool.name });
    }
  }),
);

const sessions = new Map<string, StreamableHTTPServerTransport>();

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const server = new Server({ name: 'sdk1-gateway', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const route = routes.get(params.name);
    if (route === undefined) {
      throw new Error(`no tool ${params.name}`);
    }
    return route.client.callTool({ name: route.name, arguments: params.arguments });
  });
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: true,
    onsessioninitialized: (id) => {
      sessions.set(id, transport);
    },
    onsessionclosed: (id) => {
      sessions.delete(id);
    },
  });
  await server.connect(transport as Transport);
  return transport;
}

createServer((request, response) => {
  const known = sessions.get(String(request.headers['mcp-session-id']));
  (known === undefined ? openSession() : Promise.resolve(known))
    .then((transport) => transport.handleRequest(request, response))
    .catch(() => response.destroy());
}).listen(Number(port), '127.0.0.1');
