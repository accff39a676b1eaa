import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { CompiledSchemas } from '../../../src/vetting/compiled-schemas.ts';
import { schemaChanges } from '../../../src/vetting/schema-growth.ts';
import { schemasIn } from '../../../src/vetting/schemas.ts';
import { asObject, compiled, type Dialect, PEERS, plain, schemas, VALUE } from './random-schemas.ts';

/** What is said of a change has to be true of every value, on schemas and changes that nobody thought of. */

const RUNS = Number(process.env['PATCHBAY_GROWTH_RUNS'] ?? 150);
const ODD = ['if', 'then', 'else', 'contains', 'minContains', 'maxContains'] as const;

const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items', 'enum']);

type Change = readonly [at: number, how: 'drop' | 'take' | 'merge' | 'list', by: unknown];

/** Another schema that differs in a place or two: keywords of another one come, go, or change theirs. */
function changed(schema: JsonObject, changes: readonly Change[]): JsonObject {
  const copy = plain(schema);
  for (const [at, how, by] of changes) {
    const parts = [...schemasIn(copy)].map((part) => part.schema as Record<string, unknown>);
    const part = parts[at % parts.length] ?? {};
    const keys = Object.keys(part);
    const key = keys[at % Math.max(1, keys.length)];
    const theirs = Object.entries(asObject(by) as object);
    const list = key !== undefined && LISTS.has(key) ? part[key] : undefined;
    if (how === 'drop' && key !== undefined) {
      delete part[key];
    } else if (how === 'list' && Array.isArray(list)) {
      // One alternative or choice more or fewer.
      part[key ?? ''] = at % 2 === 0 || list.length === 1 ? [...list, by] : list.slice(1);
    } else if (how === 'merge') {
      Object.assign(part, Object.fromEntries(theirs.slice(0, 1)));
    } else {
      Object.assign(part, Object.fromEntries(theirs.filter(([name]) => keys.includes(name)).slice(0, 1)));
    }
  }
  return copy;
}

it.each(Object.keys(PEERS) as Dialect[])(
  '%s: wider lets in all that fitted, narrower nothing else',
  (dialect) => {
    const { uri, make } = PEERS[dialect];
    const one = schemas(dialect, ODD);
    const how = fc.constantFrom('drop' as const, 'take' as const, 'merge' as const, 'list' as const);
    const changes = fc.array(fc.tuple(fc.nat(40), how, one), { minLength: 1, maxLength: 2 });
    const drawn = fc.tuple(one, one, changes, fc.array(VALUE, { minLength: 8, maxLength: 14 }));
    const told = { wider: 0, narrower: 0 };
    const checks = new CompiledSchemas();
    fc.assert(
      fc.property(drawn, (given) => {
        const [root, first, by, values] = plain(given);
        const before = { ...asObject(root), $schema: uri, $defs: { one: first, two: { $anchor: 'named' } } };
        const after = changed(before, by as readonly Change[]);
        const effects = new Set(schemaChanges(before, after).map(({ effect }) => effect));
        effects.delete('harmless');
        const [way, other] = [...effects];
        if (other !== undefined || (way !== 'wider' && way !== 'narrower')) {
          return;
        }
        const [small, large] = way === 'wider' ? [before, after] : [after, before];
        const judges = [(schema: JsonObject, value: unknown) => checks.judge(schema, value).fits];
        // Where ajv is known to depart from the specification it is not asked.
        if (!/"(?:contains|unevaluated\w+|\$ref)"/.test(JSON.stringify([before, after]))) {
          const [theirSmall, theirLarge] = [compiled(make, small), compiled(make, large)];
          judges.push(
            (schema, value) => (schema === small ? theirSmall : theirLarge)?.(value) as boolean | undefined,
          );
        }
        for (const judge of judges) {
          for (const value of values) {
            const [fitted, fits] = [judge(small, value), judge(large, value)];
            if (fitted === true && fits !== undefined) {
              told[way] += 1;
              expect({ fits, value, before, after }).toMatchObject({ fits: true });
            }
          }
        }
      }),
      { numRuns: RUNS, seed: RUNS === 150 ? 11 : Date.now() },
    );
    expect(told.wider).toBeGreaterThan(RUNS / 10);
    expect(told.narrower).toBeGreaterThan(RUNS / 20);
  },
);
