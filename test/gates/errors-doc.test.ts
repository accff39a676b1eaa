import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorRow } from '../../src/base/error-table.ts';
import { ERRORS_PAGE, errorsPage } from './generate-errors.ts';
import { repositoryFiles, textOf } from './repository.ts';

const rows = Object.entries<ErrorRow>(ERRORS);

describe('the table of errors', () => {
  it('is what docs/errors.md says; run: node test/gates/generate-errors.ts', () => {
    expect(textOf(ERRORS_PAGE)).toBe(errorsPage());
    const documented = [...textOf(ERRORS_PAGE).matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
    expect(documented).toEqual(Object.keys(ERRORS));
  });

  it('has no row that nothing uses', () => {
    const sources = repositoryFiles()
      .filter((file) => /^src\/.*\.ts$/.test(file) && file !== 'src/base/error-table.ts')
      .map(textOf)
      .join('\n');
    expect(rows.map(([code]) => code).filter((code) => !sources.includes(`'${code}'`))).toEqual([]);
  });

  it.each(rows)('%s has a sentence fit for a stranger, and codes that go together', (_, row) => {
    expect(row.says).toMatch(/^[A-Z].*\.$/);
    expect(row.says).not.toMatch(/\/\w+\/|https?:|localhost|\bat \w+ \(/);
    // A model that reads the result of its call is told what to do about it, or that there is nothing to do.
    expect(row.result === true ? row.says : ';').toMatch(/;|\. [A-Z]/);
    // The numbers of JSON-RPC and of the specification; a result is no error of the protocol.
    expect([-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022]).toContain(row.rpc);
    expect(row.result === true ? row.rpc : -32603).toBe(-32603);
  });
});
