import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MOST_LEVELS, readJson } from '../../../src/protocol/json-text.ts';

const LARGE = 1_048_576;
const nested = (open: string, close: string, levels: number) =>
  open.repeat(levels) + 1 + close.repeat(levels);

describe('readJson', () => {
  it('reads what JSON.parse reads, whatever is in it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.string({ maxLength: 2_000 }), (value, more) => {
        const text = JSON.stringify([value, more, '\\"'.repeat(600)], undefined, 2);
        expect(readJson(text, LARGE)).toEqual({ kind: 'value', value: JSON.parse(text) });
      }),
    );
  });

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
    ['{"0":', '}'],
    ['[{"a":"]]]{{{\\\\\\""},', ']'],
  ])('bounds the depth of %s', (open, close) => {
    const levels = MOST_LEVELS - 1;
    expect(readJson(nested(open, close, levels), LARGE * 16).kind).toBe('value');
    expect(readJson(nested(open, close, MOST_LEVELS + 1), LARGE * 16)).toMatchObject({
      kind: 'excessive',
      excess: expect.stringContaining('levels'),
    });
  });

  it('bounds the parts by the size that a message may have, and counts none that stand in a string', () => {
    const parts = LARGE / 16;
    expect(readJson(`[${'{},'.repeat(parts - 2)}{}]`, LARGE).kind).toBe('value');
    expect(readJson(`[${'{},'.repeat(parts)}{}]`, LARGE).kind).toBe('excessive');
    expect(readJson(JSON.stringify('{},'.repeat(parts)), LARGE).kind).toBe('value');
    expect(readJson(`[${'{},'.repeat(4_000)}{}]`, 1).kind).toBe('value');
  });

  it.each(['', '{', '"', `"${'\\'.repeat(5_001)}"`, `[${'"'.repeat(3_001)}`, 'x'.repeat(5_000)])(
    'is not JSON: %.10s',
    (text) => {
      expect(readJson(text, LARGE).kind).toBe('not-json');
    },
  );
});
