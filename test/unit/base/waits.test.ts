import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Waits } from '../../../src/base/waits.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('many who wait', () => {
  it('are told when their time is over, each once, however long others wait', () => {
    const told: string[] = [];
    const waits = new Waits<string>((name) => told.push(name));
    waits.add('long', 500);
    waits.add('short', 100);
    vi.advanceTimersByTime(50);
    waits.add('shorter by its start', 500);
    vi.advanceTimersByTime(49);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(told).toEqual(['short']);
    vi.advanceTimersByTime(399);
    expect(told).toEqual(['short']);
    vi.advanceTimersByTime(1);
    expect(told).toEqual(['short', 'long']);
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual(['short', 'long', 'shorter by its start']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are told nothing once they do not wait any more, and keep no timer each', () => {
    const told: number[] = [];
    const waits = new Waits<number>((each) => told.push(each));
    const all = Array.from({ length: 1_000 }, (_, each) => waits.add(each, 100));
    expect(vi.getTimerCount()).toBe(1);
    for (const wait of all.filter((_, each) => each % 2 === 0)) {
      waits.remove(wait);
      waits.remove(wait);
    }
    vi.advanceTimersByTime(100);
    expect(told).toEqual(Array.from({ length: 500 }, (_, at) => 2 * at + 1));
  });

  it('may wait again when they are told', () => {
    const told: number[] = [];
    const waits = new Waits<string>((name) => {
      told.push(performance.now());
      waits.add(name, 30);
    });
    const began = performance.now();
    waits.add('again', 30);
    vi.advanceTimersByTime(100);
    expect(told.map((time) => time - began)).toEqual([30, 60, 90]);
  });
});
