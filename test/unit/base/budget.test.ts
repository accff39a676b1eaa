import { describe, expect, it } from 'vitest';
import { Budget } from '../../../src/base/budget.ts';

function keeping(bytes: number) {
  const budget = new Budget<string>(bytes);
  const dropped: string[] = [];
  return {
    budget,
    dropped,
    hold: (key: string, size: number) => budget.hold(key, size, () => dropped.push(key)),
  };
}

describe('a budget of bytes', () => {
  it('lets what was used longest ago go first', () => {
    const { budget, dropped, hold } = keeping(100);
    hold('a', 40);
    hold('b', 40);
    budget.touch('a');
    hold('c', 40);
    expect(dropped).toEqual(['b']);
    expect(budget.used).toBe(80);
  });

  it('counts what has grown or shrunk anew, and what is released no more', () => {
    const { budget, dropped, hold } = keeping(100);
    hold('a', 40);
    hold('a', 70);
    expect(budget.used).toBe(70);
    hold('b', 30);
    expect(dropped).toEqual([]);
    budget.release('a');
    hold('c', 70);
    expect(dropped).toEqual([]);
    expect(budget.used).toBe(100);
  });

  it('drops at once what is larger than all of it, and what was counted under its key', () => {
    const { budget, dropped, hold } = keeping(100);
    hold('a', 40);
    hold('b', 30);
    hold('a', 101);
    expect(dropped).toEqual(['a']);
    expect(budget.used).toBe(30);
  });

  it('keeps nothing where there are no bytes', () => {
    const { budget, dropped, hold } = keeping(0);
    hold('a', 0);
    hold('b', 10);
    expect(dropped).toEqual(['a', 'b']);
    expect(budget.used).toBe(0);
  });
});
