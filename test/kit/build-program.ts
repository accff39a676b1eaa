import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { buildProgram } from '../../.ci/build.ts';
import { FOLDER } from './program.ts';

/**
 * Before any test: builds the program that tests start. Another run may start it at the same time, so it is put in
 * place whole.
 */
export async function setup(): Promise<void> {
  const fresh = `${FOLDER}-${process.pid}`;
  await mkdir(dirname(FOLDER), { recursive: true });
  await buildProgram(fresh);
  await mkdir(FOLDER, { recursive: true });
  // What it starts with comes last: what that asks for is there by then.
  for (const file of (await readdir(fresh)).toSorted((a, b) => Number(isMain(a)) - Number(isMain(b)))) {
    await rename(`${fresh}/${file}`, `${FOLDER}/${file}`);
  }
  await rm(fresh, { recursive: true });
}

const isMain = (file: string) => file === 'main.js';
