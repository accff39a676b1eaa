import { passes, type Row, type Tally } from './compare.ts';
import type { Expected } from './expected.ts';
import type { Result } from './result.ts';

/** Results as text for a terminal, and as the tables of docs/conformance.md. */

const word = ({ passed, failed, warned }: Tally) =>
  failed > 0 ? 'fails' : warned > 0 ? 'warns' : passed > 0 ? 'passes' : 'nothing to check';

const sum = (rows: readonly Row[], way: 'direct' | 'through') =>
  rows.reduce((total, row) => total + row[way].passed, 0);

/** Everything about one cell: its scenarios, then what is wrong. */
export function terminalTable({ cell, rows, scored, open, excused, stale }: Result): string {
  const lines = rows.map((row) => [
    row.scenario,
    word(row.direct),
    word(row.through),
    `${row.through.passed} of ${row.direct.passed}`,
  ]);
  const all = [['scenario', 'direct', 'through', 'checks'], ...lines];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const table = all.map((line) =>
    line
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const demanded = scored === undefined ? '' : `, ${scored.through} of ${scored.of} demanded scenarios pass`;
  return [
    `\n${cell}: ${sum(rows, 'through')} of ${sum(rows, 'direct')} checks${demanded}`,
    ...table,
    ...open.map(
      (fault) =>
        `FAULT ${fault.scenario}:${fault.check} ${fault.direct} -> ${fault.through} ${fault.message}`,
    ),
    ...excused.map(({ fault, reason }) => `excused ${fault.scenario}:${fault.check}: ${reason.trim()}`),
    ...stale.map((excuse) => `STALE ${excuse} is excused and comes out as it does directly`),
    '',
  ].join('\n');
}

/** The tables of the page, and the excuses with their reasons. */
export function markdownTables(results: readonly Result[], expected: readonly Expected[]): string {
  const groups = [
    {
      title: 'Server scenarios',
      of: (cell: string) => /^\d/.test(cell),
      others: ['legacy', 'modern', 'dual'],
    },
    {
      title: 'Client scenarios',
      of: (cell: string) => cell.startsWith('client/'),
      others: ['legacy', 'modern'],
    },
  ];
  const extensions = results.filter(({ cell }) => /^(?:tasks|skills)\//.test(cell));
  return [
    '## Totals',
    overview(results),
    ...groups.map(
      ({ title, of, others }) =>
        `## ${title}\n\n${matrix(
          results.filter(({ cell }) => of(cell)),
          others,
        )}`,
    ),
    '## Extension scenarios',
    rowsOf(
      ['scenario', 'upstream', 'checks'],
      extensions.flatMap(({ cell, rows }) =>
        rows.map((row) => [`\`${row.scenario}\``, cell, `${row.through.passed} of ${row.direct.passed}`]),
      ),
    ),
    '## Excuses',
    excuses(expected),
  ].join('\n\n');
}

function overview(results: readonly Result[]): string {
  const lines = results.map(({ cell, rows, scored, excused, open }) => [
    cell,
    scored === undefined ? '' : `${scored.through} of ${scored.of}`,
    `${rows.filter((row) => passes(row.through)).length} of ${rows.length}`,
    `${sum(rows, 'through')} of ${sum(rows, 'direct')}`,
    String(excused.length),
    String(open.length),
  ]);
  return rowsOf(['cell', 'demanded scenarios', 'all scenarios', 'checks', 'excused', 'faults'], lines);
}

/** One row for each scenario, one column for each version, one mark for each kind of peer. */
function matrix(results: readonly Result[], others: readonly string[]): string {
  const versionOf = ({ cell }: Result) => cell.split('/').at(-2) ?? '';
  const versions = [...new Set(results.map(versionOf))];
  const scenarios = [
    ...new Set(results.flatMap(({ rows }) => rows.map(({ scenario }) => scenario))),
  ].toSorted();
  const mark = (scenario: string, version: string, other: string) => {
    const result = results.find((each) => versionOf(each) === version && each.cell.endsWith(`/${other}`));
    const row = result?.rows.find((each) => each.scenario === scenario);
    const open = result?.open.some((fault) => fault.scenario === scenario);
    return row === undefined ? undefined : open ? '✗' : row.faults.length > 0 ? '≈' : '✓';
  };
  const lines = scenarios.map((scenario) => [
    `\`${scenario}\``,
    ...versions.map((version) =>
      others
        .map((other) => mark(scenario, version, other) ?? '')
        .join(' ')
        .trim(),
    ),
  ]);
  return rowsOf(['scenario', ...versions], lines);
}

function excuses(expected: readonly Expected[]): string {
  const lines = expected.map(({ scenario, checks, cells, reason }) => [
    `\`${scenario}\``,
    checks.map((check) => `\`${check}\``).join(', '),
    cells.join(', '),
    reason.trim().replaceAll(/\s+/g, ' '),
  ]);
  return rowsOf(['scenario', 'checks', 'cells', 'reason'], lines);
}

function rowsOf(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [row(head), row(head.map(() => '---')), ...lines.map(row)].join('\n');
}
