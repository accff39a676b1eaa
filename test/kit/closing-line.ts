import { writeSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** What the closing line counts. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Counts the tests of a run. A file that failed outside its tests (it would not load, a hook threw) and an error that
 * no test caught count as one failure each: they must not hide behind tests that passed.
 */
export function tally(modules: readonly TestModule[], stray: number): Tally {
  const counts = { passed: 0, failed: stray, skipped: 0 };
  for (const module of modules) {
    let failedInside = false;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // A test still pending at the end never ran: the run was broken off.
      const kind = state === 'pending' ? 'failed' : state;
      counts[kind] += 1;
      failedInside ||= kind === 'failed';
    }
    if (module.state() === 'failed' && !failedInside) {
      counts.failed += 1;
    }
  }
  return counts;
}

export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** Prints the tally as the very last line of a run, alone on it, for machines that read the log of a build. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], stray: readonly unknown[]): void {
    const line = closingLine(tally(modules, stray.length));
    // Other reporters write after this hook; what is written while the process ends comes after all of them.
    process.once('exit', () => writeSync(1, `\n${line}\n`));
  }
}
