import { describe, expect, it } from 'vitest';
import { KeptPages } from '../../../src/relay/kept-pages.ts';

const TEXTS = ['{"name":"a"}', '{"name":"ü"}', '{"name":"☃"}'];

describe('pages of lists', () => {
  it.each([
    [0, 3],
    [1, 2],
    [2, 3],
    [0, 0],
  ])('from %i to before %i are these texts with commas, in UTF-8', (from, to) => {
    expect(new KeptPages().of(TEXTS, from, to)).toEqual(Buffer.from(TEXTS.slice(from, to).join(',')));
  });

  it('are made once, each for itself and for each list', () => {
    const pages = new KeptPages();
    const [whole, part, other] = [
      pages.of(TEXTS, 0, 3),
      pages.of(TEXTS, 0, 2),
      pages.of(TEXTS.toReversed(), 0, 3),
    ];
    expect(pages.of(TEXTS, 0, 3)).toBe(whole);
    expect(pages.of(TEXTS, 0, 2)).toBe(part);
    expect(new Set([whole, part, other].map(String)).size).toBe(3);
  });

  it('are not kept where one is larger than all may be together', () => {
    const pages = new KeptPages();
    const large = ['x'.repeat(17 * 1_048_576)];
    const small = pages.of(TEXTS, 0, 3);
    const [one, other] = [pages.of(large, 0, 1), pages.of(large, 0, 1)];
    expect([one === other, one.equals(other)]).toEqual([false, true]);
    expect(pages.of(TEXTS, 0, 3)).toBe(small);
  });
});
