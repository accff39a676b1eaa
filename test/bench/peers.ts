import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installed } from './install.ts';
import { Absent, dotted, mcpServers, type Setting, type Start, same, type Target } from './target.ts';

const HERE = import.meta.dirname;
const HUB = { name: 'mcp-hub', version: '4.2.1' };

/** The plainest gateways that one can write with the official SDKs: what "just use the SDK" costs. */
function fixture(file: string, eras: Target['eras']): Target {
  return {
    merges: true,
    kinds: ['http', 'stdio'],
    eras,
    tool: dotted,
    start: (setting) => ({
      command: [process.execPath, join(HERE, file), String(setting.port), written(setting, 'servers.json')],
      path: '/mcp',
    }),
  };
}

function written(setting: Setting, name: string): string {
  const file = join(setting.folder, name);
  writeFileSync(file, mcpServers(setting));
  return file;
}

function stdioCommand({ servers }: Setting): readonly string[] {
  const [first] = Object.values(servers);
  return first !== undefined && 'command' in first ? first.command : [];
}

/** The script of a package that is started with Node. */
async function script(name: string, version: string, file: string): Promise<readonly string[]> {
  return [process.execPath, join(await installed(name, version), 'node_modules', name, file)];
}

/** Any further one is one entry here: versions are those that the figures of docs/performance.md are about. */
export const PEERS: Readonly<Record<string, Target>> = {
  sdk1: fixture('sdk1-gateway.ts', ['legacy']),
  sdk2: fixture('sdk2-gateway.ts', ['modern', 'legacy']),
  'mcp-proxy': {
    merges: false,
    kinds: ['stdio'],
    eras: ['legacy', 'modern'],
    tool: same,
    start: async (setting) => ({
      command: [
        ...(await script('mcp-proxy', '6.7.19', 'dist/bin/mcp-proxy.mjs')),
        ...['--host', '127.0.0.1', '--port', String(setting.port)],
        ...['--server', 'stream', '--no-eventStore', '--', ...stdioCommand(setting)],
      ],
      path: '/mcp',
    }),
  },
  supergateway: {
    merges: false,
    kinds: ['stdio'],
    eras: ['legacy'],
    tool: same,
    start: async (setting) => ({
      command: [
        ...(await script('supergateway', '4.0.0', 'dist/index.js')),
        ...['--stdio', stdioCommand(setting).join(' '), '--port', String(setting.port)],
        ...['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none'],
      ],
      path: '/mcp',
    }),
  },
  // Written in Go. It shows tools of its own only, and reaches its servers at the first call.
  'slop-mcp': {
    merges: true,
    kinds: ['http', 'stdio'],
    eras: ['sse'],
    tool: same,
    wrapped: (server, tool) => ({
      name: 'execute_tool',
      arguments: { mcp_name: server, tool_name: tool, parameters: { text: '@' } },
    }),
    skips: ['list', 'list2000', 'paged2000', 'cold'],
    start: slop,
  },
  // Fetches a marketplace when it starts.
  'mcp-hub': {
    merges: true,
    kinds: ['http', 'stdio'],
    eras: ['sse'],
    tool: (server, tool) => `${server}__${tool}`,
    apart: HUB,
    start: async (setting) => ({
      command: [
        ...(await script(HUB.name, HUB.version, 'dist/cli.js')),
        ...['--port', String(setting.port), '--config', written(setting, 'mcp-hub.json')],
      ],
      path: '/mcp',
    }),
  },
};

async function slop(setting: Setting): Promise<Start> {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  if (process.platform !== 'linux') {
    throw new Absent('it is measured on Linux only');
  }
  const name = '@standardbeagle/slop-mcp';
  const folder = join(await installed(name, '0.15.0'), 'node_modules', name);
  const program = join(folder, 'binaries', `slop-mcp-linux-${architecture}`);
  chmodSync(program, 0o755);
  const text = JSON.stringify;
  const entries = Object.entries(setting.servers).map(([id, server]) =>
    'url' in server
      ? `mcp ${text(id)} {\n  type "streamable"\n  url ${text(server.url)}\n}`
      : `mcp ${text(id)} {\n  type "stdio"\n  command ${text(server.command[0])}\n  args ${server.command
          .slice(1)
          .map((word) => text(word))
          .join(' ')}\n}`,
  );
  mkdirSync(setting.folder, { recursive: true });
  writeFileSync(join(setting.folder, '.slop-mcp.kdl'), entries.join('\n'));
  return { command: [program, 'serve', '--port', String(setting.port)], path: '/sse' };
}
