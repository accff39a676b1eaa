import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

/** Programs of the peers; a language that this machine does not have is absent. */
export interface Installed {
  /** Interpreters, by the name of the SDK generation they have. */
  readonly python?: { readonly mcp1: string; readonly mcp2: string };
  /** The peer built from `go/`. */
  readonly go?: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly interop: Installed;
  }
}

const HERE = fileURLToPath(new URL('.', import.meta.url));
const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'patchbay-interop');
/** For a whole environment from the package registries, on a slow line. */
const INSTALL_TIMEOUT = 600_000;

const run = promisify(execFile);

/** Brings the peers here, once for each set of pinned versions; later runs find them in the cache. */
export default async function setup(project: TestProject): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const python = await versionOf('python3', '--version');
  const go = await versionOf('go', 'version');
  project.provide('interop', {
    ...(python === undefined
      ? {}
      : {
          python: {
            mcp1: await pythonWith('requirements-mcp1.txt', python),
            mcp2: await pythonWith('requirements-mcp2.txt', python),
          },
        }),
    ...(go === undefined ? {} : { go: await goPeer(go) }),
  });
}

/** What the tool says its version is; undefined where there is no such tool, which CI does not put up with. */
async function versionOf(tool: string, argument: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(tool, [argument]);
    return stdout.trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || process.env['CI']) {
      throw new Error(`interop: ${tool} is needed and does not run`, { cause: error });
    }
    process.stderr.write(`interop: there is no ${tool} here, so everything that needs it is skipped\n`);
    return undefined;
  }
}

async function pythonWith(requirements: string, version: string): Promise<string> {
  const file = join(HERE, requirements);
  const folder = await cached(`python-${digest(version, readFileSync(file, 'utf8'))}`, async (target) => {
    await run('python3', ['-m', 'venv', target]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--requirement', file];
    await run(join(target, 'bin/python'), pip, { timeout: INSTALL_TIMEOUT });
  });
  return join(folder, 'bin/python');
}

async function goPeer(version: string): Promise<string> {
  const source = join(HERE, 'go');
  const texts = readdirSync(source).map((name) => readFileSync(join(source, name), 'utf8'));
  const folder = await cached(`go-${digest(version, ...texts)}`, async (target) => {
    const build = ['build', '-mod=readonly', '-buildvcs=false', '-o', join(target, 'interop'), '.'];
    await run('go', build, { cwd: source, timeout: INSTALL_TIMEOUT });
  });
  return join(folder, 'interop');
}

/** A folder of the cache, filled beside it and moved there whole: neither a broken run nor a second one harms it. */
async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(CACHE, name);
  if (existsSync(folder)) {
    return folder;
  }
  process.stderr.write(`interop: installing ${name}\n`);
  const beside = await mkdtemp(join(CACHE, 'new-'));
  try {
    await fill(beside);
    await rename(beside, folder).catch((error: NodeJS.ErrnoException) => {
      // Another run was first with the same thing.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') {
        throw error;
      }
    });
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
  return folder;
}

function digest(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 12);
}
