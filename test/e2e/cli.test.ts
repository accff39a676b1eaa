import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { compileCache } from '../kit/compile-cache.ts';
import { alive, processesMarked } from '../kit/processes.ts';
import { MAIN } from '../kit/program.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const EVERYTHING = {
  command: process.execPath,
  args: [inRepository('node_modules/@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'],
};
const ABSENT = { command: 'there-is-no-such-command' };
/** A variable that every process of these runs has, so that what was left behind can be found. */
const MARK = 'PATCHBAY_TEST_RUN';

let folder: string;
let runs = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function configFile(content: unknown): Promise<string> {
  runs += 1;
  const path = join(folder, `gateway-${runs}.yaml`);
  await writeFile(path, stringify(content));
  return path;
}

/** A program that starts another one takes its time on a busy machine, ms. */
const PATIENCE = 25_000;

/** The real program in a process of its own, as a shell would start it: neither end is a terminal. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  runs += 1;
  const mark = `${MARK}=${process.pid}.${runs};`;
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      ...compileCache,
      XDG_STATE_HOME: join(folder, 'state'),
      [MARK]: mark.slice(MARK.length + 1),
      ...env,
    },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  /** How it ended; fails where something that it started has outlived it. */
  const ended = once(child, 'close').then(([code, signal]) => {
    expect(processesMarked(mark), 'left behind').toEqual([]);
    return { code, signal, stdout, stderr };
  });
  const end = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { child, ended, [Symbol.asyncDispose]: end };
}

async function run(args: readonly string[], env?: Readonly<Record<string, string>>) {
  await using program = start(args, env);
  program.child.stdin.end();
  return await program.ended;
}

describe('check', () => {
  it('connects without binding the port, reports to stdout, and leaves nothing behind', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['read'] });
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const listen = { port: (taken.address() as { port: number }).port };
    const config = await configFile({ listen, upstreams: { up: up.config, every: EVERYTHING } });

    const { code, stdout, stderr } = await run(['check', '-c', config]);
    taken.close();

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^2 upstreams\n {2}up {5}ready {2}1 tool, .* \(modern\)\n {2}every {2}ready {2}.* \(legacy\)\n/,
    );
    expect(stdout).toContain('    up.read\n');
    expect(stdout).toContain('    every.echo\n');
    expect(stdout).toMatch(/\nResult: ok\n$/);
    expect(up.everyPid).toHaveLength(up.starts);
    expect(up.everyPid.filter(alive)).toEqual([]);
    expect(await readdir(folder), 'no sealing key is kept').not.toContain('state');
  });

  it('fails with a JSON report on stdout and the log on stderr', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['a.b', null], resources: ['note://one'] });
    const config = await configFile({ upstreams: { gone: ABSENT, up: up.config } });
    const { code, stdout, stderr } = await run(['check', '--json', '-c', config]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      upstreams: {
        // It is tried again meanwhile.
        gone: {
          state: expect.stringMatching(/^(backoff|connecting)$/),
          optional: false,
          why: expect.stringContaining('UPSTREAM_COMMAND'),
        },
        up: { state: 'ready', optional: false, era: 'modern', tools: 1, findings: 1 },
      },
      catalog: {
        up: {
          tools: [{ dotted: 'up.a.b', strict: 'up__a_b', original: 'a.b' }],
          prompts: [],
          resources: [{ original: 'note://one' }],
          templates: [],
        },
      },
      findings: [
        { id: 'item.not-an-object', severity: 'error', upstream: 'up', kind: 'tools', item: '#1' },
        { id: 'hint.missing', severity: 'notice' },
        { id: 'schema.accepts-anything', severity: 'notice' },
      ],
    });
    const logged = stderr.trimEnd().split('\n');
    expect(logged.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ upstream: 'gone', level: 40 }),
    );
  });

  it('ends without orphans when it is interrupted while an upstream does not answer', async () => {
    await using up = await startStdioUpstream({
      id: 'up',
      faults: [{ on: '*', do: { silence: true } }],
      stdio: { ignoreEof: true },
    });
    const config = await configFile({ upstreams: { up: { ...up.config, stop: { grace: '200ms' } } } });
    await using program = start(['check', '-c', config]);
    await up.untilReceived('server/discover', undefined, { timeout: PATIENCE });
    program.child.kill('SIGINT');
    expect(await program.ended).toEqual({ code: 1, signal: null, stdout: '', stderr: 'Interrupted.\n' });
    expect(up.everyPid.filter(alive)).toEqual([]);
  });

  it('takes configuration and address from the environment, and exits with 2 where they are wrong', async () => {
    const config = await configFile({ upstreams: {} });
    const env = { PATCHBAY_CONFIG: config, PATCHBAY_HOST: '0.0.0.0' };
    const refused = await run(['check'], env);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(`${config}:1:1 listen.host: `);
    const port = await run(['check'], { PATCHBAY_PORT: '70000' });
    expect(port).toMatchObject({ code: 2, stdout: '' });
    expect(port.stderr).toContain('PATCHBAY_PORT');
    // What Compose makes of a variable that was never set says nothing.
    const unset = await run(['check', '-c', config], {
      PATCHBAY_CONFIG: '',
      PATCHBAY_HOST: '',
      PATCHBAY_PORT: '',
    });
    expect(unset).toMatchObject({ code: 0 });
  });
});

describe('tools', () => {
  it('ends quietly when nobody reads on', async () => {
    const config = await configFile({ upstreams: { every: EVERYTHING } });
    await using program = start(['tools', '-c', config]);
    program.child.stdout.destroy();
    expect(await program.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });
});

describe('call', () => {
  it('reads arguments from stdin, prints progress to stderr and the result to stdout', async () => {
    const config = await configFile({ upstreams: { every: EVERYTHING } });
    await using program = start(['call', 'every__trigger-long-running-operation', '-', '-c', config]);
    program.child.stdin.end('{"duration": 0.1, "steps": 2}');
    expect(await program.ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Long running operation completed\..*\n$/),
      stderr: 'progress 1/2\nprogress 2/2\n',
    });
  });

  it('cancels the call when it is interrupted, and ends without orphans', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['never'] });
    const config = await configFile({ upstreams: { up: up.config } });
    await using program = start(['call', 'up.never', '-c', config]);
    await up.untilReceived('tools/call', undefined, { timeout: PATIENCE });
    program.child.kill('SIGTERM');
    expect(await program.ended).toEqual({ code: 1, signal: null, stdout: '', stderr: 'Interrupted.\n' });
    await up.untilReceived('notifications/cancelled');
  });
});
