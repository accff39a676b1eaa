import type { Check, Report, Status } from './suite.ts';

/** What a gateway changed, judged check by check. */

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly warned: number;
}

/** A check that came out worse through the gateway. */
export interface Fault {
  readonly scenario: string;
  readonly check: string;
  readonly direct: Status | 'absent';
  readonly through: Status | 'absent';
  readonly message: string;
}

export interface Row {
  readonly scenario: string;
  readonly direct: Tally;
  readonly through: Tally;
  readonly faults: readonly Fault[];
}

/** Worst first: what an id counts as that occurs several times. */
const SEVERITY: readonly Status[] = ['FAILURE', 'WARNING', 'SUCCESS', 'SKIPPED', 'INFO'];

/** One row for each scenario that ran directly or through the gateway. */
export function compare(direct: Report, through: Report): readonly Row[] {
  const scenarios = [...new Set([...direct.keys(), ...through.keys()])];
  return scenarios.map((scenario) => {
    const before = direct.get(scenario) ?? [];
    const after = through.get(scenario) ?? [];
    return {
      scenario,
      direct: tally(before),
      through: tally(after),
      faults: faultsOf(scenario, before, after),
    };
  });
}

export function tally(checks: readonly Check[]): Tally {
  const count = (wanted: Status) => checks.filter(({ status }) => status === wanted).length;
  return { passed: count('SUCCESS'), failed: count('FAILURE'), warned: count('WARNING') };
}

/** Counted as the suite counts: a scenario passes when nothing in it failed. */
export function passes({ failed }: Tally): boolean {
  return failed === 0;
}

function faultsOf(scenario: string, before: readonly Check[], after: readonly Check[]): readonly Fault[] {
  const ids = [...new Set([...before, ...after].map(({ id }) => id))];
  return ids.flatMap((check) => {
    const direct = worst(before, check);
    const through = worst(after, check);
    const worse =
      direct?.status === 'SUCCESS' ? through?.status !== 'SUCCESS' : isBad(through) && !isBad(direct);
    return worse || (direct?.status === 'WARNING' && through?.status === 'FAILURE')
      ? [
          {
            scenario,
            check,
            direct: direct?.status ?? 'absent',
            through: through?.status ?? 'absent',
            message: through?.errorMessage ?? '',
          },
        ]
      : [];
  });
}

function worst(checks: readonly Check[], id: string): Check | undefined {
  const same = checks.filter((check) => check.id === id);
  return same.toSorted((one, other) => SEVERITY.indexOf(one.status) - SEVERITY.indexOf(other.status))[0];
}

function isBad(check: Check | undefined): boolean {
  return check?.status === 'FAILURE' || check?.status === 'WARNING';
}
