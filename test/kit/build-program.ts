import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';
import { buildProgram } from '../../.ci/build.ts';
import { ROOT } from '../gates/repository.ts';
import { FOLDER, SCRIPTED } from './program.ts';

/**
 * Before any test: builds the programs that tests start, as files of their own. Another run may start them at the same
 * time, so they are put in place whole.
 */
export async function setup(): Promise<void> {
  const fresh = `${FOLDER}-${process.pid}`;
  await mkdir(dirname(FOLDER), { recursive: true });
  await buildProgram(fresh);
  await build({
    entryPoints: [join(ROOT, 'test/fixtures/upstreams/scripted-stdio.ts')],
    outfile: join(fresh, basename(SCRIPTED)),
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  });
  // Below `node_modules` Node does not look further up for what says of a program's own folder that files are modules: it
  // would read each twice.
  await writeFile(join(fresh, 'package.json'), '{ "type": "module" }\n');
  await mkdir(FOLDER, { recursive: true });
  // What it starts with comes last: what that asks for is there by then.
  for (const file of (await readdir(fresh)).toSorted((a, b) => Number(isMain(a)) - Number(isMain(b)))) {
    await rename(`${fresh}/${file}`, `${FOLDER}/${file}`);
  }
  await rm(fresh, { recursive: true });
}

const isMain = (file: string) => file === 'main.js';
