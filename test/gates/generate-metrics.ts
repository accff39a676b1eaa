/**
 * Writes `docs/metrics.md` from the one table of metrics. Run it after a change of a row: `node test/gates/generate-metrics.ts`.
 * A gate test proves the page current.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { METRICS, type MetricRow } from '../../src/observe/metric-table.ts';

/** Path from the root of the repository. */
export const METRICS_PAGE = 'docs/metrics.md';

/** The page: fixed words around one row for each metric, in the order of the table. */
export function metricsPage(): string {
  const words = readFileSync(new URL('metrics-page.md', import.meta.url), 'utf8');
  const rows = Object.entries(METRICS).map(([name, row]) => rowText(name, row));
  const bounds = METRICS.patchbay_request_duration_seconds.bounds ?? [];
  return words
    .replace('<!-- rows -->', () => rows.join('\n'))
    .replace('<!-- bounds -->', () => bounds.join(', '));
}

function rowText(name: string, { type, labels, says }: MetricRow): string {
  const cells = [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(' '), says];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL(`../../${METRICS_PAGE}`, import.meta.url), metricsPage());
}
