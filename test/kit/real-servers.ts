import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { compileCache } from './compile-cache.ts';
import { signal } from './processes.ts';
import { createWaits } from './waits.ts';

const resolve = createRequire(import.meta.url).resolve;
const PRELOAD = fileURLToPath(new URL('./loopback-preload.mjs', import.meta.url));

/** Command and arguments of a published server, as a config entry and as something to start. */
export interface RealCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const run = (program: string, ...args: readonly string[]): RealCommand => ({
  command: process.execPath,
  args: [resolve(program), ...args],
  env: compileCache,
});

export const everythingStdio = (): RealCommand =>
  run('@modelcontextprotocol/server-everything/dist/index.js', 'stdio');

export const filesystemStdio = (...folders: readonly string[]): RealCommand =>
  run('@modelcontextprotocol/server-filesystem/dist/index.js', ...folders);

export const memoryStdio = (): RealCommand => run('@modelcontextprotocol/server-memory/dist/index.js');

export interface RealHttp extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** The everything server over HTTP on a free loopback port: Streamable HTTP at `/mcp`, or the 2024-11-05 pair at `/sse`. */
export async function startEverythingHttp(
  transport: 'streamableHttp' | 'sse' = 'streamableHttp',
): Promise<RealHttp> {
  const { command, args } = run('@modelcontextprotocol/server-everything/dist/index.js', transport);
  const child = spawn(command, ['--import', PRELOAD, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  const waits = createWaits();
  let said = '';
  const exit = new Promise<void>((done) => {
    child.once('exit', () => {
      waits.fail(new Error(`server-everything ended: ${said}`));
      done();
    });
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    waits.check();
  });
  const port = await waits.until(
    () => /LISTENING (\d+)/.exec(said)?.[1],
    () => `server-everything does not listen: ${said}`,
    20_000,
  );
  const pid = child.pid ?? 0;
  return {
    url: `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    pid,
    async [Symbol.asyncDispose]() {
      signal(pid, 'SIGKILL');
      await exit;
    },
  };
}
