import { mkdir, rename, rm } from 'node:fs/promises';
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
  for (const file of ['main.js', 'main.js.map', 'tokens.js', 'ui.js', 'LICENSES.txt']) {
    await rename(`${fresh}/${file}`, `${FOLDER}/${file}`);
  }
  await rm(fresh, { recursive: true });
}
