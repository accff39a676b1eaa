import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Builds the program with all that it needs into one file, `main.js` in `folder`: Node finds, reads and links some 700
 * modules otherwise, which takes longer than everything else at a start (docs/decisions/0034). Beside it are its source
 * map and the licences of what is in it.
 */
export async function buildProgram(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/main.ts'],
    outfile: join(folder, 'main.js'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    // Its entry for `require` loads its parts by names that no bundler can follow.
    alias: { 'jsonc-parser': join(ROOT, 'node_modules/jsonc-parser/lib/esm/main.js') },
    // What is in it and was written as CommonJS asks for parts of Node.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  writeFileSync(join(folder, 'LICENSES.txt'), licences(metafile));
}

/** The licence of each package in the program, which its text asks to be kept with copies. */
function licences({ inputs }: Metafile): string {
  const folders = new Set(
    Object.keys(inputs).flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []),
  );
  return [...folders]
    .toSorted()
    .map((folder) => {
      const { name, version, license } = JSON.parse(read(join(folder, 'package.json'))) as Manifest;
      return `${name} ${version} (${license})\n\n${licenceText(folder)}\n`;
    })
    .join(`${'-'.repeat(80)}\n`);
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

function licenceText(folder: string): string {
  for (const name of ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'license', 'License.txt']) {
    try {
      return read(join(folder, name));
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw thrown;
      }
    }
  }
  return '';
}

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

if (argv[1] === fileURLToPath(import.meta.url)) {
  await buildProgram(join(dirname(dirname(argv[1])), 'dist'));
}
