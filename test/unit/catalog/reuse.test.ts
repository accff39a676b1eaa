import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sameJson } from '../../../src/catalog/reuse.ts';

const value = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<unknown>;

it('says of JSON what a comparison of any objects says', () => {
  fc.assert(
    fc.property(value, value, (one, other) => {
      expect(sameJson(one, other)).toBe(isDeepStrictEqual(one, other));
      expect(sameJson(one, JSON.parse(JSON.stringify(one)))).toBe(
        isDeepStrictEqual(one, JSON.parse(JSON.stringify(one))),
      );
    }),
  );
});

it.each([
  ['the order of members', '{"a":1,"b":[2]}', '{"b":[2],"a":1}', true],
  ['the order of elements', '[1,2]', '[2,1]', false],
  ['a member more', '{"a":1}', '{"a":1,"b":null}', false],
  ['another member', '{"a":1,"b":2}', '{"a":1,"c":2}', false],
  ['a name that every object has', '{"toString":1}', '{"other":1}', false],
  ['an own __proto__', '{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}', false],
  ['null and an object', 'null', '{}', false],
  ['an array and an object', '[]', '{}', false],
  ['an array and what looks like one', '["x"]', '{"0":"x","length":1}', false],
  ['zero and minus zero', '[0]', '[-0]', false],
])('%s', (_what, one, other, same) => {
  expect(sameJson(JSON.parse(one), JSON.parse(other))).toBe(same);
  expect(sameJson(JSON.parse(other), JSON.parse(one))).toBe(same);
});
