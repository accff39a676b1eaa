import { expect, it } from 'vitest';
import { OPEN } from '../../../src/catalog/screen.ts';
import { Twins } from '../../../src/catalog/twins.ts';
import { list, tool } from './parts.ts';

it('the same tools under other names are another catalog, and those under the same names are one', () => {
  const twins = new Twins();
  const tools = list('tools', [tool('read')]);
  const catalogOf = (renamed?: string) => {
    const named = renamed === undefined ? {} : { renamed: new Map([['read', renamed]]) };
    const part = {
      upstream: 'one',
      namespace: 'one',
      lists: { tools: { ...tools, ...named } },
      stale: false,
    };
    return twins.catalog([part], { separator: '.', maxLength: 128 }, OPEN);
  };
  const [plain, fetched, again] = [catalogOf(), catalogOf('fetch'), catalogOf('fetch')];
  const names = [plain, fetched, again].map(({ catalog }) => catalog.entries.tools[0]?.exposed.dotted);
  expect(names).toEqual(['one.read', 'one.fetch', 'one.fetch']);
  expect([fetched.isTwin, again.isTwin]).toEqual([false, true]);
});
