import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StringEnd } from '../../../src/base/string-end.ts';

/** What a string of JSON is made of, and what it must not hold. */
const part = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.string({ unit: 'binary', maxLength: 40 }).map((text) => JSON.stringify(text).slice(1, -1)),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom('\\\\', '\\"', '\\/', '\\n', '\\u00e4', '\\uD83D\\uDE00', '\\u12aF'),
  },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 300 }).map((length) => 'plain text '.repeat(length)) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 70 }).map((length) => '\\\\'.repeat(length)) },
);
const wrong = fc.constantFrom(
  '\u0000',
  '\n',
  '\u001f',
  '\\',
  '\\x',
  '\\u',
  '\\u12',
  '\\u123g',
  '\\u00/0',
  '\\u\\n',
  '"',
);
const text = fc
  .tuple(fc.array(part, { maxLength: 12 }), fc.option(wrong, { freq: 3 }), fc.array(part, { maxLength: 4 }))
  .map(([before, fault, after]) => [...before, fault ?? '', ...after].join(''));

/** Where the string ends by what `JSON.parse` says; -1: it is none. */
function endByParsing(bytes: Buffer): number {
  const json = bytes.toString('latin1');
  for (let quote = json.indexOf('"', 1); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    const [escapes = ''] = /\\*$/.exec(json.slice(0, quote)) ?? [];
    if (escapes.length % 2 === 0) {
      try {
        JSON.parse(json.slice(0, quote + 1));
        return quote + 1;
      } catch {
        return -1;
      }
    }
  }
  return -1;
}

/** Where it ends by looking at it in pieces that are cut at these places; -1 where it is none, or does not end. */
function endInPieces(bytes: Buffer, cuts: readonly number[]): number {
  const look = new StringEnd();
  const at = [...new Set(cuts.map((cut) => 1 + (cut % bytes.length)))].toSorted((one, other) => one - other);
  let start = 0;
  for (const end of [...at, bytes.length]) {
    const piece = bytes.subarray(start, end);
    const found = start === 0 ? look.first(piece, 1) : look.further(piece, 0);
    if (found !== undefined) {
      return found === -1 ? -1 : start + found;
    }
    start = end;
  }
  return -1;
}

describe('the end of a string in JSON that is still bytes', () => {
  it('is where parsing finds it, or nowhere where parsing fails, in whichever pieces the bytes come', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 5 }), fc.nat({ max: 40 }), (inner, cuts, before) => {
        // Of any length in front, so that everything comes to stand at every place of 16 bytes.
        const bytes = Buffer.from(`"${'.'.repeat(before)}${inner}",{"next":"\\q\u0001"}`);
        const expected = endByParsing(bytes);
        expect(endInPieces(bytes, [])).toBe(expected);
        expect(endInPieces(bytes, cuts)).toBe(expected);
        expect(endInPieces(bytes, [...bytes.keys()])).toBe(expected);
      }),
      { numRuns: 400 },
    );
  });

  it.each([16, 128, 1_024, 5_120, 65_536, 131_072, 200_000])(
    'is found behind about %i bytes, with an escape or a fault right there',
    (length) => {
      for (let more = -40; more < 40; more += 1) {
        const plain = 'x'.repeat(Math.max(0, length + more));
        for (const [end, is] of [
          ['"', true],
          ['\\""', true],
          ['\\u00e4"', true],
          ['\\\\"', true],
          ['\\u00g4"', false],
          ['\\', false],
          ['\u0007"', false],
          ['', false],
        ] as const) {
          const bytes = Buffer.from(`"${plain}${end}`);
          expect(endInPieces(bytes, [])).toBe(is ? bytes.length : -1);
        }
      }
    },
  );

  it('begins anew with every string', () => {
    const look = new StringEnd();
    expect(look.first(Buffer.from('"cut \\'), 1)).toBeUndefined();
    expect(look.first(Buffer.from('"""'), 1)).toBe(2);
    expect(look.first(Buffer.from('"cut \\u12'), 1)).toBeUndefined();
    expect(look.further(Buffer.from('ag'), 0)).toBe(-1);
    expect(look.first(Buffer.from('"cut \\u12'), 1)).toBeUndefined();
    expect(look.further(Buffer.from('af"'), 0)).toBe(3);
  });

  it('is the same for every byte that may be escaped, and for none besides', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      const may = '"\\/bfnrt'.includes(String.fromCharCode(byte)) && byte < 128;
      for (const before of [3, 300]) {
        const bytes = Buffer.from([0x22, ...Buffer.alloc(before, 0x61), 0x5c, byte, 0x61, 0x22]);
        expect(endInPieces(bytes, []), `${byte}`).toBe(may ? bytes.length : -1);
        const digit = Buffer.from([
          0x22,
          ...Buffer.alloc(before, 0x61),
          ...Buffer.from('\\u0'),
          byte,
          ...Buffer.from('00"'),
        ]);
        const isHex = /^[0-9a-fA-F]$/.test(String.fromCharCode(byte));
        expect(endInPieces(digit, []), `${byte}`).toBe(isHex ? digit.length : -1);
      }
    }
  });
});
