import { describe, expect, it } from 'vitest';
import { allCells } from './cells.ts';
import { readExpected } from './expected.ts';
import { evaluate } from './result.ts';

/** Longest run of one cell on a busy machine, in ms. */
const LONGEST_MS = 120_000;

/** The cells with the most in them; `npm run conformance` has all. */
const CELLS = [
  { id: '2025-11-25/dual', demanded: 30 },
  { id: '2026-07-28/dual', demanded: 37 },
  { id: 'tasks/raw', demanded: undefined },
];

describe('the official suite through the gateway', () => {
  const cells = new Map(allCells().map((cell) => [cell.id, cell]));
  const expected = readExpected();

  it.each(CELLS)(
    '$id: every check comes out as it does directly',
    { timeout: LONGEST_MS },
    async ({ id, demanded }) => {
      const cell = cells.get(id);
      const { rows, open, stale, scored } = await evaluate(cell!, expected);
      expect(rows.reduce((sum, { direct }) => sum + direct.failed + direct.warned, 0)).toBe(0);
      expect(scored?.direct).toBe(demanded);
      expect(open).toEqual([]);
      expect(stale).toEqual([]);
    },
  );
});
