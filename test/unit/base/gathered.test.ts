import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Gathered } from '../../../src/base/gathered.ts';

/** A large piece, or a short one. */
const piece = fc.oneof(
  fc.uint8Array({ maxLength: 20 }),
  fc.uint8Array({ minLength: 4_000, maxLength: 5_000 }),
);
const bytesOf = (length: number) => Buffer.from(Array.from({ length }, (_, at) => at % 251));

function gathered(pieces: readonly Uint8Array[]): readonly Buffer[] {
  const all = new Gathered();
  for (const each of pieces) {
    all.add(Buffer.from(each));
  }
  expect(all.length).toBe(Buffer.concat(pieces).length);
  const taken = all.take();
  expect([all.length, all.take()]).toEqual([0, []]);
  return taken;
}

describe('pieces that are gathered', () => {
  it('are the bytes that came, in their order', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        expect(Buffer.concat(gathered(pieces)).equals(Buffer.concat(pieces))).toBe(true);
      }),
    );
  });

  it('are as they were where there is one, or large ones', () => {
    const [small, large] = [Buffer.from('x'), bytesOf(100_000)];
    const all = new Gathered();
    all.add(small);
    expect(all.take()[0]).toBe(small);
    all.add(small);
    all.add(large);
    all.add(large);
    expect(all.take()).toEqual([small, large, large]);
  });

  it('are few however many came', () => {
    const bytes = bytesOf(300_000);
    const taken = gathered(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
    expect(taken.length).toBeLessThan(10);
    expect(Buffer.concat(taken).equals(bytes)).toBe(true);
  });

  it('hold no more memory than they are long, also where short and long ones take turns', () => {
    const long = bytesOf(4_096);
    const pieces = Array.from({ length: 2_000 }, (_, at) => (at % 2 === 0 ? long.subarray(0, 1) : long));
    const memory = new Set(gathered(pieces).map(({ buffer }) => buffer));
    const held = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(held).toBeLessThan(2 * Buffer.concat(pieces).length);
  });
});
