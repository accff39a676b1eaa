import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest by far, most of it in other programs, longest first. */
const LONGEST = [
  'faults/storm',
  'e2e/docker',
  'e2e/stdio-front',
  'conformance/conformance',
  'cluster/cluster',
  'e2e/sdk-parity',
  'ui/page',
  'e2e/cases-processes',
  'hostile/stdio',
  'hostile/clients',
  'hostile/http',
  'e2e/matrix',
  'e2e/tasks',
  'e2e/changes',
  'e2e/readme',
  'soak/soak',
  'unit/upstream/own-connections',
  'e2e/ids',
  'clients/restart',
  'clients/replay',
  'isolation/crowd',
  'scale/crowd',
];

/** A file that starts last leaves a core idle, and a fresh clone has no times of an earlier run to go by. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
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
    env: {
      // Programs that tests start find their code compiled, `kit/compile-cache.ts`.
      NODE_COMPILE_CACHE: join(tmpdir(), 'patchbay-compile-cache'),
      // A worker starts hundreds of them. Linux copies a page of its memory when it is written to next, and large pages are
      // few (glibc).
      GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
    },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Patience of `expect.poll`: how long something may take on a loaded machine, not how long it should.
    expect: { poll: { timeout: 15_000 } },
    reporters: process.env['CI'] ? ['default', './test/kit/closing-line.ts'] : ['default'],
  },
});
