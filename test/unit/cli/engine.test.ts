import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const MODULE = new URL('../../../src/cli/engine.ts', import.meta.url).href;
/** Holds some 30 MB and has all of it looked through. */
const PROGRAM = `
  (await import('${MODULE}')).growFreely();
  globalThis.held = Array.from({ length: 300_000 }, (_, at) => ({ at, name: 'item ' + at }));
  gc();
`;
/** Besides, V8 leaves room for its young generation. */
const YOUNG_KB = 20_000;

it('lets the heap grow to three times what was left, whatever V8 makes of the load', async () => {
  const flags = ['--expose-gc', '--trace-gc', '--trace-gc-verbose', '--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  const said = [...stdout.matchAll(/\[HeapController\] Limit: old size: (\d+) KB, new limit: (\d+) KB/g)].at(
    -1,
  );
  const [left = 0, limit = 0] = said?.slice(1).map(Number) ?? [];
  expect(left).toBeGreaterThan(10_000);
  expect(limit).toBeGreaterThanOrEqual(3 * left);
  expect(limit).toBeLessThan(3 * left + YOUNG_KB);
});

/** Calls a small function until V8 has compiled it for good, and says how often that took. */
const CALLED = `
  if (process.env.EARLY === 'true') {
    (await import('${MODULE}')).compileEarly();
  }
  const work = (n) => { return n + 1; };
  let calls = 0;
  // Bit 5 of its status (V8: OptimizationStatus).
  for (; calls < 20_000 && (%GetOptimizationStatus(work) & 32) === 0; calls += 1) {
    work(calls);
  }
  console.log(calls);
`;

it('has V8 compile for good sooner', async () => {
  // Not beside this thread: how far that gets depends on what else the machine does.
  const compiler = ['--no-concurrent-recompilation', '--no-use-osr'];
  const flags = ['--allow-natives-syntax', ...compiler, '--input-type=module', '--eval', CALLED];
  const calls = (early: boolean) =>
    promisify(execFile)(process.execPath, flags, { env: { EARLY: String(early) } });
  const [early, itself] = await Promise.all([calls(true), calls(false)]);
  expect(Number(early.stdout)).toBeGreaterThan(0);
  expect(Number(early.stdout)).toBeLessThan(Number(itself.stdout) / 2);
});
