import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { familyOf } from './usage.ts';

const GRACE_MS = 5_000;
const PROBE = new URL('./loop-probe.mjs', import.meta.url).href;

export interface StartOptions {
  /** Where it runs, and what is its home. */
  readonly folder?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Whether anybody reads what it writes to stdout; what nobody reads is thrown away. */
  readonly heard?: boolean;
  /** Whether anybody writes to its stdin. */
  readonly told?: boolean;
  /** Look at how long its event loop stands still, where it is a program of Node. */
  readonly probed?: boolean;
}

/** A process that ends, with all that it has started, when it is let go. */
export class Started implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly #probed: boolean;

  constructor(command: readonly string[], options: StartOptions = {}) {
    const { folder, env, heard = false, told = false, probed = false } = options;
    const [file = '', ...words] = command;
    this.#probed = probed && file === process.execPath;
    const home = folder === undefined ? {} : { HOME: folder };
    this.child = spawn(file, this.#probed ? ['--import', PROBE, ...words] : words, {
      cwd: folder,
      env: { ...process.env, NODE_ENV: 'production', ...home, ...env },
      stdio: [
        told ? 'pipe' : 'ignore',
        heard ? 'pipe' : 'ignore',
        process.env['BENCH_VERBOSE'] === undefined ? 'ignore' : 'inherit',
        ...(this.#probed ? (['ipc'] as const) : []),
      ],
    });
    // One that cannot be started is missed by whoever waits for it.
    this.child.on('error', () => {});
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined;
  }

  beginPauses(): void {
    if (this.#probed && this.child.connected) {
      this.child.send('begin');
    }
  }

  /** The longest pause since {@link beginPauses} in ms; undefined where nobody looked. */
  longestPause(): Promise<number | undefined> {
    const { child } = this;
    if (!this.#probed || !child.connected) {
      return Promise.resolve(undefined);
    }
    return new Promise((resolve) => {
      child.once('message', (message) => resolve((message as { pause: number }).pause));
      child.once('exit', () => resolve(undefined));
      child.send('end');
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ended) {
      return;
    }
    const family = familyOf(this.pid);
    const over = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), GRACE_MS);
    await over;
    clearTimeout(late);
    for (const pid of family.slice(1)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It went with its parent, as it should.
      }
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  await new Promise((resolve) => server.close(resolve));
  return port;
}
