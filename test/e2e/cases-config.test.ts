// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { compileCache } from '../kit/compile-cache.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { MAIN } from '../kit/program.ts';
import { run } from '../unit/cli/run.ts';

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const SERVER = inRepository('test/fixtures/upstreams/scripted-stdio.ts');
const fixture = (name: string) => inRepository(`test/fixtures/config/${name}`);

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-config-'));
});

afterAll(() => rm(folder, { recursive: true }));

/** The real program, as a shell would run it: one run of each kind; the others are the same command in this process. */
async function program(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Whoever should have ended by then does not outlive the test.
    timeout: 25_000,
  });
  const out = Array.fromAsync(child.stdout);
  const err = Array.fromAsync(child.stderr);
  const [code] = await once(child, 'close');
  return { code, stdout: Buffer.concat(await out).toString(), stderr: Buffer.concat(await err).toString() };
}

async function configFile(content: unknown): Promise<string> {
  const path = join(folder, `gateway-${Math.random().toString(36).slice(2)}.yaml`);
  await writeFile(path, typeof content === 'string' ? content : stringify(content));
  return path;
}

describe('C-079: variables', () => {
  /** Signs that a shell, a replacement or a second round of expansion would trip over. */
  const ODD = '${HOME} $& $$ $1 ${env:HOME} \\ "quoted": [x] # no comment';
  const script = JSON.stringify({ id: 'child', tools: ['env'] });

  it('are expanded once, in every field, and reach the server as they are', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['whoami'] });
    await writeFile(join(folder, 'secret.txt'), 'from-a-file\n');
    const config = await configFile({
      upstreams: {
        child: {
          command: '${env:NODE}',
          args: [
            '${env:SERVER}',
            script,
            '--text=${env:TOKEN}',
            '$BARE $${env:LITERAL} ${env:UNSET:-by default}',
          ],
          env: { A: '${env:TOKEN}', FROM_FILE: '${file:secret.txt}', EMPTY: '${env:EMPTY}', GONE: null },
          cwd: '${env:FOLDER}',
        },
        up: {
          url: '${env:BASE:-http://127.0.0.1:9}/mcp?key=${env:KEY}',
          headers: { Authorization: 'Bearer ${env:KEY}', 'X-Empty': '${env:EMPTY}', 'X-Gone': null },
        },
      },
    });
    const env = {
      NODE: process.execPath,
      SERVER,
      TOKEN: ODD,
      KEY: 'k-1',
      EMPTY: '',
      FOLDER: folder,
      BASE: new URL(up.url).origin,
    };
    const names = ['A', 'FROM_FILE', 'EMPTY', 'GONE', 'TOKEN', 'KEY'];
    const called = await program(
      ['call', 'child.env', JSON.stringify({ names }), '--json', '-c', config],
      env,
    );
    expect(called).toMatchObject({ code: 0 });
    expect(JSON.parse(called.stdout)).toMatchObject({
      structuredContent: {
        env: { A: ODD, FROM_FILE: 'from-a-file', EMPTY: '', GONE: null, TOKEN: null, KEY: null },
        cwd: folder,
        argv: [script, `--text=${ODD}`, '$BARE ${env:LITERAL} by default'],
      },
    });
    expect((await run(['call', 'up.whoami', '--json', '-c', config], { env })).code).toBe(0);
    for (const { headers, path } of up.received) {
      expect(path).toBe('/mcp?key=k-1');
      expect(headers['authorization']).toBe('Bearer k-1');
      expect(headers).not.toHaveProperty('x-empty');
      expect(headers).not.toHaveProperty('x-gone');
    }
    expect(up.received.length).toBeGreaterThan(2);
  });

  it('that are not set are an error that names field and variable, and nothing starts', async () => {
    const config = await configFile({
      upstreams: {
        a: {
          url: 'http://127.0.0.1:9/${env:NOT_SET_1}',
          headers: { Authorization: 'Bearer ${env:NOT_SET_2}' },
        },
        b: {
          command: 'touch',
          args: [join(folder, 'started'), '${env:NOT_SET_3}'],
          env: { T: '${file:nowhere.txt}' },
        },
      },
    });
    const { code, stdout, stderr } = await run(['check', '-c', config]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/:3:\d+ upstreams\.a\.url: .*NOT_SET_1/),
      expect.stringMatching(/:5:\d+ upstreams\.a\.headers\.Authorization: .*NOT_SET_2/),
      expect.stringMatching(/:\d+:\d+ upstreams\.b\.args\[1\]: .*NOT_SET_3/),
      expect.stringMatching(/:\d+:\d+ upstreams\.b\.env\.T: its file cannot be read/),
    ]);
    const started = await run(['call', 'b.any', '-c', config]);
    expect([started.code, started.stdout]).toEqual([2, '']);
  });

  it('of an optional server turn that one off, with the reason; the others start', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
    await using never = await startHttpUpstream({ id: 'never' });
    const config = await configFile({
      upstreams: {
        never: { url: never.url, optional: true, headers: { Authorization: 'Bearer ${env:NOT_SET}' } },
        off: { url: never.url, enabled: false, headers: { Authorization: 'Bearer ${env:NOT_SET}' } },
        up: up.config,
      },
    });
    const { code, stdout } = await run(['check', '--json', '-c', config]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      upstreams: {
        never: { state: 'off', why: expect.stringMatching(/headers\.Authorization.*NOT_SET/) },
        off: { state: 'off' },
        up: { state: 'ready', tools: 1 },
      },
    });
    expect(never.received).toEqual([]);
  });
});

describe('C-080: what the gateway does not know', () => {
  it.each([
    {
      file: 'typos.yaml',
      lines: [
        '3:8 upstreams.a.commandd: unknown key (did you mean "command"?)',
        '7:3 upstreams.d: this key stands here twice',
        '8:39 upstreams.e.timeoutt: unknown key (did you mean "timeouts"?)',
        '11:3 auth.enabledd: unknown key',
        '12:1 authh: unknown key (did you mean "auth"?)',
      ],
    },
    {
      file: 'contradictions.json',
      lines: ['"command" and "url" exclude each other', 'must be true or false, without quotes'],
    },
  ])('makes check exit with 2 and name every fault of $file at once', async ({ file, lines }) => {
    const { code, stdout, stderr } = await program(['check', '-c', fixture(file)]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    for (const line of lines) {
      expect(stderr).toContain(line);
    }
    const json = await run(['check', '--json', '-c', fixture(file)]);
    expect(json.code).toBe(2);
    const { ok, problems } = JSON.parse(json.stdout);
    expect(ok).toBe(false);
    expect(problems.length).toBeGreaterThanOrEqual(lines.length);
    expect(problems[0]).toMatchObject({
      line: expect.any(Number),
      column: expect.any(Number),
      path: expect.any(String),
      message: expect.any(String),
    });
  });

  it.each([
    ['a tab', 'upstreams:\n\ta: { command: x }\n', ':2:'],
    ['a reference to no anchor', 'upstreams:\n  a: *nobody\n', ':2:'],
    ['env as a list', 'upstreams:\n  a: { command: x, env: [A=1] }\n', 'upstreams.a.env: must be a mapping'],
    ['a number for text', 'upstreams:\n  a: { command: 7 }\n', 'upstreams.a.command: must be text'],
    [
      'text for a flag',
      'upstreams:\n  a: { command: x, enabled: no }\n',
      'upstreams.a.enabled: must be true or false',
    ],
    ['a list at the top', '- upstreams\n', ':1:'],
  ])('%s is refused with its place', async (_title, text, said) => {
    const config = await configFile(text);
    const { code, stdout, stderr } = await run(['serve', '-c', config, '--port', '0']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(said);
    expect(stderr).toContain(config);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('x- keys and anchors are fine, and scalars are those of YAML 1.2', async () => {
    const config = await configFile(`
x-common: &common { optional: true, x-note: 012 }
x-anything: [on, no, 012, { deep: true }]
upstreams:
  off:
    <<: *common
    command: never-started
    enabled: false
    x-owner: somebody
    env: { ON: on, NO: no, OCTAL: "012" }
`);
    const { code, stdout, stderr } = await program(['check', '-c', config]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/off\s+off/);
  });
});
