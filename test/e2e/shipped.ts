import { spawn } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../gates/repository.ts';
import { signal, untilGone } from '../kit/processes.ts';
import { createWaits } from '../kit/waits.ts';

/** The built program, run in this repository as its users run it, with a state folder of its own. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  /** What it has written to stdout and stderr so far. */
  readonly out: string;
  readonly err: string;
  /** Resolves with the first group of what matches in stdout. */
  untilSaid(pattern: RegExp): Promise<string>;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
}

/** Throws where `dist` is missing or older than `src`: a test of yesterday's program proves nothing. */
function demandBuild(): void {
  const newest = (pattern: string) =>
    Math.max(0, ...globSync(pattern, { cwd: ROOT }).map((file) => statSync(join(ROOT, file)).mtimeMs));
  if (newest('dist/main.js') < newest('src/**/*.ts')) {
    throw new Error('dist is missing or older than src: run npm run build');
  }
}

/** Starts Node with these words in the root of the repository. */
export async function startProgram(words: readonly string[]): Promise<Program> {
  demandBuild();
  const state = await mkdtemp(join(tmpdir(), 'patchbay-shipped-'));
  const child = spawn(process.execPath, words, {
    cwd: ROOT,
    env: { ...process.env, XDG_STATE_HOME: state, PATCHBAY_MEMORY_FILE: join(state, 'memory.jsonl') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const waits = createWaits();
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text;
    waits.check();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text;
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      waits.fail(new Error(`it ended with ${code}: ${said.out}${said.err}`));
      resolve(code);
    });
  });
  const pid = child.pid ?? 0;
  return {
    pid,
    get out() {
      return said.out;
    },
    get err() {
      return said.err;
    },
    untilSaid: (pattern) =>
      waits.until(
        () => pattern.exec(said.out)?.[1],
        () => `it never said ${pattern}: ${said.out}${said.err}`,
        30_000,
      ),
    ended,
    async [Symbol.asyncDispose]() {
      // As a user ends it; a program that does not listen to that fails the wait below.
      signal(pid, 'SIGTERM');
      await untilGone(pid, { timeout: 15_000 });
      await rm(state, { recursive: true, force: true });
    },
  };
}
