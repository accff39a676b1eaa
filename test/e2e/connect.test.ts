import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { parse } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { confirmed } from '../../src/cli/connect-ask.ts';
import { HOST_NAMES, HOSTS } from '../../src/hosts/host-table.ts';
import { MAIN } from '../kit/program.ts';
import { connectSdk } from '../kit/sdk-clients.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import { run } from '../unit/cli/run.ts';

let home = '';
let config = '';
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'patchbay-connect-'));
  config = join(home, 'gateway.yaml');
  await writeFile(
    config,
    stringify({ listen: { port: 4100 }, views: { slim: { include: ['*'], naming: 'strict' } } }),
  );
});
afterEach(() => rm(home, { recursive: true }));

/** For a user who has nothing but a temporary home; no terminal is there. */
const connect = (...args: readonly string[]) =>
  run(['connect', ...args, '-c', config], { main: MAIN, env: { HOME: home }, readable: true });

const entryIn = async (file: string, ...steps: readonly string[]) => {
  const text = await readFile(file, 'utf8');
  const whole: unknown = file.endsWith('.toml') ? parse(text) : JSON.parse(text);
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], whole);
};

describe('connect', () => {
  it.each(HOST_NAMES)(
    'prints what %s reads, and writes the same into a new file; --undo takes it away',
    async (host) => {
      const file = join(home, HOSTS[host].syntax === 'toml' ? 'new.toml' : 'new.json');
      const printed = await connect(host, '--token', '--file', file);
      expect(printed.code, printed.stderr).toBe(0);
      expect(printed.stderr).toContain(file);
      const parsed = HOSTS[host].syntax === 'toml' ? parse(printed.stdout) : JSON.parse(printed.stdout);

      const written = await connect(host, '--token', '--file', file, '--write', '--yes');
      expect(written.code, written.stderr).toBe(0);
      expect(await entryIn(file)).toEqual(parsed);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const [servers] = HOSTS[host].servers;
      const text = JSON.stringify(await entryIn(file, servers, 'patchbay'));
      expect(text).toMatch(
        HOSTS[host].http === undefined ? /"stdio","--config"/ : /http:\/\/127\.0\.0\.1:4100\/mcp/,
      );
      expect(text.includes('strict')).toBe(HOSTS[host].strict);
      expect(text).toMatch(/PATCHBAY_TOKEN|patchbay-token|PUT-YOUR-KEY-HERE/);

      const undone = await connect(host, '--file', file, '--undo', '--yes');
      expect(undone.code, undone.stderr).toBe(0);
      expect(await readdir(home)).toEqual(['gateway.yaml']);
    },
  );

  it('knows for each platform where the file is', () => {
    const at = (platform: NodeJS.Platform, env = {}) =>
      Object.fromEntries(
        HOST_NAMES.map((host) => [
          host,
          HOSTS[host].file({ platform, home: '/h', env, here: '/p' }).replaceAll('\\', '/'),
        ]),
      );
    expect(at('linux')).toMatchObject({
      vscode: '/h/.config/Code/User/mcp.json',
      cursor: '/h/.cursor/mcp.json',
      'claude-code': '/p/.mcp.json',
      windsurf: '/h/.codeium/windsurf/mcp_config.json',
      zed: '/h/.config/zed/settings.json',
      gemini: '/h/.gemini/settings.json',
      codex: '/h/.codex/config.toml',
      opencode: '/h/.config/opencode/opencode.json',
    });
    expect(at('darwin')).toMatchObject({
      vscode: '/h/Library/Application Support/Code/User/mcp.json',
      'claude-desktop': '/h/Library/Application Support/Claude/claude_desktop_config.json',
      zed: '/h/.config/zed/settings.json',
    });
    expect(at('win32', { APPDATA: '/r' })).toMatchObject({
      vscode: '/r/Code/User/mcp.json',
      'claude-desktop': '/r/Claude/claude_desktop_config.json',
      zed: '/r/Zed/settings.json',
      cline: '/r/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    });
    expect(at('linux', { XDG_CONFIG_HOME: '/x', CODEX_HOME: '/c' })).toMatchObject({
      vscode: '/x/Code/User/mcp.json',
      codex: '/c/config.toml',
    });
  });

  it('sends a key where keys are asked for, and to a view under its own names', async () => {
    await writeFile(
      config,
      stringify({
        listen: { publicUrl: 'https://gate.example/base' },
        auth: { mode: 'keys', keys: [{ id: 'ann', sha256: 'a'.repeat(64) }] },
        views: { slim: { include: ['*'], naming: 'strict' } },
      }),
    );
    const { stdout } = await connect('vscode', '--view', 'slim');
    expect(JSON.parse(stdout)).toEqual({
      inputs: [
        { type: 'promptString', id: 'patchbay-token', description: 'Key for Patchbay', password: true },
      ],
      servers: {
        patchbay: {
          type: 'http',
          url: 'https://gate.example/base/mcp/slim',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of VS Code
          headers: { Authorization: 'Bearer ${input:patchbay-token}' },
        },
      },
    });
  });

  it('shows the difference, writes nothing without a yes, and nothing but the file and its backup with one', async () => {
    const file = join(home, '.cursor', 'mcp.json');
    const before = '{\r\n\t// mine\r\n\t"mcpServers": {\r\n\t\t"a": {"x": "canary"}, // k\r\n\t},\r\n}\r\n';
    await mkdir(dirname(file));
    await writeFile(file, before);
    await chmod(file, 0o664);

    const asked = await connect('cursor', '--write');
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('nothing was written: this is no terminal to ask at');
    expect(asked.stdout).toContain('+\t\t"patchbay": {\n');
    expect(asked.stdout).not.toContain('canary');
    expect(await readFile(file, 'utf8')).toBe(before);

    expect(await connect('cursor', '--write', '--yes')).toMatchObject({ code: 0 });
    const after = await readFile(file, 'utf8');
    expect(after).toContain('"a": {"x": "canary"}, // k\r\n\t\t"patchbay": {\r\n\t\t\t"url": ');
    expect(after.replace(/\t\t"patchbay": \{.*?\},\r\n/s, '')).toBe(before);
    expect((await stat(file)).mode & 0o777).toBe(0o664);
    const [backup = '', ...others] = (await readdir(dirname(file))).filter((name) => name !== 'mcp.json');
    expect(others).toEqual([]);
    expect(await readFile(join(dirname(file), backup), 'utf8')).toBe(before);
    expect((await readdir(home)).toSorted()).toEqual(['.cursor', 'gateway.yaml']);

    const again = await connect('cursor', '--write', '--yes');
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('has that entry already') });
    expect(await connect('cursor', '--undo', '--yes')).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await readdir(dirname(file))).toEqual(['mcp.json']);
    expect(await connect('cursor', '--undo', '--yes')).toMatchObject({ code: 1 });
  });

  it('takes back the entry alone where the file has changed since, and keeps a key that was put in', async () => {
    const file = join(home, 'zed.json');
    await writeFile(file, '{ "theme": "a" }\n');
    const args = ['zed', '--file', file, '--token', '--yes'];
    await connect(...args, '--write');
    const keyed = (await readFile(file, 'utf8')).replace('PUT-YOUR-KEY-HERE', 'my-key').replace('"a"', '"b"');
    await writeFile(file, keyed);
    expect(await connect(...args, '--write')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('already'),
    });
    const { code, stderr } = await connect('zed', '--file', file, '--undo', '--yes');
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('entry alone') });
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ theme: 'b', context_servers: {} });
  });

  it('refuses files that it cannot edit without risk, and leaves them', async () => {
    const broken = join(home, 'broken.json');
    const link = join(home, 'link.json');
    await writeFile(broken, '{ "mcpServers": {\n');
    await symlink(broken, link);
    const run = (file: string) => connect('cursor', '--write', '--yes', '--file', file);
    expect(await run(broken)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/broken\.json: 2:1: /),
    });
    expect(await run(link)).toMatchObject({ code: 2, stderr: expect.stringContaining('is a link') });
    expect(await run(home)).toMatchObject({ code: 2, stderr: expect.stringContaining('is no file') });
    expect(await run(join(home, 'nowhere', 'x.json'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no folder'),
    });
    expect(await readFile(broken, 'utf8')).toBe('{ "mcpServers": {\n');
    expect((await readdir(home)).toSorted()).toEqual(['broken.json', 'gateway.yaml', 'link.json']);
  });

  it('says what the system has against writing a file', async () => {
    // A folder in which nothing can be made, by nobody.
    expect(await connect('cursor', '--write', '--yes', '--file', '/proc/self/mcp.json')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/error: \/proc\/self\/mcp\.json\S* cannot be written \(\w+\)\n$/),
    });
  });

  it('asks a person, and only a yes is one', async () => {
    const answer = async (text: string) => {
      const input = new PassThrough();
      const output = new PassThrough();
      const asked = confirmed('Write this?', input, output);
      input.end(text);
      return await asked;
    };
    expect(await answer('y\n')).toBe(true);
    expect(await answer('Yes\n')).toBe(true);
    expect(await answer('\n')).toBe(false);
    expect(await answer('yesterday\n')).toBe(false);
    expect(await answer('')).toBe(false);
  });
});

describe('what connect prints', () => {
  it('leads an official client over HTTP to the tools, under names without dots', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['read'] });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    const { stdout } = await connect('cursor', '--url', gateway.url);
    const { url } = JSON.parse(stdout).mcpServers.patchbay;
    await using client = await connectSdk('v1', { url });
    await expect.poll(async () => (await client.listTools()).map(({ name }) => name)).toEqual(['up__read']);
  });

  it('starts a gateway for a host that only starts processes', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['read'] });
    await writeFile(config, stringify({ upstreams: { up: up.config } }));
    const { stdout } = await connect('claude-desktop');
    const { command, args } = JSON.parse(stdout).mcpServers.patchbay;
    await using client = await connectSdk('v1', { command, args, env: { XDG_STATE_HOME: home } });
    await expect
      .poll(async () => (await client.listTools()).map(({ name }) => name), { timeout: 15_000 })
      .toEqual(['up__read']);
  });
});
