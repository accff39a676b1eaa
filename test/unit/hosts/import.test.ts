import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/load.ts';
import { BROKEN_FILES, HOST_FILES } from '../../fixtures/hosts/files.ts';
import { run } from '../cli/run.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'patchbay-import-'));
  for (const [name, text] of Object.entries({ ...HOST_FILES, ...BROKEN_FILES })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

type Entry = Readonly<Record<string, unknown>>;
interface Report {
  readonly config: { readonly upstreams: Readonly<Record<string, Entry>> };
  readonly variables: readonly string[];
  readonly notices: readonly { readonly path: string; readonly message: string; readonly line: number }[];
}

const HOME = '/home/u';
const files = (...names: readonly string[]) => names.map((name) => join(folder, name));

/** What is imported, as the loader of the gateway reads the printed YAML, and as `--json` tells it. */
async function imported(names: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const printed = await run(['import', ...files(...names)], { env: { HOME } });
  expect(printed.code, printed.stderr).toBe(0);
  const loaded = parseSettings(printed.stdout, {
    env: { HOME, ...env },
    file: join(folder, 'gateway.yaml'),
    readFile: () => '',
  });
  const asJson = await run(['import', '--json', ...files(...names)], { env: { HOME } });
  const report: Report = JSON.parse(asJson.stdout);
  expect(Object.keys(loaded.settings.upstreams)).toEqual(Object.keys(report.config.upstreams));
  const said = report.notices.map(({ path, message }) => `${path}: ${message}`).join('\n');
  expect(printed.stdout + printed.stderr + asJson.stdout).not.toContain('canary');
  return {
    yaml: printed.stdout,
    ...report,
    upstreams: loaded.settings.upstreams,
    entries: report.config.upstreams,
    said,
  };
}

describe('C-081: import', () => {
  it('reads Claude Desktop, whose references are for the servers themselves', async () => {
    const { upstreams, said, variables, entries } = await imported(['claude_desktop_config.json'], {
      RECIPES_TOKEN: 'r',
      FAR_AUTH: 'f',
    });
    expect(Object.keys(upstreams)).toEqual(['my-recipes', 'ledger', 'bridge']);
    expect(upstreams['my-recipes']).toMatchObject({
      enabled: true,
      command: 'C:\\Program Files\\node\\npx.cmd',
      args: ['-y', '@acme/recipes-mcp', '--root', 'D:\\Cook Books'],
      env: { RECIPES_TOKEN: 'r', APPDATA: 'C:\\Users\\u\\AppData' },
    });
    expect(upstreams['bridge']).toMatchObject({
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: what the child gets
      args: ['mcp-remote', 'https://far.example/mcp', '--header', 'Authorization:${FAR_AUTH}'],
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: what the child gets
      env: { FAR_AUTH: 'f' },
    });
    expect(variables).toEqual(['RECIPES_TOKEN', 'FAR_AUTH']);
    expect(entries['my-recipes']).toMatchObject({ optional: true });
    expect(said).toContain('its id is "my-recipes"');
    expect(said).toContain('"mcp-remote" is a bridge');
  });

  it('reads Claude Code with its defaults', async () => {
    const { upstreams, said } = await imported(['.mcp.json'], {
      FIND_TOKEN: 't',
      EVENTS_KEY: 'e',
      REPO_TOKEN: 'r',
    });
    expect(upstreams['find']).toMatchObject({
      url: 'https://find.example/mcp',
      transport: 'streamable-http',
      headers: { Authorization: 'Bearer t', 'X-Team': 'core' },
      timeouts: { call: 45_000 },
    });
    expect(upstreams['alias']).toMatchObject({ transport: 'streamable-http' });
    expect(upstreams['events']).toMatchObject({ transport: 'sse', headers: { 'X-Api-Key': 'e' } });
    expect(upstreams['repo']).toMatchObject({
      command: 'python3',
      args: ['-m', 'repo', '--cache', `${HOME}/.cache`],
      env: { REPO_TOKEN: 'r', LITERAL: '$STAYS' },
    });
    expect(upstreams['hasty']).toMatchObject({ timeouts: { call: 500 } });
    expect(upstreams['untyped']).toMatchObject({ kind: 'http' });
    expect(said).toContain('mcpServers.hasty.timeout: only 500 ms');
    expect(said).toContain('mcpServers.untyped: it has no "type"');
  });

  it('C-083: reads VS Code: inputs, the file of variables, sockets, sandboxes', async () => {
    const { upstreams, said, variables } = await imported(['project/.vscode/mcp.json'], {
      DESK_TOKEN: 'd',
      PAGE_TOKEN: 'p',
    });
    const project = join(folder, 'project');
    expect(Object.keys(upstreams)).toHaveLength(6);
    expect(upstreams['helpdesk']).toMatchObject({
      url: 'https://desk.example/eu/mcp',
      headers: { Authorization: 'Bearer d' },
    });
    expect(upstreams['manual']).toMatchObject({
      args: [join(project, 'server.mjs'), '--home', HOME],
      cwd: join(project, 'tools'),
      env: {
        PAGE_TOKEN: 'p',
        SHARED: 'from-env-block',
        MODE: 'read',
        LINK: 'https://m.example/?a=1&b=2',
        EMPTY: '',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: single quotes keep it
        SINGLE: '$KEEP_${THIS}',
        MULTI: 'one\ntwo',
        SPACED: 'trimmed',
      },
    });
    expect(upstreams['feed']).toMatchObject({ transport: 'sse' });
    expect(upstreams['socket']).toMatchObject({ enabled: false, url: 'http://localhost/rpc' });
    expect(upstreams['boxed']).toMatchObject({ enabled: true });
    expect(upstreams['lost']).toMatchObject({ enabled: false });
    expect(variables).toEqual(['DESK_TOKEN', 'PAGE_TOKEN']);
    expect(said).toContain('servers.boxed.sandbox: NOT APPLIED');
    expect(said).toContain('servers.lost.env.KEY: off: the input "nobody" is not declared');
  });

  it('reads Cursor; what lacks a variable is off alone', async () => {
    const { upstreams, said } = await imported(['project/.cursor/mcp.json'], { METERS_DSN: 'm' });
    expect(upstreams['drawings']).toMatchObject({
      enabled: false,
      disabledReason: expect.stringContaining('DRAW_TOKEN'),
    });
    expect(upstreams['meters']).toMatchObject({
      enabled: true,
      args: ['run', join(folder, 'project', 'meters.py'), '--sep', '/'],
      env: { METERS_DSN: 'm' },
    });
    expect(upstreams['signed-in']).toMatchObject({ enabled: true, transport: 'auto', headers: {} });
    expect(said).toContain('mcpServers.signed-in.auth: NOT IMPORTED');
    expect(said).toContain('mcpServers.meters.envFile: NOT IMPORTED');
    expect(Object.keys(upstreams)[3]).toMatch(/^a-name-that-is-so-long-th-[0-9a-f]{6}$/);
    expect(said).toContain('ids have at most 32 characters');
  });

  it('C-082: reads Windsurf, Cline and Zed', async () => {
    const { upstreams, said } = await imported(
      ['mcp_config.json', 'cline_mcp_settings.json', 'zed-settings.json'],
      { BILLS_TOKEN: 'b', OLD_REMOTE_TOKEN: 'o' },
    );
    expect(upstreams['bills']).toMatchObject({
      url: 'https://bills.example/mcp',
      tools: { deny: ['delete_bill', 'refund_*'] },
    });
    expect(upstreams['bills-wrong']).toMatchObject({ kind: 'http', enabled: true });
    expect(upstreams['git']).toMatchObject({ enabled: false });
    expect(upstreams['acme-company-context-server']).toMatchObject({
      timeouts: { call: 120_000 },
    });
    expect(upstreams['browser']).toMatchObject({ enabled: false });
    expect(upstreams['old-remote']).toMatchObject({
      transport: 'auto',
      headers: { Authorization: 'Bearer o' },
    });
    expect(upstreams['new-remote']).toMatchObject({
      transport: 'streamable-http',
      timeouts: { call: 3_600_000, total: 3_600_000 },
    });
    expect(upstreams['index']).toMatchObject({ command: 'acme-index', args: ['serve'] });
    expect(upstreams['old-shape']).toMatchObject({ command: '/opt/old', env: { LEVEL: 'info' } });
    expect(upstreams['docs']).toMatchObject({ enabled: false });
    expect(upstreams).not.toHaveProperty('extension');
    expect(said.match(/dropped: which calls need no approval/g)).toHaveLength(3);
    expect(said).toContain('context_servers.extension: NOT IMPORTED');
    expect(said).toContain('reads "serverUrl"');
  });

  it('reads the files of mcp-hub and mcp-proxy, for whoever comes from one', async () => {
    const { upstreams, said, variables } = await imported(['servers.json', 'mcp-proxy.json'], {
      ROOT: '/srv/notes',
      KEY: 'k',
      NOTES_MODE: 'ro',
    });
    expect(upstreams['notes']).toMatchObject({
      args: ['--root', '/srv/notes'],
      env: { ROOT: '/srv/notes', KEY: 'k', AUTH: 'Bearer k', MODE: 'ro' },
      tools: { deny: ['drop'] },
    });
    expect(variables).toEqual(['ROOT', 'KEY', 'NOTES_MODE']);
    expect(upstreams['vault']).toMatchObject({ enabled: false });
    expect(said).toContain('the output of a command stood here');
    expect(said).toContain('notes.disabled_resources: NOT APPLIED');
    expect(upstreams['code']).toMatchObject({ env: { HOME_DIR: HOME }, tools: { deny: ['push'] } });
    expect(upstreams['feed']).toMatchObject({
      enabled: false,
      transport: 'sse',
      timeouts: { call: 30_000 },
      tools: { allow: ['read'] },
    });
    expect(upstreams['flow']).toMatchObject({ transport: 'streamable-http' });
    expect(said).toContain('code.options.authTokens: NOT IMPORTED: clients sign in once for all servers');
  });

  it('reads Gemini CLI, opencode and Codex', async () => {
    const { upstreams, said } = await imported(['.gemini/settings.json', 'opencode.json', 'config.toml'], {
      SUMS_KEY: 's',
      SUMS_SECOND: '2',
      PAGES_KEY: 'p',
      KB_TOKEN: 'k',
      FAR_TOKEN: 'f',
    });
    expect(upstreams['sums']).toMatchObject({
      env: { API_KEY: 's', SECOND: '2' },
      cwd: join(folder, 'servers'),
      timeouts: { call: 15_000 },
      tools: { allow: ['add', 'mul'], deny: ['mul'] },
    });
    expect(upstreams['pages']).toMatchObject({ transport: 'streamable-http', headers: { 'X-Key': 'p' } });
    expect(upstreams['old-pages']).toMatchObject({ enabled: false, transport: 'sse' });
    expect(upstreams['both']).toMatchObject({ enabled: false, url: 'https://b.example/mcp' });
    expect(said).toContain('there are two URLs');
    expect(upstreams['lint']).toMatchObject({
      command: 'npx',
      args: ['-y', '@acme/lint'],
      env: { LEVEL: 'strict' },
    });
    expect(upstreams['kb']).toMatchObject({ headers: { Authorization: 'Bearer k' } });
    expect(upstreams['wrong-key']).toMatchObject({ enabled: false, env: {} });
    expect(said).toContain('mcp.wrong-key.env: not imported: opencode reads "environment"');
    expect(upstreams['far']).toMatchObject({
      headers: { Authorization: 'Bearer f' },
      timeouts: { call: 30_000 },
      tools: { deny: ['wipe'] },
    });
    expect(upstreams['near']).toMatchObject({ enabled: false, args: ['--stdio'], env: { LEVEL: 'info' } });
  });

  it('reads server.json of the registry: the best way in, and what it needs', async () => {
    const { upstreams, said, variables } = await imported(['server.json', 'package/server.json'], {
      STATS_TENANT: 'acme',
      STATS_X_API_KEY: 'k',
    });
    expect(upstreams['com-acme-stats']).toMatchObject({
      url: 'https://acme.stats.example/mcp',
      transport: 'streamable-http',
      headers: { 'X-Api-Key': 'k', 'X-Region': 'eu' },
    });
    expect(upstreams['com-acme-boxes']).toMatchObject({
      enabled: false,
      disabledReason: expect.stringContaining('BOXES_KEY'),
    });
    expect(variables).toEqual(['STATS_TENANT', 'STATS_X_API_KEY', 'BOXES_KEY']);
    expect(said).toContain('it is offered in other ways too (sse, npm)');
    const { entries } = await imported(['package/server.json']);
    expect(entries['com-acme-boxes']).toMatchObject({
      command: 'docker',
      args: [
        'run',
        '--rm',
        '-i',
        '--network',
        'none',
        '-e',
        'BOXES_KEY',
        'registry.example/acme/boxes:2.0.0',
        'serve',
      ],
    });
  });

  it('reads catalogs of Docker: on is what the registry names, and no limit vanishes', async () => {
    const { upstreams, said } = await imported(
      ['docker/catalog.yaml', 'docker/registry.yaml', 'docker/config.yaml'],
      {
        RAIN_KEY: 'r',
        TICKETS_TOKEN: 't',
      },
    );
    expect(upstreams['rain']).toMatchObject({
      enabled: true,
      command: 'docker',
      args: expect.arrayContaining(['-e', 'RAIN_KEY', 'acme/rain@sha256:00']),
      env: { RAIN_UNITS: 'imperial', RAIN_MODE: 'short', RAIN_KEY: 'r' },
    });
    expect(upstreams['vault']).toMatchObject({ enabled: false });
    const vault = (upstreams['vault'] as { args: readonly string[] }).args.join(' ');
    expect(vault).toContain(
      '--user 1000:1000 --network none -v /srv/shared:/srv/shared acme/vault:1 --transport=stdio',
    );
    expect(upstreams['tickets']).toMatchObject({ enabled: true, headers: { Authorization: 'Bearer t' } });
    expect(upstreams['old-feed']).toMatchObject({ enabled: false, transport: 'sse' });
    expect(said).toContain('registry.rain.allowHosts: NOT APPLIED');
    expect(said).toContain('registry.nowhere: NOT IMPORTED');
  });

  it('tells files apart that name a server alike, and says so', async () => {
    const other = join(folder, 'second.json');
    writeFileSync(other, '{"mcpServers":{"ledger":{"command":"other"}}}');
    const { upstreams, said } = await imported(['claude_desktop_config.json', 'second.json']);
    expect(upstreams['ledger']).toMatchObject({ command: 'uvx' });
    expect(upstreams['ledger-2']).toMatchObject({ command: 'other' });
    expect(said).toContain('its id is "ledger-2": another file has one of that name');
  });
});

describe('what cannot be imported', () => {
  it('is told with its place, and nothing is printed', async () => {
    const { code, stdout, stderr } = await run(['import', ...files('trailing.json')]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      `${join(folder, 'trailing.json')}:3:1: text after the end of the file; is a bracket closed too early?\n`,
    );
  });

  it('is told in one report, of all files', async () => {
    const { code, stdout, stderr } = await run(['import', ...files('contradictions.json', 'absent.json')]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const paths = [...stderr.matchAll(/:\d+:\d+ (\S+): /g)].map(([, path]) => path);
    expect(paths).toEqual([
      'mcpServers.both',
      'mcpServers.flags.disabled',
      'mcpServers.flag.disabled',
      'mcpServers.args.args',
      'mcpServers.list.env',
      'mcpServers.numbers.env.PORT',
      'mcpServers.numbers.env.NONE',
      'mcpServers.nothing',
      'mcpServers[""]',
      'mcpServers.dup',
      'mcpServers.Dup',
      'mcpServers.kind',
      'servers',
    ]);
    expect(stderr).toContain('absent.json: there is no such file');
  });

  it('is told as JSON too', async () => {
    const { code, stdout } = await run(['import', '--json', ...files('trailing.json')]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, problems: [{ line: 3, column: 1, path: '' }] });
  });

  it('includes headers that would be two, and URLs that are none', async () => {
    const { code, stderr, stdout } = await run(['import', ...files('refused.json')]);
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain('canary');
    expect(stderr).toContain('mcpServers.lines.headers.X-Key: must not hold line breaks');
    expect(stderr).toContain('mcpServers.scheme.url: must begin with http:// or https://');
    expect(stderr).toContain('mcpServers.none.url: must begin with http:// or https://');
  });

  it('includes what is no file of a host', async () => {
    writeFileSync(join(folder, 'own.yaml'), 'upstreams: {}\n');
    writeFileSync(join(folder, 'deep.json'), '{"a":'.repeat(5000));
    writeFileSync(join(folder, 'latin.json'), Buffer.from([0x7b, 0xe9, 0x7d]));
    writeFileSync(join(folder, 'deep.toml'), `[a${'.a'.repeat(20_000)}]\n`);
    const { stderr } = await run(['import', ...files('own.yaml', 'deep.json', 'latin.json', 'deep.toml')]);
    expect(stderr).toContain('deep.toml:1:1: nested too deeply');
    expect(stderr).toContain('own.yaml:1:1: this is a configuration of the gateway already');
    expect(stderr).toMatch(/deep\.json:1:\d+: nested too deeply/);
    expect(stderr).toContain('latin.json: the file is not UTF-8 text');
  });
});

describe('secrets', () => {
  it('become variables wherever they stand, and none is ever shown', async () => {
    const env = {
      USER_BASIC: 'dTpw',
      USER_ACCESS_TOKEN: 'q',
      ARG_TOKEN: 't',
      ARG_API_KEY: 'k',
      ARG_AUTHORIZATION: 'h',
      SHAPE_DB: 'd',
      DB: 'd',
      PATH_PATH: 'p',
    };
    const { upstreams, variables } = await imported(['secrets.json'], env);
    expect(upstreams['user']).toMatchObject({
      url: 'https://c.example/mcp?access_token=q',
      headers: { Authorization: 'Basic dTpw' },
    });
    expect(upstreams['arg']).toMatchObject({
      args: ['--token=t', '--api-key', 'k', '-H', 'Authorization: Bearer h'],
    });
    expect(upstreams['shape']).toMatchObject({ env: { DB: 'd', PLAIN: 'plain' } });
    expect(upstreams['default']).toMatchObject({
      enabled: false,
      disabledReason: expect.stringContaining('Q_TOKEN'),
    });
    expect(upstreams['path']).toMatchObject({ url: 'https://p.example/api/p/mcp' });
    expect(variables).toEqual([
      'USER_ACCESS_TOKEN',
      'USER_BASIC',
      'ARG_TOKEN',
      'ARG_API_KEY',
      'ARG_AUTHORIZATION',
      'DB',
      'Q_TOKEN',
      'PATH_PATH',
    ]);
  });

  it('of two servers under one name get two variables, equal ones share it', async () => {
    const server = (token: string) => `{"command":"x","env":{"API_TOKEN":"canary-${token}"}}`;
    writeFileSync(
      join(folder, 'two.json'),
      `{"mcpServers":{"a":${server('one')},"b":${server('two')},"c":${server('one')}}}`,
    );
    const { entries } = await imported(['two.json']);
    const tokens = Object.values(entries).map(({ env }) => (env as Record<string, string>)['API_TOKEN']);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: references of the configuration
    expect(tokens).toEqual(['${env:API_TOKEN}', '${env:B_API_TOKEN}', '${env:API_TOKEN}']);
  });
});
