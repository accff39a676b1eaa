import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, repositoryFiles, textOf } from './repository.ts';

const files = repositoryFiles();
const manifest = JSON.parse(textOf('package.json'));

/** Everything that may stand at the top; a new entry is a decision. */
const TOP_LEVEL = [
  '.biome.json',
  '.ci',
  '.dependency-cruiser.cjs',
  '.dockerignore',
  '.github',
  '.gitignore',
  'CHANGELOG.md',
  'Dockerfile',
  'LICENSE',
  'README.md',
  'bench',
  'config',
  'docker-compose.yml',
  'docs',
  'package-lock.json',
  'package.json',
  'src',
  'test',
  'tsconfig.json',
];

/** Lines of a file that match a pattern, which must not be global. */
function linesOf(file: string, pattern: RegExp): readonly string[] {
  return textOf(file)
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}`] : []));
}

/** This file spells out what it looks for. */
const OWN = 'test/gates/repository.test.ts';
const texts = files.filter((file) => file !== OWN && !/\.(?:png|ico|gz|br|bin)$/.test(file));

describe('the repository', () => {
  it('has only what belongs there at its top', () => {
    const top = new Set(files.map((file) => file.split('/', 1)[0] ?? ''));
    expect([...top].filter((name) => !TOP_LEVEL.includes(name))).toEqual([]);
  });

  it('names no folder of the machine it was written on', () => {
    const folder = /(?:^|[^\w.$}])\/(?:work|root|Users|home\/(?!dev\b))\/\w/;
    expect(texts.flatMap((file) => linesOf(file, folder))).toEqual([]);
  });

  it('names no package registry', () => {
    const registry = /registry\.npmjs|npm\.pkg\.|yarnpkg\.com|artifactory|verdaccio/;
    expect(texts.flatMap((file) => linesOf(file, registry))).toEqual([]);
  });

  it('names no person', () => {
    const person = /@author|Signed-off-by|Co-authored-by|\w@(?!example\.)[a-z]\w*\.(?:com|org|net|dev|io)\b/;
    expect(texts.flatMap((file) => linesOf(file, person))).toEqual([]);
    expect(manifest).not.toHaveProperty('author');
    expect(manifest).not.toHaveProperty('contributors');
  });

  it('has a lock file of the same version that works with any registry', () => {
    const lock = JSON.parse(textOf('package-lock.json'));
    expect(lock.version).toBe(manifest.version);
    const packages = Object.entries<Record<string, unknown>>(lock.packages).filter(([path]) => path !== '');
    expect(packages.filter(([, entry]) => Object.hasOwn(entry, 'resolved')).map(([path]) => path)).toEqual(
      [],
    );
    expect(
      packages.filter(([, entry]) => typeof entry['integrity'] !== 'string').map(([path]) => path),
    ).toEqual([]);
  });

  it('runs every test it has', () => {
    const left =
      /\b(?:describe|it|test|suite)\.(?:skip|only|todo|fails)\b|\b(?:xit|fit|xdescribe|fdescribe)\(/;
    // It runs tests of its own, to see how they are counted.
    const tests = texts.filter((file) => /^test\/(?!unit\/kit\/closing-line\.)/.test(file));
    expect(tests.flatMap((file) => linesOf(file, left))).toEqual([]);
  });

  it('is checked in CI by what README.md says', () => {
    expect(statSync(join(ROOT, '.ci/run')).mode & 0o111).toBe(0o111);
    const commands = textOf('.ci/run')
      .split('\n')
      .filter((line) => /^\w/.test(line));
    expect(commands).toEqual(expect.arrayContaining(['set -euo pipefail', 'npm ci', 'npm test']));
    expect(textOf('README.md')).toContain('\nnpm ci && npm test\n');
    // `npm test` begins with everything `npm run check` has, and with a build.
    expect(manifest.scripts.pretest).toBe('npm run check && npm run --silent build');
    for (const part of ['lint', 'typecheck', 'rooms', 'dead']) {
      expect(manifest.scripts.check).toContain(`npm run --silent ${part}`);
    }
  });

  it('publishes what runs, under the licence that is there', () => {
    expect(textOf('LICENSE')).toMatch(/^MIT License\n/);
    expect(manifest.license).toBe('MIT');
    expect(manifest.engines).toEqual({ node: '>=22.19' });
    expect(manifest.bin).toEqual({ patchbay: 'dist/main.js' });
    expect(manifest.files).toEqual(expect.arrayContaining(['dist', 'README.md', 'CHANGELOG.md', 'LICENSE']));
    expect(textOf('src/main.ts')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});
