import { Session } from 'node:inspector/promises';

/** How often each function of `src`, and each block in it, ran: `<file>:<function>` to a number. */
export type Work = ReadonlyMap<string, number>;

/** Counts what this process does while `run` runs: no clock, so a loaded machine does not matter. */
export async function workOf(run: () => Promise<unknown>): Promise<Work> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    // What ran before is taken, and so not counted.
    await session.post('Profiler.takePreciseCoverage');
    await run();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const counts = new Map<string, number>();
    for (const { url, functions } of result) {
      const [, file] = /\/src\/(.+\.ts)/.exec(url) ?? [];
      for (const { functionName, ranges } of file === undefined ? [] : functions) {
        const count = ranges.reduce((sum, range) => sum + range.count, 0);
        if (count > 0) {
          const name = `${file}:${functionName}`;
          counts.set(name, (counts.get(name) ?? 0) + count);
        }
      }
    }
    return counts;
  } finally {
    await session.post('Profiler.stopPreciseCoverage');
    session.disconnect();
  }
}
