import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, build, type Metafile } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const HOW = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

/** The operator page runs in browsers of the last two years. */
const PAGE = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'browser',
  format: 'esm',
  target: ['chrome124', 'firefox125', 'safari17.4'],
  // Its own tsconfig builds upon one that is not there where only the program is built.
  tsconfigRaw: {},
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
};

/**
 * Builds the program with all that it needs into `folder`: Node finds, reads and links some 700 modules otherwise, which
 * takes longer than everything else at a start (docs/decisions/0034). `main.js` is what every start needs; what `import()`
 * asks for in `src` (the client of Redis, traces, the tokenizer) becomes files beside it, named `part-…`. Their line ends and indents are
 * left out, because V8 keeps a program's text for as long as it runs; names stay, for stack traces. Beside them are their
 * source maps, `ui.js` (the operator page, which is loaded when somebody opens it) and the licences of what is in them.
 */
export async function buildProgram(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await build({
    ...HOW,
    entryPoints: ['src/main.ts'],
    outdir: folder,
    splitting: true,
    chunkNames: 'part-[name]-[hash]',
    sourcemap: true,
    sourcesContent: false,
    minifyWhitespace: true,
    lineLimit: 160,
    // Its entry for `require` loads its parts by names that no bundler can follow.
    alias: {
      'jsonc-parser': join(ROOT, 'node_modules/jsonc-parser/lib/esm/main.js'),
      undici: join(ROOT, '.ci/undici.cjs'),
    },
    // What is in it and was written as CommonJS asks for parts of Node.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  for (const file of Object.keys(metafile.outputs).filter((name) => name.endsWith('.js'))) {
    keepOneByte(join(ROOT, file));
  }
  const page = await buildPage(join(folder, 'ui.js'));
  writeFileSync(join(folder, 'LICENSES.txt'), licences({ inputs: { ...metafile.inputs, ...page.inputs } }));
}

/**
 * What is left beyond ASCII stands in regular expressions. A single such sign makes V8 keep the whole text with two bytes
 * for each character, for as long as the process lives.
 */
function keepOneByte(file: string): void {
  const text = readFileSync(file, 'utf8');
  const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  writeFileSync(file, text.replaceAll(/[^\0-\x7f]/g, escaped));
}

/** The page as a module of its compressed files, by name; see `src/front/page.ts`. */
async function buildPage(outfile: string): Promise<Metafile> {
  const { outputFiles, metafile } = await build({
    ...PAGE,
    entryPoints: ['src/ui/main.tsx', 'src/ui/page.css'],
    entryNames: '[name]-[hash]',
    outdir: dirname(outfile),
    write: false,
  });
  const built = outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }));
  const named = (ending: string) => built.find(({ name }) => name.endsWith(ending))?.name ?? '';
  const index = read('src/ui/index.html').replace('main.js', named('.js')).replace('page.css', named('.css'));
  const digest = createHash('sha256').update(index).digest('base64url');
  const files = Object.fromEntries([
    ...built.map(({ name, contents }) => [name, compressed(extname(name), contents)]),
    ['', { ...compressed('.html', Buffer.from(index)), digest }],
  ]);
  writeFileSync(outfile, `export const FILES = ${JSON.stringify(files)};\n`);
  return metafile;
}

function compressed(ending: string, contents: Uint8Array) {
  return { type: TYPES[ending], gzip: gzipSync(contents, { level: 9 }).toString('base64') };
}

/** The licence of each package in the program, which its text asks to be kept with copies. */
function licences({ inputs }: Pick<Metafile, 'inputs'>): string {
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
