import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CompiledSchemas } from '../../../src/vetting/compiled-schemas.ts';
import { asObject, compiled, type Dialect, PEERS, plain, schemas, VALUE } from './random-schemas.ts';

/** A check of ours has to come to what the most widespread validator comes to, on schemas that nobody thought of. */

describe.each(Object.keys(PEERS) as Dialect[])('%s', (dialect) => {
  it('comes to what ajv comes to, and says what is wrong wherever something is', () => {
    const { uri, make } = PEERS[dialect];
    const one = schemas(dialect);
    const tuple = fc.tuple(one, one, one, fc.array(VALUE, { minLength: 3, maxLength: 6 }));
    let compared = 0;
    fc.assert(
      fc.property(tuple, (drawn) => {
        const [root, first, second, values] = plain(drawn);
        const two = { ...asObject(second), $anchor: 'named' };
        const schema = { ...asObject(root), $schema: uri, $defs: { one: first, two } };
        const theirs = compiled(make, schema);
        const ours = new CompiledSchemas();
        for (const value of theirs === undefined ? [] : values) {
          const verdict = ours.judge(schema, value);
          if (verdict.fits !== undefined) {
            compared += 1;
            expect(verdict.fits).toBe(theirs?.(value));
          }
          if (verdict.fits === false) {
            expect(verdict.problems.length).toBeGreaterThan(0);
          }
        }
      }),
      { numRuns: 80, seed: 7 },
    );
    expect(compared).toBeGreaterThan(150);
  });
});
