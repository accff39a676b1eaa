import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/interop/*.test.ts'],
    globalSetup: ['test/kit/build-program.ts', 'test/interop/install.ts'],
    maxWorkers: 2,
    testTimeout: 30_000,
    // A file starts up to eighteen servers, most of them in Python.
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    reporters: process.env['CI'] ? ['default', './test/kit/closing-line.ts'] : ['default'],
  },
});
