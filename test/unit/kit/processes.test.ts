import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import {
  alive,
  descendants,
  processesMarked,
  processFacts,
  processTree,
  signal,
  untilAllGone,
  untilGone,
} from '../../kit/processes.ts';

const SLEEPER = 'process.stdin.resume(); console.log("up")';
/** Starts a grandchild that outlives it. */
const PARENT = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60000); console.log("up")'], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.once('data', () => console.log(child.pid));
  process.stdin.resume();`;

it('sees a process from its start to its end', async () => {
  const child = spawn(process.execPath, ['-e', SLEEPER]);
  await once(child.stdout, 'data');
  const pid = child.pid ?? 0;
  expect(processFacts(pid)).toMatchObject({ parent: process.pid });
  expect(descendants(process.pid)).toContain(pid);
  signal(pid, 'SIGKILL');
  await untilGone(pid, { reaped: true });
  expect(alive(pid)).toBe(false);
  expect(processTree(pid)).toEqual([]);
  signal(pid, 'SIGKILL');
});

it('finds an orphan by the mark in its environment', async () => {
  const mark = `KIT_MARK=${randomUUID()}`;
  const [name = '', value = ''] = mark.split('=');
  const parent = spawn(process.execPath, ['-e', PARENT], { env: { ...process.env, [name]: value } });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const grandchild = Number(line.toString());
  expect(processTree(parent.pid ?? 0).map((each) => each.pid)).toEqual([parent.pid, grandchild]);
  signal(parent.pid ?? 0, 'SIGKILL');
  await untilGone(parent.pid ?? 0);
  expect(processesMarked(mark).map((each) => each.pid)).toEqual([grandchild]);
  signal(grandchild, 'SIGKILL');
  await untilAllGone([grandchild]);
});

it('says what is still there when it waited in vain', async () => {
  await expect(untilGone(process.pid, { timeout: 1 })).rejects.toThrow(/still there/);
});
