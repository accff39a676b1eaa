/**
 * Writes `docs/findings.md` from the one table of findings. Run it after a change of a row:
 * `node test/gates/generate-findings.ts`. A gate test proves the page current.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { FINDINGS } from '../../src/vetting/finding-table.ts';

/** Path from the root of the repository. */
export const FINDINGS_PAGE = 'docs/findings.md';

/** The page: fixed words around one row for each finding, in the order of the table. */
export function findingsPage(): string {
  const words = readFileSync(new URL('findings-page.md', import.meta.url), 'utf8');
  return words
    .replace('<!-- said -->', () => rows((id) => !id.startsWith('pin.')))
    .replace('<!-- pinned -->', () => rows((id) => id.startsWith('pin.')));
}

function rows(wanted: (id: string) => boolean): string {
  return Object.entries(FINDINGS)
    .filter(([id]) => wanted(id))
    .map(([id, { severity, says, advice }]) => {
      const cells = [`\`${id}\``, severity, says, advice];
      return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
    })
    .join('\n');
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL(`../../${FINDINGS_PAGE}`, import.meta.url), findingsPage());
}
