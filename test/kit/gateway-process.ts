import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileCache } from './compile-cache.ts';
import { MAIN } from './program.ts';
import { createWaits } from './waits.ts';

export interface GatewayProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** `http://127.0.0.1:<port>/mcp` */
  readonly url: string;
  readonly port: number;
  readonly ended: boolean;
  /** What it logged so far, as lines of JSON. */
  readonly log: string;
}

export interface GatewayProcessOptions {
  /** Modules to load before anything else. */
  readonly preload?: readonly string[];
  /** Most files and sockets it may have open at once (POSIX). */
  readonly descriptors?: number;
  /** Another build of the program than the one that the tests are run with. */
  readonly main?: string;
  /** ms for its start; default: as for anything else. */
  readonly patience?: number;
  /** A channel for messages between this process and the modules that were loaded before. */
  readonly channel?: boolean;
}

/** A gateway in a process of its own, on a free port, its configuration in a file. Resolves when it has looked around. */
export async function startGatewayProcess(
  config: object,
  { preload = [], descriptors, channel = false, main = MAIN, patience }: GatewayProcessOptions = {},
): Promise<GatewayProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-process-'));
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, JSON.stringify(config)); // JSON is YAML
  const serve = [main, 'serve', '--json', '--log-level', 'warn', '-c', file, '--port', '0'];
  const words = [process.execPath, ...preload.flatMap((url) => ['--import', url]), ...serve];
  const limited =
    descriptors === undefined ? words : ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...words];
  const [command = '', ...args] = limited;
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe', ...(channel ? (['ipc'] as const) : [])],
    // Its memory is looked at: as it is elsewhere, and not as `vitest.config.ts` has it.
    env: { ...process.env, ...compileCache, GLIBC_TUNABLES: undefined, XDG_STATE_HOME: folder },
  });
  const waits = createWaits();
  let out = '';
  let log = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    waits.check();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const over = new Promise<void>((resolve) => {
    child.once('close', (code) => {
      waits.fail(new Error(`the gateway ended with ${code}: ${log}`));
      resolve();
    });
  });
  const line = await waits.until(
    () => (out.includes('\n') ? out : undefined),
    () => `the gateway said nothing: ${log}`,
    patience,
  );
  const { url } = JSON.parse(line) as { url: string };
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  return {
    child,
    url,
    port: Number(new URL(url).port),
    get ended() {
      return isOver();
    },
    get log() {
      return log;
    },
    async [Symbol.asyncDispose]() {
      if (!isOver()) {
        child.kill('SIGTERM');
      }
      await over;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
