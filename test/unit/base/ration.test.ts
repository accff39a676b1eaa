import { expect, it } from 'vitest';
import { createRation, excerpt } from '../../../src/base/ration.ts';

it('grants so many a minute, and tells how many it withheld', () => {
  let now = 5;
  const ration = createRation(2, () => now);
  const takes = (count: number) => Array.from({ length: count }, () => ration.take());
  expect(takes(4)).toEqual([0, 0, undefined, undefined]);
  now += 59_999;
  expect(takes(1)).toEqual([undefined]);
  now += 1;
  expect(takes(3)).toEqual([3, 0, undefined]);
});

it('cuts a foreign text short and keeps it on one line', () => {
  expect(excerpt('a\r\nb\u001b[1m\u0085c')).toBe('a b [1m c');
  expect(excerpt('abc def', 5)).toBe('abc …');
});
