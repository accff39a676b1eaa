import { describe, expect, it } from 'vitest';
import { FINDINGS, type FindingRow } from '../../src/vetting/finding-table.ts';
import { FINDINGS_PAGE, findingsPage } from './generate-findings.ts';
import { repositoryFiles, textOf } from './repository.ts';

const rows = Object.entries<FindingRow>(FINDINGS);
const sources = repositoryFiles().filter(
  (file) => /^src\/.*\.ts$/.test(file) && file !== 'src/vetting/finding-table.ts',
);

describe('the table of findings', () => {
  it('is what docs/findings.md says; run: node test/gates/generate-findings.ts', () => {
    expect(textOf(FINDINGS_PAGE)).toBe(findingsPage());
  });

  it('has no row that nothing uses', () => {
    const code = sources.map(textOf).join('\n');
    expect(rows.map(([id]) => id).filter((id) => !code.includes(`'${id}'`))).toEqual([]);
  });

  it.each(rows)('%s has sentences fit for a stranger', (_, row) => {
    expect(row.says).toMatch(/^[A-Z].*\.$/);
    expect(row.advice).toMatch(/\.$/);
  });

  it('the page has every id that the catalog and the relay give', () => {
    const ids = sources
      .filter((file) => /^src\/(catalog|relay)\//.test(file))
      .flatMap((file) => [...textOf(file).matchAll(/(?:\bid: |leftOut\(|refused\()'([a-z]+\.[a-z-]+)'/g)])
      .map(([, id = '']) => id);
    expect(ids.length).toBeGreaterThan(10);
    expect([...new Set(ids)].filter((id) => !textOf(FINDINGS_PAGE).includes(`\`${id}\``))).toEqual([]);
  });
});
