import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest by far, most of it in other programs. */
const LONGEST = [
  'conformance/conformance',
  'e2e/docker',
  'ui/page',
  'e2e/stdio-front',
  'soak/soak',
  'cluster/cluster',
  'e2e/sdk-parity',
  'faults/storm',
  'hostile/stdio',
  'hostile/clients',
  'hostile/http',
  'e2e/matrix',
  'e2e/readme',
];

/** A file that starts last leaves a core idle, and a fresh clone has no times of an earlier run to go by. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      LONGEST.some((name) => moduleId.endsWith(`/test/${name}.test.ts`));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    globalSetup: 'test/kit/build-program.ts',
    // `kit/spent.mjs` asks for it.
    setupFiles: process.env['PATCHBAY_SPENT'] === undefined ? [] : ['test/kit/spending.mjs'],
    include: ['test/**/*.test.ts'],
    // Peers of other languages take their packages from their registries: a run of its own, `npm run test:interop`.
    exclude: ['test/interop/**'],
    // Two cores, but most of a file is waiting for processes, sockets and deadlines.
    maxWorkers: 4,
    // Files run one after the other in a worker that has loaded the packages once, which costs more than most tests.
    isolate: false,
    // Node imports the sources as they are, as it does in production: nothing has to be transformed for each worker.
    experimental: { viteModuleRunner: false },
    sequence: { sequencer: LongestFirst },
    // Programs that tests start find their code compiled, `kit/compile-cache.ts`.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'patchbay-compile-cache') },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Patience of `expect.poll`: how long something may take on a loaded machine, not how long it should.
    expect: { poll: { timeout: 15_000 } },
    reporters: process.env['CI'] ? ['default', './test/kit/closing-line.ts'] : ['default'],
  },
});
