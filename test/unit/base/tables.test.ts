import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByNumber } from '../../../src/base/by-number.ts';
import { Linked, type Place } from '../../../src/base/linked.ts';

/** Numbers that are put in and taken out, in any order; few enough to meet each other. */
const steps = (most: number) =>
  fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: most })), { maxLength: 400 });

describe('values by number', () => {
  it.each([40, 500, 100_000])('are those of a map, whatever comes and goes among %i numbers', (most) => {
    fc.assert(
      fc.property(steps(most), (all) => {
        const table = new ByNumber<string>();
        const map = new Map<number, string>();
        for (const [puts, number] of all) {
          if (puts) {
            table.set(number, `${number} ${map.size}`);
            map.set(number, `${number} ${map.size}`);
          } else {
            expect(table.delete(number)).toBe(map.delete(number));
          }
          expect(table.size).toBe(map.size);
          expect(table.get(number)).toBe(map.get(number));
        }
        const sorted = [...map].sort(([a], [b]) => a - b).map(([, value]) => value);
        expect(table.values()).toEqual(sorted);
      }),
      { numRuns: 50 },
    );
  });

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, '7', undefined])(
    'have none for %j, which is no such number',
    (key) => {
      const table = new ByNumber<string>();
      table.set(7, 'seven');
      expect(table.get(key)).toBeUndefined();
    },
  );
});

describe('linked values', () => {
  it('are those of a set, in its order, whatever comes and goes', () => {
    fc.assert(
      fc.property(steps(30), (all) => {
        const linked = new Linked<number>();
        const places = new Map<number, Place<number>>();
        for (const [puts, number] of all) {
          const place = places.get(number);
          if (puts && place === undefined) {
            places.set(number, linked.add(number));
          } else if (!puts && place !== undefined) {
            linked.remove(place);
            linked.remove(place);
            places.delete(number);
          }
          expect(linked.values()).toEqual([...places.keys()]);
          expect(linked.size).toBe(places.size);
          expect(linked.first?.value).toBe([...places.keys()][0]);
        }
      }),
      { numRuns: 50 },
    );
  });
});
