import type { Cell } from './cells.ts';
import { compare, passes, type Row } from './compare.ts';
import { type Expected, type Judged, judge } from './expected.ts';

/** One cell, run and judged. */
export interface Result extends Judged {
  readonly cell: string;
  readonly rows: readonly Row[];
  /** Demanded scenarios that pass; undefined where the version demands none. */
  readonly scored: { readonly of: number; readonly direct: number; readonly through: number } | undefined;
}

export async function evaluate(cell: Cell, expected: readonly Expected[]): Promise<Result> {
  const { direct, through } = await cell.run();
  const rows = compare(direct, through);
  const faults = rows.flatMap((row) => row.faults);
  return { cell: cell.id, rows, scored: scoredOf(cell, rows), ...judge(cell.id, faults, expected) };
}

function scoredOf({ scored }: Cell, rows: readonly Row[]): Result['scored'] {
  if (scored === undefined) {
    return undefined;
  }
  const demanded = rows.filter(({ scenario }) => scored.includes(scenario));
  return {
    of: scored.length,
    direct: demanded.filter((row) => passes(row.direct)).length,
    through: demanded.filter((row) => passes(row.through)).length,
  };
}
