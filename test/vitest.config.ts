import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // Peers of other languages take their packages from their registries: a run of its own, `npm run test:interop`.
    exclude: ['test/interop/**'],
    // Two cores, but most of a file is waiting for processes, sockets and deadlines.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Patience of `expect.poll`: how long something may take on a loaded machine, not how long it should.
    expect: { poll: { timeout: 15_000 } },
    reporters: process.env['CI'] ? ['default', './test/kit/closing-line.ts'] : ['default'],
  },
});
