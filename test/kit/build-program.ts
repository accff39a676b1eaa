import { globSync, statSync } from 'node:fs';
import { cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
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
  await (isBuilt() ? cp(BUILT, fresh, { recursive: true }) : buildProgram(fresh));
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

const BUILT = join(ROOT, 'dist');
/** What the program is made of; folders, since what is taken out of one leaves no other trace. */
const SOURCES = ['src', 'src/**', '.ci/*', 'package-lock.json', 'node_modules/.package-lock.json'];

/** `npm test` builds `dist` just before: it is taken as it is where it is whole and everything else is older. */
function isBuilt(): boolean {
  const times = (patterns: readonly string[]) =>
    globSync(patterns, { cwd: ROOT }).map((file) => statSync(join(ROOT, file)).mtimeMs);
  // The first file of a build, and the last.
  const built = times(['dist/main.js', 'dist/LICENSES.txt']);
  return built.length === 2 && Math.max(...times(SOURCES)) < Math.min(...built);
}

const isMain = (file: string) => file === 'main.js';
