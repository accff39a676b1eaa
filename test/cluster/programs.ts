import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refusingPort } from '../kit/faults.ts';

/** Redis and nginx as programs of this machine: `.ci/run` installs them, elsewhere they may be missing. */

/** Servers lie where not everybody's path leads. */
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/local/sbin:/usr/sbin` };

export function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v'], { stdio: 'ignore', env }).error === undefined;
}

export interface Program extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** SIGKILL by default. Resolves when it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port; resolves when it can be reached. */
  again(): Promise<void>;
  /** Sends it a signal that it lives on after. */
  signal(name: NodeJS.Signals): void;
}

/** A Redis server with nothing in it, on a free port. It forgets everything when it ends, unless it `keeps`. */
export async function startRedis(options: { readonly password?: string; readonly keeps?: boolean } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-redis-'));
  const port = await refusingPort();
  const kept = options.keeps === true ? ['--appendonly', 'yes'] : ['--appendonly', 'no'];
  const password = options.password === undefined ? [] : ['--requirepass', options.password];
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  return startProgram('redis-server', [...args, ...kept, ...password], port, folder);
}

/** nginx with this body of its `http` section, on a free port. `configure` writes another one and reloads it. */
export async function startNginx(http: (port: number) => string) {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-nginx-'));
  const port = await refusingPort();
  const file = join(folder, 'nginx.conf');
  const write = (body: string) => writeFile(file, nginxConfig(folder, body));
  await write(http(port));
  const program = await startProgram('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], port, folder);
  return {
    ...program,
    pid: program.pid,
    async configure(body: (port: number) => string) {
      await write(body(port));
      program.signal('SIGHUP');
    },
  };
}

function nginxConfig(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  ${http}
}`;
}

async function startProgram(
  command: string,
  args: readonly string[],
  port: number,
  folder: string,
): Promise<Program> {
  const begin = async () => {
    let said = '';
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-2_000);
      });
    }
    const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
    while (!(await isListening(port))) {
      if (child.exitCode !== null) {
        throw new Error(`${command} ended with ${child.exitCode}: ${said}`);
      }
      // Redis and nginx do not say when they listen.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { child, gone };
  };
  let running = await begin();
  const kill = async (signal: NodeJS.Signals = 'SIGKILL') => {
    running.child.kill(signal);
    await running.gone;
  };
  return {
    port,
    get pid() {
      return running.child.pid ?? 0;
    },
    kill,
    async again() {
      running = await begin();
    },
    signal: (name) => void running.child.kill(name),
    async [Symbol.asyncDispose]() {
      // A program that is stopped hears nothing else.
      running.child.kill('SIGCONT');
      await kill(command === 'nginx' ? 'SIGTERM' : 'SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
