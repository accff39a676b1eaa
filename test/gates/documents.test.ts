import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, repositoryFiles, textOf } from './repository.ts';

const files = repositoryFiles();
const scripts: Readonly<Record<string, string>> = JSON.parse(textOf('package.json')).scripts;

/** Every page a reader of the repository may open. */
const pages = files.filter((file) => file.endsWith('.md') && !file.startsWith('test/'));

/** First members of a path in this repository; texts such as `text/event-stream` are none. */
const TOP = /^(?:src|test|docs|config|bench|\.ci|\.github)\/|^[\w.-]+\.(?:md|json|ya?ml|cjs)$/;
/** Files that users have, not this repository. */
const FOREIGN = new Set([
  'team.yaml',
  'gateway.yaml',
  'my-gateway.yaml',
  'server.json',
  'patchbay.lock.json',
]);

/** Paths a page names: in code, and as targets of links. Patterns (`*`) and places (`<id>`) are no paths. */
function pathsIn(page: string): readonly string[] {
  const text = textOf(page).replaceAll(/^```.*?^```$/gms, '');
  const named = [...text.matchAll(/`([^`\s]+)`/g)].map(([, path = '']) => path);
  const linked = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
  return [
    ...named.filter((path) => TOP.test(path) && !/[*<>{}]/.test(path) && !FOREIGN.has(path)),
    ...linked.map((target) => normalize(join(dirname(page), target))),
  ];
}

describe('documents', () => {
  it.each(pages)('%s names only what exists', (page) => {
    expect(pathsIn(page).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('docs/architecture.md has a row for every file of src, and no other', () => {
    const rows = [...textOf('docs/architecture.md').matchAll(/^\| `(src\/[^`]+)` \|/gm)].map(
      ([, file]) => file,
    );
    expect(rows.toSorted()).toEqual(files.filter((file) => file.startsWith('src/')).toSorted());
  });

  it('docs/architecture.md and CONTRIBUTING say of every room what it is for', () => {
    const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `src/${name}`);
    const headings = [...textOf('docs/architecture.md').matchAll(/^### `([^`]+)`$/gm)].map(
      ([, room]) => room,
    );
    expect(headings.toSorted()).toEqual(rooms.toSorted());
    const belongs = [...textOf('.github/CONTRIBUTING.md').matchAll(/^\| .* \| `(src\/\w+)` \|$/gm)];
    expect(belongs.map(([, room]) => room).toSorted()).toEqual(rooms.toSorted());
  });

  it('npm scripts that documents name exist', () => {
    const used = pages.flatMap((page) =>
      [...textOf(page).matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name = '']) => name),
    );
    expect(used.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it('README.md is short and leads to every page of docs', () => {
    expect(textOf('README.md').split('\n').length).toBeLessThanOrEqual(150);
    const linked = pathsIn('README.md');
    const top = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page));
    expect(top.filter((page) => !linked.includes(page))).toEqual([]);
    expect(linked).toEqual(expect.arrayContaining(['docs/decisions', 'CHANGELOG.md', 'LICENSE']));
  });

  it('CHANGELOG.md has a place for what comes and an entry for this version', () => {
    const { version } = JSON.parse(textOf('package.json'));
    const changelog = textOf('CHANGELOG.md');
    expect(changelog).toContain('## [Unreleased]');
    expect(changelog).toMatch(
      new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm'),
    );
  });
});

describe('decisions', () => {
  const decisions = files.filter((file) => file.startsWith('docs/decisions/')).toSorted();

  it('are numbered without a gap', () => {
    const numbers = decisions.map((file) => /^docs\/decisions\/(\d{4})-[a-z0-9-]+\.md$/.exec(file)?.[1]);
    expect(numbers).toEqual(decisions.map((_, index) => String(index + 1).padStart(4, '0')));
  });

  it.each(decisions)('%s is one page with its reasons', (file) => {
    const text = textOf(file);
    // Rows of a table are for looking up, not for reading through.
    const read = text.split('\n').filter((line) => !line.startsWith('|'));
    expect(read.length).toBeLessThanOrEqual(41);
    expect(text).toMatch(
      new RegExp(
        `^# ${Number(/\d{4}/.exec(file)?.[0])}\\. .+\\n\\n\\d{4}-\\d\\d-\\d\\d · (?:accepted|superseded by \\d+)\\n`,
      ),
    );
    for (const heading of ['**Context.**', '**Choice.**', '**Given up.**']) {
      expect(text).toContain(`\n${heading} `);
    }
  });

  it('give a reason for every package that is in the program, and for no other', () => {
    const table = textOf('docs/decisions/0010-dependencies.md').matchAll(
      /^\| (@?[a-z][\w/@.-]*) \| .* \| (?:MIT|ISC|Apache-2\.0|BlueOak-1\.0\.0|BSD-\d-Clause) \|/gm,
    );
    const sources = files.filter((file) => /^src\/.*\.tsx?$/.test(file)).map(textOf);
    const imported = sources.flatMap((text) =>
      [...text.matchAll(/(?:from |import\()'((?:@[a-z][\w-]*\/)?[a-z][\w.-]*)(?:\/[^']*)?'/g)].map(
        ([, name]) => name,
      ),
    );
    expect([...table].map(([, name]) => name).toSorted()).toEqual([...new Set(imported)].toSorted());
    // They are in the one file that is shipped: an install brings nothing else.
    expect(JSON.parse(textOf('package.json')).dependencies).toBeUndefined();
  });
});
