import { describe, expect, it } from 'vitest';
import { createLineReader, KEPT } from '../../../src/base/line-reader.ts';

function collect(maxBytes: number) {
  const lines: string[] = [];
  const overflows: Buffer[] = [];
  const skipped: { head: Buffer; tail: Buffer }[] = [];
  const reader = createLineReader(maxBytes, {
    line: (text) => lines.push(text),
    overflow: (head) => overflows.push(head),
    skipped: (head, tail) => skipped.push({ head, tail }),
  });
  return { reader, lines, overflows, skipped };
}

function inPieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
}

describe('line reader', () => {
  const text = 'read—é🎉';
  const bytes = Buffer.from(`${text}\n\r\n${text}${text}\r\nlast`, 'utf8');

  it.each([1, 2, 3, 5, 7, bytes.length])(
    'C-029: lines are bit-exact when bytes come %i at a time',
    (size) => {
      const { reader, lines } = collect(100_000);
      for (const piece of inPieces(bytes, size)) {
        reader.push(Buffer.from(piece));
      }
      expect(lines).toEqual([text, text + text]);
      reader.end();
      expect(lines).toEqual([text, text + text, 'last']);
    },
  );

  it('C-029: a border of 65,536 bytes inside a character harms nothing', () => {
    const { reader, lines } = collect(1_000_000);
    const long = `${'a'.repeat(65_534)}🎉${'é'.repeat(50_000)}`;
    for (const piece of inPieces(Buffer.from(`${long}\n`), 65_536)) {
      reader.push(piece);
    }
    expect(lines).toEqual([long]);
  });

  it('reuses no bytes of a chunk that its owner overwrites later', () => {
    const { reader, lines } = collect(100_000);
    const chunk = Buffer.from('begin');
    reader.push(chunk);
    chunk.fill('X');
    reader.push(Buffer.from(' end\n'));
    expect(lines).toEqual(['begin end']);
  });

  it.each([1, 1_000, 65_536, 1_000_000])(
    'a line past the bound is told once, skipped to its end, and the next one arrives (pieces of %i)',
    (size) => {
      const { reader, lines, overflows, skipped } = collect(10_000);
      const long = `HEAD${'x'.repeat(30_000)}TAIL`;
      for (const piece of inPieces(Buffer.from(`before\n${long}\nafter\n`), size)) {
        reader.push(piece);
      }
      expect(lines).toEqual(['before', 'after']);
      expect(overflows.map((head) => head.toString())).toEqual([long.slice(0, KEPT)]);
      expect(skipped.map(({ head, tail }) => [head.toString(), tail.toString()])).toEqual([
        [long.slice(0, KEPT), long.slice(-KEPT)],
      ]);
    },
  );

  it('takes a line of exactly the bound', () => {
    const { reader, lines, overflows } = collect(10_000);
    reader.push(Buffer.from(`${'x'.repeat(10_000)}\n`));
    expect(lines[0]).toHaveLength(10_000);
    expect(overflows).toEqual([]);
  });

  it('tells of an overflow before the line ends', () => {
    const { reader, overflows, skipped } = collect(10_000);
    reader.push(Buffer.alloc(10_001, 'x'));
    expect(overflows).toHaveLength(1);
    expect(skipped).toHaveLength(0);
    reader.end();
    expect(skipped).toHaveLength(1);
  });
});
