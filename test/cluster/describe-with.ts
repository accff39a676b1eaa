import { describe } from 'vitest';
import { isInstalled } from './programs.ts';

/** Tests that need these programs: left out, with a line that says so, where one is not installed; never in CI. */
export function describeWith(programs: readonly string[], name: string, tests: () => void): void {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length > 0 && process.env['CI'] !== undefined) {
    throw new Error(`not installed: ${missing.join(', ')}`);
  }
  describe.skipIf(missing.length > 0)(
    missing.length === 0 ? name : `${name} (not installed: ${missing.join(', ')})`,
    tests,
  );
}
