import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOf, Pieces } from '../../../src/base/pieces.ts';

function cut(bytes: Buffer, cuts: readonly number[]): Pieces {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted(
    (one, other) => one - other,
  );
  return new Pieces(at.slice(1).map((end, index) => bytes.subarray(at[index], end)));
}

const cuts = fc.array(fc.nat(), { maxLength: 6 });
const text = fc.string({ unit: fc.constantFrom('a', 'ö', '€', '😀', '"'), maxLength: 60 });

describe('bytes in pieces', () => {
  it('are what they are in one, in whole and in part', () => {
    fc.assert(
      fc.property(text, cuts, fc.nat(), fc.nat(), (of, at, one, other) => {
        const bytes = Buffer.from(of);
        const pieces = cut(bytes, at);
        const [from = 0, to = 0] = [one % (bytes.length + 1), other % (bytes.length + 1)].toSorted(
          (a, b) => a - b,
        );
        expect(pieces.length).toBe(bytes.length);
        expect(pieces.joined()).toEqual(bytes);
        expect(pieces.between(from, to).joined()).toEqual(bytes.subarray(from, to));
        expect(pieces.toString()).toBe(of);
        expect(pieces.toString('latin1', from, to)).toBe(bytes.toString('latin1', from, to));
      }),
    );
  });

  it('are never taken for UTF-8 where they are not, and are known as such where pieces are not tiny', () => {
    const fault = fc.tuple(fc.nat(), fc.constantFrom(0x80, 0xbf, 0xc3, 0xe2, 0xf0, 0xff, 0x41));
    fc.assert(
      fc.property(text, cuts, fc.array(fault, { maxLength: 2 }), (of, at, faults) => {
        const bytes = Buffer.from(`${of}.`);
        for (const [where, byte] of faults) {
          bytes[where % bytes.length] = byte;
        }
        const pieces = cut(bytes, at);
        if (pieces.isUtf8 || pieces.all.every(({ length }) => length >= 4)) {
          expect(pieces.isUtf8).toBe(isUtf8(bytes));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('are found without a look at all that come before, since a message has a name for every few bytes', () => {
    let looks = 0;
    const counted = new Proxy(
      Array.from({ length: 1_000 }, (_, at) => Buffer.from(`${at},`)),
      {
        get(all, key, receiver) {
          looks += key === 'length' ? 0 : 1;
          return Reflect.get(all, key, receiver) as unknown;
        },
      },
    );
    const pieces = new Pieces(counted);
    const at = pieces.toString().indexOf(',990,') + 1;
    looks = 0;
    expect(pieces.between(at, at + 3).toString()).toBe('990');
    expect(looks).toBeLessThan(5);
  });

  it('are put together where they are few, or small', () => {
    const large = Buffer.alloc(65_536, 97);
    expect(bytesOf([])).toEqual(Buffer.alloc(0));
    expect(bytesOf([large])).toBe(large);
    expect(bytesOf([large, Buffer.from('b')])).toEqual(Buffer.concat([large, Buffer.from('b')]));
    expect(bytesOf([large, large, large])).toBeInstanceOf(Pieces);
    expect(bytesOf(Array.from({ length: 1_000 }, () => large.subarray(0, 1_000)))).toBeInstanceOf(Buffer);
  });
});
