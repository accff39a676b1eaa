import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Fault } from './compare.ts';

/** A check that cannot come out as it does directly, with the reason, which must not be the gateway. */
export interface Expected {
  readonly scenario: string;
  readonly checks: readonly string[];
  /** Ids of the cells in which that is so. */
  readonly cells: readonly string[];
  readonly reason: string;
}

export interface Judged {
  /** Faults that nothing excuses. */
  readonly open: readonly Fault[];
  readonly excused: readonly { readonly fault: Fault; readonly reason: string }[];
  /** Excuses that are not needed any more, as `scenario:check`. */
  readonly stale: readonly string[];
}

export function readExpected(): readonly Expected[] {
  return parse(readFileSync(new URL('expected.yaml', import.meta.url), 'utf8')) ?? [];
}

/** Tells the faults of one cell that are excused from those that are not. */
export function judge(cell: string, faults: readonly Fault[], expected: readonly Expected[]): Judged {
  const excuses = expected
    .filter(({ cells }) => cells.includes(cell))
    .flatMap(({ scenario, checks, reason }) => checks.map((check) => ({ scenario, check, reason })));
  const excuseFor = (fault: Fault) =>
    excuses.find(({ scenario, check }) => scenario === fault.scenario && check === fault.check);
  return {
    open: faults.filter((fault) => excuseFor(fault) === undefined),
    excused: faults.flatMap((fault) => {
      const reason = excuseFor(fault)?.reason;
      return reason === undefined ? [] : [{ fault, reason }];
    }),
    stale: excuses
      .filter((excuse) => !faults.some((fault) => excuseFor(fault) === excuse))
      .map(({ scenario, check }) => `${scenario}:${check}`),
  };
}
