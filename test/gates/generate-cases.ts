/**
 * Writes the column "Proven by" of `docs/cases.md` from the titles of the tests. Run it after a test of a case was added
 * or moved: `node test/gates/generate-cases.ts`. A gate test proves the page current.
 */
import { writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { repositoryFiles, textOf } from './repository.ts';

/** Path from the root of the repository. */
export const CASES_PAGE = 'docs/cases.md';

const ROW = /^\| (C-\d{3}) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$/;
/** A string literal on one line; a comment that names a case proves nothing. */
const LITERAL = /(['"`])((?:(?!\1).)*)\1/g;

export interface CaseRow {
  readonly id: string;
  /** Why it is not proven, or not in full; empty where nothing is left. */
  readonly left: string;
}

export function caseRows(): readonly CaseRow[] {
  return textOf(CASES_PAGE)
    .split('\n')
    .flatMap((line) => {
      const [, id, , , left = ''] = ROW.exec(line) ?? [];
      return id === undefined ? [] : [{ id, left: left.trim() }];
    });
}

/** Case to the files whose tests name it, as the page writes them. The kit's own tests are about the kit. */
export function provenCases(): ReadonlyMap<string, readonly string[]> {
  const cases = new Map<string, Set<string>>();
  for (const file of repositoryFiles().filter((each) =>
    /^test\/(?!unit\/kit\/|gates\/).*\.test\.ts$/.test(each),
  )) {
    const code = textOf(file)
      .split('\n')
      .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
      .map((line) => line.replace(/\s\/\/.*$/, ''));
    const texts = code.flatMap((line) => [...line.matchAll(LITERAL)].map(([, , text = '']) => text));
    for (const [id] of texts.join('\n').matchAll(/C-\d{3}/g)) {
      const files = cases.get(id) ?? new Set();
      cases.set(id, files.add(file.replace(/^test\/(.*)\.test\.ts$/, '$1')));
    }
  }
  return new Map([...cases].map(([id, files]) => [id, [...files].toSorted()]));
}

/** The page with its column made anew; everything else as it is. */
export function casesPage(): string {
  const proven = provenCases();
  const renewed = textOf(CASES_PAGE)
    .split('\n')
    .map((line) => {
      const [, id, about = '', , left = ''] = ROW.exec(line) ?? [];
      if (id === undefined) {
        return line;
      }
      const files = proven.get(id)?.map((file) => `\`${file}\``) ?? ['–'];
      return `| ${id} | ${about} | ${files.join(' ')} |${left}|`;
    });
  return renewed.join('\n');
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL(`../../${CASES_PAGE}`, import.meta.url), casesPage());
}
