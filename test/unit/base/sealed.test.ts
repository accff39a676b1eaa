import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSealer } from '../../../src/base/sealed.ts';

const [first, second, third] = [1, 2, 3].map(() => randomBytes(32)) as [Buffer, Buffer, Buffer];
const CONTENT = { sid: 'a', n: 1 };

describe('a key ring', () => {
  it('seals with the newest key, and opens what any of them has sealed', () => {
    const ring = createSealer(second, [first]);
    const old = createSealer(first).seal('session', CONTENT);
    const fresh = ring.seal('session', CONTENT);
    expect(ring.open('session', old)).toEqual(CONTENT);
    expect(ring.open('session', fresh)).toEqual(CONTENT);
    expect(createSealer(second).open('session', fresh)).toEqual(CONTENT);
    expect(createSealer(first).open('session', fresh)).toBeUndefined();
  });

  it('lets keys be changed one replica after the other: what one seals, each opens all the while', () => {
    // All of `first`; then `second` opens as well; then it seals; then `first` is taken out.
    const steps = [
      createSealer(first),
      createSealer(first, [second]),
      createSealer(second, [first]),
      createSealer(second),
    ];
    const tokens = steps.map((sealer) => sealer.seal('session', CONTENT));
    for (const [at, sealer] of steps.entries()) {
      for (const neighbour of [at - 1, at, at + 1].filter((each) => each in steps)) {
        expect(sealer.open('session', tokens[neighbour] ?? '')).toEqual(CONTENT);
      }
    }
    expect(steps[0]?.open('session', tokens[3] ?? '')).toBeUndefined();
  });

  it('opens nothing of other keys, of another purpose, or that was changed', () => {
    const ring = createSealer(second, [first]);
    const token = createSealer(first).seal('session', CONTENT);
    expect(ring.open('cursor', token)).toBeUndefined();
    expect(ring.open('session', createSealer(third).seal('session', CONTENT))).toBeUndefined();
    expect(ring.open('session', `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined();
    expect(ring.open('session', token, token.length - 1)).toBeUndefined();
  });

  it('refuses keys of any other length', () => {
    expect(() => createSealer(first, [randomBytes(16)])).toThrow(RangeError);
  });
});
