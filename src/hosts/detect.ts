import type { FormatName } from './formats.ts';
import { entryOf, mapAt, type Source, type SourceMap, textAt } from './source.ts';

/** Names of files that only one host has. */
const BY_NAME: readonly (readonly [RegExp, FormatName])[] = [
  [/(?:^|[\\/])claude_desktop_config\.json$/i, 'claude-desktop'],
  [/(?:^|[\\/])\.(?:mcp|claude)\.json$/i, 'claude-code'],
  [/(?:^|[\\/])\.cursor[\\/]mcp\.json$/i, 'cursor'],
  [/(?:^|[\\/])mcp_config\.json$/i, 'windsurf'],
  [/(?:^|[\\/])cline_mcp_settings\.json$/i, 'cline'],
  [/(?:^|[\\/])settings\.json$/i, 'gemini'],
];

/** Which host a file is of, by what is in it, and by its name where several hosts write alike; `path` is absolute. */
export function formatOf(root: Source, path: string): FormatName | undefined {
  const has = (key: string) => entryOf(root, key) !== undefined;
  if (has('context_servers')) {
    return 'zed';
  }
  if (has('mcp_servers')) {
    return 'codex';
  }
  if (isServerJson(root)) {
    return 'registry';
  }
  if (mapAt(root, 'registry') !== undefined) {
    return 'docker';
  }
  if (has('mcpProxy')) {
    return 'mcp-proxy';
  }
  const servers = mapAt(root, 'mcpServers');
  if (servers !== undefined || has('mcpServers')) {
    return BY_NAME.find(([name]) => name.test(path))?.[1] ?? byHabits(root, servers);
  }
  const mcp = mapAt(root, 'mcp');
  if (
    mcp !== undefined &&
    (textAt(root, '$schema')?.includes('opencode') || opencodeServers(mcp).length > 0)
  ) {
    return 'opencode';
  }
  if (mcp !== undefined && mapAt(mcp, 'servers') !== undefined) {
    return 'vscode';
  }
  return path.toLowerCase().endsWith('.json') && mapAt(root, 'servers') !== undefined ? 'vscode' : undefined;
}

function isServerJson(root: Source): boolean {
  const isPublished = entryOf(root, 'remotes') !== undefined || entryOf(root, 'packages') !== undefined;
  return (
    textAt(root, '$schema')?.includes('server.schema.json') === true ||
    (isPublished && textAt(root, 'name')?.includes('/') === true)
  );
}

function opencodeServers(mcp: SourceMap): readonly string[] {
  return [...mcp.entries, ...(mapAt(mcp, 'servers')?.entries ?? [])]
    .filter(({ value }) => ['local', 'remote'].includes(textAt(value, 'type') ?? ''))
    .map(({ key }) => key);
}

/** What only one of the hosts with `mcpServers` writes. */
function byHabits(root: Source, servers: SourceMap | undefined): FormatName {
  const entries = servers?.entries ?? [];
  const some = (...keys: readonly string[]) =>
    entries.some(({ value }) => keys.some((key) => entryOf(value, key) !== undefined));
  const says = (pattern: RegExp) =>
    entries.some(({ value }) => textsIn(value).some((text) => pattern.test(text)));
  if (
    some('disabled_tools', 'disabled_resources', 'custom_instructions') ||
    entryOf(root, 'nativeMCPServers') !== undefined ||
    says(/\$\{cmd:/)
  ) {
    return 'mcp-hub';
  }
  if (some('serverUrl', 'disabledTools')) {
    return 'windsurf';
  }
  if (some('httpUrl', 'includeTools', 'excludeTools') || mapAt(root, 'mcp') !== undefined) {
    return 'gemini';
  }
  if (some('autoApprove', 'alwaysAllow', 'transportType') || says(/^streamableHttp$/)) {
    return 'cline';
  }
  if (says(/\$\{env:|\$\{workspaceFolder/) || some('envFile', 'auth')) {
    return 'cursor';
  }
  return some('type', 'url') || says(/\$\{/) ? 'claude-code' : 'claude-desktop';
}

function textsIn(source: Source): readonly string[] {
  if (source.kind === 'scalar') {
    return typeof source.value === 'string' ? [source.value] : [];
  }
  return source.kind === 'map'
    ? source.entries.flatMap(({ value }) => textsIn(value))
    : source.items.flatMap(textsIn);
}
