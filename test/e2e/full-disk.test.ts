import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compileCache } from '../kit/compile-cache.ts';
import { refusingPort } from '../kit/faults.ts';
import { MAIN } from '../kit/program.ts';

it('serves, reloads and ends where neither its log nor its output can be written', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-full-'));
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, 'name: one\n');
  const port = await refusingPort();
  const full = openSync('/dev/full', 'w');
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '-c', file, '--port', `${port}`, '--log-level', 'debug'],
    {
      stdio: ['ignore', full, full],
      env: { ...process.env, ...compileCache, XDG_STATE_HOME: folder },
    },
  );
  const ended = once(child, 'exit');
  const digest = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/config`);
    const { keys } = (await answer.json()) as { keys: Record<string, { digest: string }> };
    return keys['instructions']?.digest;
  };
  await expect.poll(() => digest().catch(() => 'none yet')).toBe(null);
  await appendFile(file, 'instructions: Take care.\n');
  await expect.poll(digest).toEqual(expect.any(String));
  await expect(digest()).resolves.toEqual(expect.any(String));
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  await rm(folder, { recursive: true });
});
