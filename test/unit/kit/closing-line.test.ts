import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { compileCache } from '../../kit/compile-cache.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const folder = mkdtempSync(join(tmpdir(), 'closing-line-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The last line that a run over these test files prints, and its exit code. */
function lastLine(files: Readonly<Record<string, string>>): {
  line: string | undefined;
  code: number | null;
} {
  const run = mkdtempSync(join(folder, 'run-'));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(run, name), text);
  }
  const reporter = join(ROOT, 'test/kit/closing-line.ts');
  const { stdout, status } = spawnSync(
    process.execPath,
    [VITEST, 'run', '--globals', '--root', run, '--reporter', 'default', '--reporter', reporter],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], ...compileCache, CI: '1' } },
  );
  return { line: stdout.trimEnd().split('\n').at(-1), code: status };
}

it('counts what passed, failed and was skipped; a file that does not load and an error that no test caught are failures', () => {
  const files = {
    'a.test.ts': "import './nowhere.ts'; it('a', () => {});",
    'b.test.ts': "it('b', () => {}); Promise.reject(new Error('stray'));",
    'c.test.ts': `
      it('c', () => {}); it('d', () => {});
      it('e', () => expect(1).toBe(2));
      it.skip('f', () => {}); it.todo('g'); it.todo('h');`,
  };
  // A failed test, a file and an error.
  expect(lastLine(files)).toEqual({ line: '3 passed, 3 failed, 3 skipped', code: 1 });
});

it('a good run ends with nothing but its count', () => {
  expect(lastLine({ 'a.test.ts': "it('a', () => {});" })).toEqual({
    line: '1 passed, 0 failed, 0 skipped',
    code: 0,
  });
});
