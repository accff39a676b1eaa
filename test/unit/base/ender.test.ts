import { describe, expect, it } from 'vitest';
import { Ender } from '../../../src/base/ender.ts';
import { pause } from '../../../src/base/time.ts';

describe('what is told to end', () => {
  it('tells everybody once, with the first reason', () => {
    const ender = new Ender();
    const told: string[] = [];
    ender.addEventListener('abort', () => told.push('first'));
    ender.addEventListener('abort', () => told.push(`second, because of ${String(ender.reason)}`));
    expect(ender.aborted).toBe(false);
    ender.abort('this');
    ender.abort('that');
    expect(told).toEqual(['first', 'second, because of this']);
    expect([ender.aborted, ender.reason]).toEqual([true, 'this']);
  });

  it('does not tell those who listen no more, those whom another has just taken out, or those who come late', () => {
    const ender = new Ender();
    const told: string[] = [];
    const gone = () => told.push('gone');
    const outdone = () => told.push('outdone');
    ender.addEventListener('abort', gone);
    ender.addEventListener('abort', () => ender.removeEventListener('abort', outdone));
    ender.addEventListener('abort', outdone);
    ender.removeEventListener('abort', gone);
    ender.abort('now');
    ender.addEventListener('abort', () => told.push('late'));
    expect(told).toEqual([]);
  });

  it('ends a pause like the signal of an AbortController', async () => {
    const ender = new Ender();
    const paused = pause(600_000, ender);
    ender.abort('now');
    await paused;
    await pause(600_000, ender);
  });
});
