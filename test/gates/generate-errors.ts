/**
 * Writes `docs/errors.md` from the one table of errors. Run it after a change of a row: `node test/gates/generate-errors.ts`.
 * A gate test proves the page current.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { ERRORS, type ErrorRow } from '../../src/base/error-table.ts';

/** Path from the root of the repository. */
export const ERRORS_PAGE = 'docs/errors.md';

/** The page: fixed words around one row for each error, in the order of the table. */
export function errorsPage(): string {
  const words = readFileSync(new URL('errors-page.md', import.meta.url), 'utf8');
  const rows = Object.entries(ERRORS).map(([code, row]) => rowText(code, row));
  return words.replace('<!-- rows -->', () => rows.join('\n'));
}

function rowText(code: string, row: ErrorRow): string {
  const cells = [
    `\`${code}\``,
    row.result === true ? 'result' : 'error',
    String(row.rpc),
    String(row.http),
    row.log,
    row.says,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL(`../../${ERRORS_PAGE}`, import.meta.url), errorsPage());
}
