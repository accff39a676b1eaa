import { describe, expect, it } from 'vitest';
import { CASES_PAGE, caseRows, casesPage, provenCases } from './generate-cases.ts';
import { textOf } from './repository.ts';

const rows = caseRows();

describe('the page of cases', () => {
  it('names the tests that prove each case; run: node test/gates/generate-cases.ts', () => {
    expect(textOf(CASES_PAGE)).toBe(casesPage());
  });

  it('has one row for each case, in order, and for every case that a test names', () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(60);
    expect(ids).toEqual([...new Set(ids)].toSorted());
    expect([...provenCases().keys()].filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('says why, where a case is not proven', () => {
    const proven = provenCases();
    expect(rows.filter(({ id, left }) => !proven.has(id) && left === '')).toEqual([]);
  });
});
