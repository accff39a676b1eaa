import { claudeCode, type Dialect, editor, gemini, hub, noReferences, opencode } from './dialect.ts';

/** What a member of a server's entry means. Times are in the unit of the host. */
export type Meaning =
  | 'kind'
  | 'command'
  | 'args'
  | 'env'
  /** A value that is empty or null is looked up under its own name. */
  | 'envOrOwn'
  | 'envFile'
  | 'passEnv'
  | 'cwd'
  | 'url'
  | 'streamableUrl'
  | 'sseUrl'
  /** Not what the host reads, but what was meant. */
  | 'wrongUrl'
  | 'headers'
  | 'headerVariables'
  | 'bearerVariable'
  | 'enabled'
  | 'disabled'
  | 'call'
  | 'connect'
  | 'allow'
  | 'deny'
  /** Which calls the host makes without asking: none of the gateway's business, but nothing to lose silently. */
  | 'approval'
  /** A limit on what the server may do, which the gateway does not enforce. */
  | 'limit'
  /** What mcp-proxy keeps beside an entry: its filter of tools, keys of clients, whether it is on. */
  | 'proxyOptions'
  /** Resources and templates that are hidden one by one. */
  | 'hiddenResources'
  /** Other instructions for the model than the server's own. */
  | 'instructions'
  /** How the host signs in by OAuth. */
  | 'oauth'
  /** For people, or for the host alone. */
  | 'label';

export interface Format {
  readonly label: string;
  /** Where the servers are. */
  readonly root: readonly string[];
  readonly dialect: Dialect;
  readonly members: Readonly<Record<string, Meaning>>;
  /** Milliseconds in the unit of `call` and `connect`. */
  readonly tick: number;
  /** What `type: http` and its like say of the transport. */
  readonly http?: 'streamable-http';
  /** Members that are not of this host, but often taken for one of its own. */
  readonly mistaken?: Readonly<Record<string, string>>;
}

const PROCESS = { command: 'command', args: 'args', env: 'env', cwd: 'cwd' } as const;
const REMOTE = { type: 'kind', url: 'url', headers: 'headers' } as const;
const LABELS = {
  description: 'label',
  title: 'label',
  name: 'label',
  icon: 'label',
  gallery: 'label',
  version: 'label',
} as const;
/** Files are often written for another host than their own. */
const FLAGS = {
  disabled: 'disabled',
  enabled: 'enabled',
  autoApprove: 'approval',
  alwaysAllow: 'approval',
  trust: 'approval',
} as const;
const COMMON = { ...PROCESS, ...REMOTE, ...LABELS, ...FLAGS } as const;

/**
 * How each host writes its servers. Looked up in November 2026: the hosts' own pages where there is one, else pages of
 * vendors that give the entry for their server.
 */
export const FORMATS = {
  'claude-desktop': {
    label: 'Claude Desktop',
    root: ['mcpServers'],
    dialect: noReferences,
    members: COMMON,
    tick: 1,
  },
  'claude-code': {
    label: 'Claude Code',
    root: ['mcpServers'],
    dialect: claudeCode,
    members: { ...COMMON, timeout: 'call', oauth: 'oauth' },
    tick: 1,
    http: 'streamable-http',
  },
  cursor: {
    label: 'Cursor',
    root: ['mcpServers'],
    dialect: editor,
    members: { ...COMMON, envFile: 'envFile', auth: 'oauth' },
    tick: 1,
  },
  windsurf: {
    label: 'Windsurf',
    root: ['mcpServers'],
    dialect: editor,
    members: { ...COMMON, url: 'wrongUrl', serverUrl: 'url', disabledTools: 'deny' },
    tick: 1,
  },
  cline: {
    label: 'Cline',
    root: ['mcpServers'],
    dialect: noReferences,
    members: { ...COMMON, transportType: 'kind', timeout: 'call' },
    tick: 1000,
    http: 'streamable-http',
  },
  gemini: {
    label: 'Gemini CLI',
    root: ['mcpServers'],
    dialect: gemini,
    members: {
      ...COMMON,
      url: 'sseUrl',
      httpUrl: 'streamableUrl',
      timeout: 'call',
      includeTools: 'allow',
      excludeTools: 'deny',
      oauth: 'oauth',
      authProviderType: 'oauth',
    },
    tick: 1,
    http: 'streamable-http',
  },
  vscode: {
    label: 'VS Code',
    root: ['servers'],
    dialect: editor,
    members: {
      ...COMMON,
      envFile: 'envFile',
      sandbox: 'limit',
      sandboxEnabled: 'limit',
      dev: 'label',
      oauth: 'oauth',
    },
    tick: 1,
  },
  zed: {
    label: 'Zed',
    root: ['context_servers'],
    dialect: noReferences,
    members: { ...COMMON, source: 'label', settings: 'label' },
    tick: 1000,
  },
  opencode: {
    label: 'opencode',
    root: ['mcp'],
    dialect: opencode,
    members: {
      ...REMOTE,
      ...FLAGS,
      command: 'command',
      cwd: 'cwd',
      environment: 'env',
      oauth: 'oauth',
      timeout: 'connect',
    },
    tick: 1,
    mistaken: { env: 'opencode reads "environment"', args: 'opencode reads a list as "command"' },
  },
  codex: {
    label: 'Codex',
    root: ['mcp_servers'],
    dialect: noReferences,
    members: {
      ...PROCESS,
      url: 'streamableUrl',
      env_vars: 'passEnv',
      bearer_token_env_var: 'bearerVariable',
      http_headers: 'headers',
      env_http_headers: 'headerVariables',
      enabled: 'enabled',
      required: 'label',
      startup_timeout_sec: 'connect',
      tool_timeout_sec: 'call',
      enabled_tools: 'allow',
      disabled_tools: 'deny',
      default_tools_approval_mode: 'approval',
      tools: 'approval',
    },
    tick: 1000,
  },
  // The next two are no hosts but gateways: whoever comes from one has its file.
  'mcp-hub': {
    label: 'mcp-hub',
    root: ['mcpServers'],
    dialect: hub,
    members: {
      ...COMMON,
      env: 'envOrOwn',
      disabled_tools: 'deny',
      disabled_prompts: 'hiddenResources',
      disabled_resources: 'hiddenResources',
      disabled_resourceTemplates: 'hiddenResources',
      custom_instructions: 'instructions',
      dev: 'label',
    },
    tick: 1,
  },
  'mcp-proxy': {
    label: 'mcp-proxy',
    root: ['mcpServers'],
    dialect: gemini,
    members: {
      ...COMMON,
      url: 'sseUrl',
      transportType: 'kind',
      timeout: 'call',
      options: 'proxyOptions',
      oauth: 'oauth',
    },
    // It counts in nanoseconds.
    tick: 1e-6,
    http: 'streamable-http',
  },
} as const satisfies Record<string, Format>;

export type FormatName = keyof typeof FORMATS | 'docker' | 'registry';
/** All that can be named by hand. */
export const FORMAT_NAMES: readonly FormatName[] = [
  ...(Object.keys(FORMATS) as (keyof typeof FORMATS)[]),
  'docker',
  'registry',
];
