// Runs the official suite directly and through a gateway, and prints what the gateway changed:
// `node test/conformance/run.ts [--only 2025-11-25/legacy,tasks] [--write]`. Exits 1 when a check comes out worse through
// the gateway and expected.yaml does not say why. `--write` renews the tables of docs/conformance.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { allCells } from './cells.ts';
import { readExpected } from './expected.ts';
import { evaluate, type Result } from './result.ts';
import { suiteVersion } from './suite.ts';
import { markdownTables, terminalTable } from './table.ts';

const { values } = parseArgs({ options: { only: { type: 'string' }, write: { type: 'boolean' } } });
const wanted = values.only?.split(',');
const cells = allCells().filter(({ id }) => wanted?.some((name) => id.startsWith(name)) ?? true);
const expected = readExpected();

const results: Result[] = [];
for (const cell of cells) {
  const result = await evaluate(cell, expected);
  process.stdout.write(terminalTable(result));
  results.push(result);
}

const wrong = results.filter(({ open, stale }) => open.length > 0 || stale.length > 0);
process.stdout.write(`\n${cells.length} cells, ${wrong.length} with faults or stale excuses\n`);
process.exitCode = wrong.length > 0 || cells.length === 0 ? 1 : 0;

if (values.write === true) {
  if (wanted !== undefined) {
    throw new Error('--write needs every cell: leave --only out');
  }
  const page = new URL('../../docs/conformance.md', import.meta.url);
  const mark = '<!-- Everything below is written by test/conformance/run.ts -->';
  const [above = ''] = readFileSync(page, 'utf8').split(mark);
  const suite = `Suite: \`@modelcontextprotocol/conformance\` ${suiteVersion()}.`;
  writeFileSync(page, `${above}${mark}\n\n${suite}\n\n${markdownTables(results, expected)}\n`);
}
