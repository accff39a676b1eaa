import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Absent } from './target.ts';

/** Where peers are installed: never in this repository, and once for all runs. */
const FOLDER = join(tmpdir(), 'patchbay-bench-peers');
const PATIENCE_MS = 180_000;
const tried = new Map<string, Promise<string>>();

/**
 * The folder in which an npm package of that version is installed, by itself and without running its scripts. Rejects with
 * {@link Absent} where it cannot be had.
 */
export function installed(name: string, version: string): Promise<string> {
  const key = `${name}@${version}`;
  const known = tried.get(key) ?? install(key);
  tried.set(key, known);
  return known;
}

async function install(key: string): Promise<string> {
  const folder = join(FOLDER, key.replaceAll(/[^\w.-]+/g, '_'));
  const done = join(folder, 'done');
  if (existsSync(done)) {
    return folder;
  }
  // What is there was not finished.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  process.stderr.write(`installing ${key}\n`);
  const words = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', key];
  const child = spawn('npm', words, { stdio: ['ignore', 'ignore', 'pipe'], timeout: PATIENCE_MS });
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', ({ message }) => resolve(message));
    child.once('close', (code) => resolve(code === 0 ? undefined : `npm ended with ${code}`));
  });
  const [fault, said] = await Promise.all([ended, text(child.stderr)]);
  if (fault !== undefined) {
    const [line = ''] = said.split('\n').filter((each) => /npm error/i.test(each));
    throw new Absent(`${key} could not be installed: ${fault}${line === '' ? '' : `, ${line.trim()}`}`);
  }
  writeFileSync(done, '');
  return folder;
}
