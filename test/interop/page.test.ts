import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { interopPage, PAGE } from './page.ts';

it('docs/interop.md is what the suite runs; run: npm exec -- node test/interop/page.ts', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(interopPage());
  expect(interopPage()).not.toContain('?');
});
