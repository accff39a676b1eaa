import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOST_FILES } from '../fixtures/hosts/files.ts';
import { compileCache } from '../kit/compile-cache.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { MAIN } from '../kit/program.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';

/** Programs that the files start; each is a server here. */
const PROGRAMS = ['npx', 'uvx', 'uv', 'python3', 'docker', 'acme', 'acme-index', 'acme-ledger'];

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-import-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function patchbay(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      ...compileCache,
      HOME: folder,
      XDG_STATE_HOME: join(folder, 'state'),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

type Name = keyof typeof HOST_FILES;
interface Check {
  readonly upstreams: Readonly<Record<string, { readonly state: string; readonly why?: string }>>;
}

/** Each good file, what it takes to start, and what then serves, is off, or cannot be there. */
const CASES: readonly {
  readonly names: readonly Name[];
  readonly env: Readonly<Record<string, string>>;
  readonly ready: readonly string[];
  readonly off: readonly string[];
}[] = [
  {
    names: [
      'claude_desktop_config.json',
      '.mcp.json',
      'project/.vscode/mcp.json',
      'project/.cursor/mcp.json',
    ],
    env: { FAR_AUTH: 'Bearer f', FIND_TOKEN: 't', REPO_TOKEN: 'r', PAGE_TOKEN: 'p', METERS_DSN: 'm' },
    ready: ['ledger', 'bridge', 'find', 'repo', 'boxed', 'meters'],
    off: ['my-recipes', 'events', 'helpdesk', 'socket', 'lost', 'drawings'],
  },
  {
    names: [
      ...(['mcp_config.json', 'cline_mcp_settings.json', 'zed-settings.json'] as const),
      ...(['.gemini/settings.json', 'opencode.json', 'config.toml'] as const),
    ],
    env: { SUMS_KEY: 's', SUMS_SECOND: '2' },
    ready: ['acme-company-context-server', 'index', 'sums', 'lint'],
    off: [
      'bills',
      'git',
      'browser',
      'old-remote',
      'docs',
      'pages',
      'old-pages',
      'both',
      'kb',
      'wrong-key',
      'far',
      'near',
    ],
  },
  {
    names: [
      ...(['server.json', 'package/server.json'] as const),
      ...(['docker/catalog.yaml', 'docker/registry.yaml', 'docker/config.yaml'] as const),
    ],
    env: { BOXES_KEY: 'b', RAIN_KEY: 'r' },
    ready: ['com-acme-boxes', 'rain'],
    off: ['com-acme-stats', 'vault', 'tickets', 'old-feed'],
  },
];

describe('what import prints', () => {
  it.each(CASES)('starts where its servers exist: $names', async ({ names, env, ready, off }) => {
    await using local = await startStdioUpstream({ id: 'local', tools: ['read'] });
    await using remote = await startHttpUpstream({ id: 'remote', tools: ['find'] });
    const bin = join(folder, 'bin');
    await mkdir(bin);
    await mkdir(join(folder, 'servers'));
    for (const program of PROGRAMS) {
      const variables = Object.entries(local.env).map(([name, value]) => `${name}='${value}' `);
      const file = join(bin, program);
      await writeFile(file, `#!/bin/sh\nexec env ${variables.join('')}${local.shellLine}\n`);
      await chmod(file, 0o755);
    }
    for (const [name, text] of Object.entries(HOST_FILES)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    const PATH = `${bin}${delimiter}${process.env.PATH}`;
    const imported = await patchbay(['import', ...names], { PATH });
    expect(imported.code, imported.stderr).toBe(0);
    expect(local.starts, 'import starts nothing').toBe(0);
    expect(imported.stdout + imported.stderr).not.toContain('canary');

    // Servers at names of nobody cannot be reached here; whether they are declared rightly is for the unit tests.
    const config = join(folder, 'gateway.yaml');
    await writeFile(config, imported.stdout);
    const checked = await patchbay(['check', '--json', '-c', config], { PATH, FIND_URL: remote.url, ...env });
    expect(checked.stderr).not.toContain('gateway.yaml:');
    const { upstreams }: Check = JSON.parse(checked.stdout);
    const states = Object.fromEntries(Object.entries(upstreams).map(([id, { state }]) => [id, state]));
    expect(states).toMatchObject(
      Object.fromEntries([...ready.map((id) => [id, 'ready']), ...off.map((id) => [id, 'off'])]),
    );
    expect(await readFile(join(folder, names[0] ?? ''), 'utf8')).toBe(HOST_FILES[names[0] ?? 'server.json']);
  });
});
