import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, type ExpectStatic, it } from 'vitest';
import { stringify } from 'yaml';
import { compileCache } from '../kit/compile-cache.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { processesMarked, processTree, signal } from '../kit/processes.ts';
import { MAIN } from '../kit/program.ts';

const BOOM = new URL('../fixtures/boom-preload.mjs', import.meta.url).href;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-orphans-'));
});
afterAll(() => rm(folder, { recursive: true }));

const reply = (result: object) =>
  `printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" '${JSON.stringify(result)}'`;

/**
 * A legacy server with one tool, `stay`, whose call is never answered. It and its grandchild are deaf to SIGTERM, to
 * SIGHUP and to the end of their input, and when the input has ended it starts one more.
 */
const STUBBORN = `
trap '' TERM HUP INT
stay() { sh -c 'trap "" TERM HUP INT; while :; do sleep 600; done' & }
stay
while read -r line; do
  id=\${line#*'"id":'}; id=\${id%%[,\\}]*}
  case $line in
    *'"method":"initialize"'*) ${reply({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'stubborn', version: '1' } })} ;;
    *'"method":"tools/list"'*) ${reply({ tools: [{ name: 'stay', inputSchema: { type: 'object' } }] })} ;;
    *'"method":"tools/call"'*) stay; echo called >&2 ;;
    *'"method":"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\\n' "$id" ;;
  esac
done
stay
while :; do sleep 600; done`;

/** Reads nothing and says nothing: the gateway is still starting it when it ends. */
const MUTE = `trap '' TERM HUP INT; while :; do sleep 600; done`;

interface Program {
  readonly child: ChildProcess;
  /** stderr so far. */
  readonly log: () => string;
  readonly ended: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
  /** What of it and below it is left, wherever it hangs now; a zombie counts. */
  readonly left: () => readonly string[];
  /** Gives the server another program; resolves when the configuration was written. */
  readonly replace: (script: string) => Promise<void>;
}

/** A gateway as its own process. Everything it starts carries a mark, and so does everything that those start. */
async function startProgram(
  script: string,
  about: { command?: readonly string[]; grace?: string; env?: Record<string, string> } = {},
): Promise<Program> {
  const mark = `ORPHAN_RUN=${randomUUID()}`;
  const [name = '', value = ''] = mark.split('=');
  const file = join(folder, `${value}.yaml`);
  const replace = async (text: string) => {
    const server = join(folder, `${randomUUID()}.sh`);
    await writeFile(server, text);
    const up = { command: 'sh', args: [server], env: { [name]: value }, stop: { grace: '200ms' } };
    const sealingKey = Buffer.alloc(32, 7).toString('base64');
    const shutdown = { grace: about.grace ?? '200ms' };
    await writeFile(file, stringify({ sealingKey, shutdown, listen: { port: 0 }, upstreams: { up } }));
  };
  await replace(script);
  const serve = ['--import', BOOM, MAIN, 'serve', '-c', file, '--json', '--log-level', 'debug'];
  const [command = process.execPath, ...args] = about.command ?? [];
  const child = spawn(command, [...args, ...serve], {
    env: { PATH: process.env['PATH'], ...compileCache, ...about.env },
    stdio: ['ignore', 'ignore', 'pipe'],
    // A leader, as a terminal makes it.
    detached: true,
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  // Not `close`: what is left behind would hold the pipe open.
  const ended = once(child, 'exit') as unknown as Program['ended'];
  const left = () => processesMarked(mark).map(({ pid, command }) => `${pid} ${command}`);
  return { child, log: () => log, ended, left, replace };
}

async function started(expect: ExpectStatic, program: Program, moment: Moment): Promise<void> {
  if (moment === 'while it starts a server') {
    await expect.poll(() => program.left().length, { interval: 20 }).toBeGreaterThan(0);
    return;
  }
  await expect.poll(program.log, { interval: 20 }).toContain('"msg":"connected"');
  const [, url = ''] = /"url":"(http[^"]+)"/.exec(program.log()) ?? [];
  if (moment === 'during a reload') {
    const before = program.left().length;
    await program.replace(MUTE);
    program.child.kill('SIGHUP');
    await expect.poll(() => program.left().length, { interval: 20 }).toBeGreaterThan(before);
  }
  if (moment === 'during a call') {
    const agent = await connectModern(url);
    await agent.untilNames((names) => names.includes('up.stay'));
    // Whatever becomes of it: the gateway may die of what comes next.
    agent.begin('tools/call', { name: 'up.stay', arguments: {} }).done.catch(() => undefined);
    await expect.poll(program.log, { interval: 20 }).toContain('called');
  }
}

type Moment = 'while it starts a server' | 'when all is up' | 'during a call' | 'during a reload';
const SERVERS: Record<Moment, string> = {
  'while it starts a server': MUTE,
  'when all is up': STUBBORN,
  'during a call': STUBBORN,
  'during a reload': STUBBORN,
};

/** Each way to end, at the moment that is hardest for it; `code` null where the signal itself ended it. */
const ENDINGS: readonly { moment: Moment; how: NodeJS.Signals; code: number | null }[] = [
  { moment: 'while it starts a server', how: 'SIGTERM', code: 0 },
  { moment: 'during a call', how: 'SIGTERM', code: 0 },
  { moment: 'during a call', how: 'SIGKILL', code: null },
  // One that nobody handles.
  { moment: 'during a reload', how: 'SIGQUIT', code: null },
];

describe.concurrent('no process is left behind', () => {
  it.for(ENDINGS)('by a gateway that gets $how $moment', async ({ moment, how, code }, { expect }) => {
    const program = await startProgram(SERVERS[moment]);
    await started(expect, program, moment);
    program.child.kill(how);
    expect(await program.ended).toEqual([code, code === null ? how : null]);
    await expect.poll(program.left, { timeout: 10_000 }).toEqual([]);
  });

  it.for([
    { what: 'an error that nobody caught', how: 'SIGUSR2', says: 'boom in /some/path' },
    { what: 'a promise that nobody caught', how: 'SIGWINCH', says: 'boom of a promise' },
  ] as const)('by a gateway that ends because of $what', async ({ how, says }, { expect }) => {
    const program = await startProgram(STUBBORN);
    await started(expect, program, 'during a call');
    program.child.kill(how);
    expect(await program.ended).toEqual([1, null]);
    const lines = program.log().split('\n');
    const fatal = lines.filter((line) => line.includes('"level":60'));
    expect(fatal).toHaveLength(1);
    expect(JSON.parse(fatal[0] ?? '')).toMatchObject({ err: { code: 'INTERNAL', cause: { message: says } } });
    // In order: what closes says so.
    expect(lines.findIndex((line) => line.includes('"msg":"closing"'))).toBeGreaterThan(
      lines.indexOf(fatal[0] ?? ''),
    );
    expect(program.left()).toEqual([]);
  });

  it('by a gateway that is told twice; the second time is at once', async ({ expect }) => {
    const program = await startProgram(STUBBORN, { grace: '10m' });
    await started(expect, program, 'during a call');
    program.child.kill('SIGINT');
    await expect.poll(program.log).toContain('"msg":"closing"');
    // Two that come together are one: npm passes on what the terminal has sent already.
    program.child.kill('SIGINT');
    await expect
      .poll(() => program.child.kill('SIGTERM') || program.child.exitCode, { interval: 100 })
      .toBe(1);
    await expect.poll(program.left, { timeout: 2_000 }).toEqual([]);
  });

  it('when npm ends, which tells only the shell that it runs scripts in', async ({ expect }) => {
    const shell = ['sh', '-c', '"$0" "$@"; :', process.execPath];
    const program = await startProgram(STUBBORN, { command: shell, env: { npm_lifecycle_event: 'start' } });
    await started(expect, program, 'when all is up');
    const gateway = processTree(program.child.pid ?? 0).find(({ parent }) => parent === program.child.pid);
    program.child.kill('SIGTERM');
    expect(await program.ended).toEqual([null, 'SIGTERM']);
    await expect.poll(program.left, { timeout: 10_000 }).toEqual([]);
    await expect.poll(() => processTree(gateway?.pid ?? 0)).toEqual([]);
    expect(program.log()).toContain('"signal":"end of npm"');
  });

  it('by a gateway whose whole terminal is interrupted, keeper and all', async ({ expect }) => {
    const program = await startProgram(MUTE);
    await started(expect, program, 'while it starts a server');
    const all = processTree(program.child.pid ?? 0).map(({ pid }) => pid);
    // Ctrl-C reaches the group of the terminal, and here the gateway is killed at the same moment.
    signal(-(program.child.pid ?? 0), 'SIGINT');
    signal(-(program.child.pid ?? 0), 'SIGKILL');
    await program.ended;
    await expect.poll(program.left, { timeout: 10_000 }).toEqual([]);
    await expect.poll(() => all.flatMap((pid) => processTree(pid)), { timeout: 10_000 }).toEqual([]);
  });
});
