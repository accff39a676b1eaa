import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { asLine, without } from '../../../src/base/json.ts';

const name = fc.oneof(fc.constantFrom('a', 'b', '0', '1', '__proto__', 'constructor'), fc.string());
/** As a peer's text gives it: with members of any name, `__proto__` among them. */
const object = fc
  .array(fc.tuple(name, fc.jsonValue()))
  .map((members) => JSON.parse(JSON.stringify(Object.fromEntries(members))) as JsonObject);

describe('without', () => {
  it('is a copy from which the members were deleted, and the object itself where it has none of them', () => {
    fc.assert(
      fc.property(object, fc.array(name), (value, keys) => {
        const before = JSON.stringify(value);
        const copy: Record<string, unknown> = { ...value };
        for (const key of keys) {
          delete copy[key];
        }
        const rest = without(value, ...keys);
        expect(JSON.stringify(rest)).toBe(JSON.stringify(copy));
        expect(Object.getPrototypeOf(rest)).toBe(Object.prototype);
        expect(JSON.stringify(value)).toBe(before);
        expect(rest === value).toBe(Object.keys(copy).length === Object.keys(value).length);
      }),
    );
  });
});

describe('asLine', () => {
  it('is one line for readers of any kind, and means the same', () => {
    const value = { text: 'a\u2028b\u2029c\u2028', n: 1 };
    const line = asLine(JSON.stringify(value));
    expect(line.split(/[\n\r\u2028\u2029]/)).toHaveLength(2);
    expect(JSON.parse(line)).toEqual(value);
  });
});
