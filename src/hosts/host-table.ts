import { join } from 'node:path';
import type { JsonObject } from '../base/json.ts';

/** How the gateway is reached: over HTTP, or as a process that the host starts. */
export type Target =
  | { readonly url: string; readonly token: boolean }
  | { readonly command: string; readonly args: readonly string[]; readonly token: boolean };
type HttpTarget = Extract<Target, { url: string }>;
type StdioTarget = Extract<Target, { command: string }>;

/** The variable that a host takes the key or token of its user from, as `patchbay stdio` does. */
export const TOKEN_VARIABLE = 'PATCHBAY_TOKEN';
/** Stands where a host looks nothing up; not a key, and meant to be replaced. */
const PLACEHOLDER = 'PUT-YOUR-KEY-HERE';

/** Where the user's things are. */
export interface Home {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that the command runs in, for files of projects. */
  readonly here: string;
}

export interface Host {
  readonly label: string;
  readonly syntax: 'json' | 'toml';
  /** Path of the file that the host reads. */
  readonly file: (home: Home) => string;
  /** Where its servers are in that file. */
  readonly servers: readonly string[];
  /** undefined: only processes can be declared there. */
  readonly http: ((target: HttpTarget) => JsonObject) | undefined;
  readonly stdio: (target: StdioTarget) => JsonObject;
  /** Whether names with dots fail there, or have not been seen to work. */
  readonly strict: boolean;
  /** Of VS Code: what it has to ask its user for. */
  readonly input?: JsonObject;
  readonly remarks: readonly string[];
}

/** Where programs keep settings of a user: `~/.config`, `~/Library/Application Support`, `%APPDATA%`. */
function settingsOf({ platform, home, env }: Home): string {
  if (platform === 'win32') {
    return env['APPDATA'] ?? join(home, 'AppData', 'Roaming');
  }
  return platform === 'darwin' ? join(home, 'Library', 'Application Support') : xdg(home, env);
}

const xdg = (home: string, env: Home['env']) => env['XDG_CONFIG_HOME'] || join(home, '.config');
const inHome =
  (...steps: readonly string[]) =>
  ({ home }: Home) =>
    join(home, ...steps);
const inSettings =
  (...steps: readonly string[]) =>
  (home: Home) =>
    join(settingsOf(home), ...steps);

const bearer = (token: boolean, value: string): JsonObject =>
  token ? { headers: { Authorization: `Bearer ${value}` } } : {};
const variable = (token: boolean, value: string, key = 'env'): JsonObject =>
  token ? { [key]: { [TOKEN_VARIABLE]: value } } : {};
/** The form that most hosts share. */
const process =
  (value: string, more: JsonObject = {}) =>
  ({ command, args, token }: StdioTarget): JsonObject => ({
    ...more,
    command,
    args,
    ...variable(token, value),
  });

const INPUT = { type: 'promptString', id: 'patchbay-token', description: 'Key for Patchbay', password: true };
const CODE = ['Code', 'User'];

/**
 * What each host reads, and where. Looked up in November 2026 in the hosts' own pages, or where there are none in those
 * of vendors that give the entry for their server; docs/ides.md has the same for people. `strict` is false only for
 * hosts that were recorded with dotted names and called them back rightly (docs/clients.md).
 */
export const HOSTS = {
  vscode: {
    label: 'VS Code',
    syntax: 'json',
    file: inSettings(...CODE, 'mcp.json'),
    servers: ['servers'],
    http: ({ url, token }) => ({ type: 'http', url, ...bearer(token, `\${input:${INPUT.id}}`) }),
    stdio: process(`\${input:${INPUT.id}}`, { type: 'stdio' }),
    strict: true,
    input: INPUT,
    remarks: ['For one project alone: --file .vscode/mcp.json'],
  },
  cursor: {
    label: 'Cursor',
    syntax: 'json',
    file: inHome('.cursor', 'mcp.json'),
    servers: ['mcpServers'],
    http: ({ url, token }) => ({ url, ...bearer(token, `\${env:${TOKEN_VARIABLE}}`) }),
    stdio: process(`\${env:${TOKEN_VARIABLE}}`),
    strict: true,
    remarks: ['For one project alone: --file .cursor/mcp.json'],
  },
  'claude-code': {
    label: 'Claude Code',
    syntax: 'json',
    file: ({ here }) => join(here, '.mcp.json'),
    servers: ['mcpServers'],
    http: ({ url, token }) => ({ type: 'http', url, ...bearer(token, `\${${TOKEN_VARIABLE}}`) }),
    stdio: process(`\${${TOKEN_VARIABLE}}`, { type: 'stdio' }),
    strict: true,
    remarks: ['This file is of the project in this folder; for all projects: --file ~/.claude.json'],
  },
  'claude-desktop': {
    label: 'Claude Desktop',
    syntax: 'json',
    file: inSettings('Claude', 'claude_desktop_config.json'),
    servers: ['mcpServers'],
    http: undefined,
    stdio: process(PLACEHOLDER),
    strict: true,
    remarks: [
      'It starts a gateway of its own by that configuration; quit and open it again to have it read the file.',
    ],
  },
  windsurf: {
    label: 'Windsurf',
    syntax: 'json',
    file: inHome('.codeium', 'windsurf', 'mcp_config.json'),
    servers: ['mcpServers'],
    http: ({ url, token }) => ({ serverUrl: url, ...bearer(token, `\${env:${TOKEN_VARIABLE}}`) }),
    stdio: process(`\${env:${TOKEN_VARIABLE}}`),
    strict: true,
    remarks: [],
  },
  zed: {
    label: 'Zed',
    syntax: 'json',
    file: (home) =>
      home.platform === 'win32'
        ? join(settingsOf(home), 'Zed', 'settings.json')
        : join(
            home.platform === 'linux' ? xdg(home.home, home.env) : join(home.home, '.config'),
            'zed',
            'settings.json',
          ),
    servers: ['context_servers'],
    http: ({ url, token }) => ({ url, ...bearer(token, PLACEHOLDER) }),
    stdio: process(PLACEHOLDER),
    strict: true,
    remarks: [],
  },
  gemini: {
    label: 'Gemini CLI',
    syntax: 'json',
    file: inHome('.gemini', 'settings.json'),
    servers: ['mcpServers'],
    http: ({ url, token }) => ({ httpUrl: url, ...bearer(token, `\${${TOKEN_VARIABLE}}`) }),
    stdio: process(`\${${TOKEN_VARIABLE}}`),
    strict: true,
    remarks: ['For one project alone: --file .gemini/settings.json'],
  },
  codex: {
    label: 'Codex',
    syntax: 'toml',
    file: ({ home, env }) => join(env['CODEX_HOME'] || join(home, '.codex'), 'config.toml'),
    servers: ['mcp_servers'],
    http: ({ url, token }) => ({ url, ...(token ? { bearer_token_env_var: TOKEN_VARIABLE } : {}) }),
    stdio: ({ command, args, token }) => ({
      command,
      args,
      ...(token ? { env_vars: [TOKEN_VARIABLE] } : {}),
    }),
    strict: false,
    remarks: [],
  },
  cline: {
    label: 'Cline',
    syntax: 'json',
    file: (home) =>
      home.env['CLINE_MCP_SETTINGS_PATH'] ||
      join(
        settingsOf(home),
        ...CODE,
        'globalStorage',
        'saoudrizwan.claude-dev',
        'settings',
        'cline_mcp_settings.json',
      ),
    servers: ['mcpServers'],
    http: ({ url, token }) => ({ type: 'streamableHttp', url, ...bearer(token, PLACEHOLDER) }),
    stdio: process(PLACEHOLDER),
    // It calls dotted names back, but adds a digest to each and cuts it; strict ones it leaves alone.
    strict: true,
    remarks: [
      'This file is of the extension in VS Code; of the command line: --file ~/.cline/data/settings/cline_mcp_settings.json',
    ],
  },
  opencode: {
    label: 'opencode',
    syntax: 'json',
    file: ({ home, env }) => join(xdg(home, env), 'opencode', 'opencode.json'),
    servers: ['mcp'],
    http: ({ url, token }) => ({
      type: 'remote',
      url,
      // Else it tries to register as an OAuth client before it sends the header.
      ...(token ? { oauth: false, headers: { Authorization: `Bearer {env:${TOKEN_VARIABLE}}` } } : {}),
    }),
    stdio: ({ command, args, token }) => ({
      type: 'local',
      command: [command, ...args],
      ...variable(token, `{env:${TOKEN_VARIABLE}}`, 'environment'),
    }),
    strict: false,
    remarks: ['For one project alone: --file opencode.json'],
  },
} as const satisfies Record<string, Host>;

export type HostName = keyof typeof HOSTS;
export const HOST_NAMES = Object.keys(HOSTS) as readonly HostName[];

/** Members by which an entry says how its server is reached: what one form has, another must not keep. */
export const REACHED_BY: ReadonlySet<string> = new Set([
  ...['type', 'url', 'serverUrl', 'httpUrl', 'headers', 'oauth', 'command', 'args', 'env', 'environment'],
  ...['bearer_token_env_var', 'env_vars'],
]);

/** Whether what a host would be told holds something that its user has to replace. */
export const hasPlaceholder = (entry: JsonObject): boolean => JSON.stringify(entry).includes(PLACEHOLDER);
