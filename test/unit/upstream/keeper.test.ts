import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, type ExpectStatic, it } from 'vitest';
import { alive, processTree, signal, untilAllGone } from '../../kit/processes.ts';

const HOST = fileURLToPath(new URL('../../fixtures/keeper-host.ts', import.meta.url));

/** Ends with its stdin. */
const POLITE = 'cat';
/** Is there until SIGTERM. */
const DEAF = 'exec sleep 600';
/** Is there until SIGKILL, and so is what it has started; no process of Node's size. */
const STUBBORN = `trap '' TERM HUP INT; sh -c 'trap "" TERM; while :; do sleep 600; done' & while :; do sleep 600; done`;

/** Tests run at once here, since most of what they do is to wait for grace to pass: each brings its own `expect`. */
async function startHost(expect: ExpectStatic, sh: string, ...commands: readonly string[]) {
  const host = spawn(process.execPath, [HOST, sh, ...commands], { stdio: ['pipe', 'pipe', 'ignore'] });
  const closed = once(host, 'close');
  const said: Record<string, unknown>[] = [];
  createInterface(host.stdout).on('line', (line) => said.push(JSON.parse(line) as Record<string, unknown>));
  const until = (key: string, value: unknown) =>
    expect.poll(() => said.find((line) => key in line)?.[key], { interval: 10 }).toEqual(value);
  try {
    await until('pids', expect.any(Array));
  } catch (thrown) {
    // Nobody holds it yet who would end it.
    host.kill('SIGKILL');
    throw thrown;
  }
  const pids = said.find((line) => 'pids' in line)?.['pids'] as number[];
  const tree = () => processTree(host.pid ?? 0).map(({ pid }) => pid);
  const keepers = () =>
    processTree(host.pid ?? 0).filter(
      ({ command, parent }) => parent === host.pid && command.endsWith('patchbay-keeper'),
    );
  const tell = (line: string) => host.stdin.write(`${line}\n`);
  const end = async () => {
    host.kill('SIGKILL');
    for (const pid of pids) {
      signal(-pid, 'SIGKILL');
    }
    await closed;
  };
  return { host, pids, closed, until, tell, tree, keepers, [Symbol.asyncDispose]: end };
}

const SHELLS = ['/bin/sh', '/bin/bash'].filter((path) => existsSync(path));

describe.concurrent('what a process kept, once it is gone', () => {
  it.for(SHELLS)('is gone after SIGKILL too, deaf to SIGTERM or not, with %s', async (sh, { expect }) => {
    await using started = await startHost(expect, sh, POLITE, DEAF, STUBBORN);
    const { host, pids, closed, tree } = started;
    const all = tree().filter((pid) => pid !== host.pid);
    expect(all.length).toBeGreaterThan(pids.length);
    host.kill('SIGKILL');
    await closed;
    // The keeper is among them: it ends when its work is done.
    await untilAllGone(all, 10_000);
  });

  it('is left alone if it was let go before', async ({ expect }) => {
    await using started = await startHost(expect, '/bin/sh', DEAF, DEAF);
    const { host, pids, closed, tell, until, keepers } = started;
    const [released = 0, kept = 0] = pids;
    const [keeper] = keepers();
    tell('release 0');
    await until('released', 0);
    host.kill('SIGKILL');
    await closed;
    await untilAllGone([kept, keeper?.pid ?? 0], 10_000);
    expect(alive(released)).toBe(true);
  });

  it.for(['exit', 'throw'])('is gone at once after %s, also without a shell', async (how, { expect }) => {
    await using started = await startHost(expect, '/no/such/shell', STUBBORN);
    const { pids, closed, tell, until } = started;
    await until('msg', expect.stringContaining('may outlive'));
    tell(how);
    await closed;
    await untilAllGone(pids, 1_000);
  });
});

describe.concurrent('the keeper', () => {
  it('is deaf to what a terminal or a service manager sends, and is started anew when it is killed', async ({
    expect,
  }) => {
    await using started = await startHost(expect, '/bin/sh', DEAF);
    const { host, pids, closed, until, keepers } = started;
    const [first] = keepers();
    for (const name of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) {
      signal(first?.pid ?? 0, name);
    }
    expect(first?.group).toBe(first?.pid);
    signal(first?.pid ?? 0, 'SIGKILL');
    await until('msg', expect.stringContaining('started anew'));
    await expect.poll(() => keepers().map(({ pid }) => pid)).not.toContain(first?.pid);
    await expect.poll(() => keepers().length).toBe(1);
    host.kill('SIGKILL');
    await closed;
    await untilAllGone(pids, 10_000);
  });

  it('ends with the last group, and comes back for no other reason', async ({ expect }) => {
    await using started = await startHost(expect, '/bin/sh', DEAF);
    const { tell, until, keepers } = started;
    expect(keepers()).toHaveLength(1);
    tell('release 0');
    await until('released', 0);
    await expect.poll(keepers).toEqual([]);
  });
});
