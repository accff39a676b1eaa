import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Io } from '../../../src/cli/io.ts';
import { runCli } from '../../../src/cli/program.ts';

export const ABSENT = { command: 'there-is-no-such-command' };

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** An edge where nobody is: no variable, nothing to read, nothing ends it, and what is written is lost. */
export const NOWHERE: Io = {
  main: '/opt/patchbay/main.js',
  env: {},
  out: () => {},
  err: () => {},
  readable: false,
  input: async () => '',
  columns: undefined,
  stopped: () => new Promise(() => {}),
  serving: () => {},
  onHangup: () => {},
};

/** Runs one command line in this process. Only the edge is ours: what it reads, and where it writes. */
export async function run(
  args: readonly string[],
  edge: Partial<Io> & { readonly stdin?: string } = {},
): Promise<Ran> {
  let stdout = '';
  let stderr = '';
  const { stdin = '', ...rest } = edge;
  const io: Io = {
    ...NOWHERE,
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
    input: async () => stdin,
    ...rest,
  };
  const code = await runCli(['node', 'patchbay', '--log-level', 'silent', ...args], io);
  return { code, stdout, stderr };
}

/** A configuration file that is gone when the test is over. Text is written as it is, anything else as YAML. */
export async function configFile(content: unknown): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-cli-'));
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, typeof content === 'string' ? content : stringify(content));
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
