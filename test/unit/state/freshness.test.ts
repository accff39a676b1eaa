import { describe, expect, it } from 'vitest';
import { Freshness } from '../../../src/state/freshness.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const MINUTE = 60_000;

describe('a message of another replica', () => {
  it('counts once, and later ones go on counting', () => {
    const [one, other] = [new Freshness(), new Freshness()];
    const first = one.stamp(NOW);
    const second = one.stamp(NOW);
    expect(other.judge('one', first, NOW)).toBe('fresh');
    expect(other.judge('one', first, NOW)).toBe('repeated');
    expect(other.judge('one', second, NOW)).toBe('fresh');
    expect(other.judge('one', first, NOW)).toBe('repeated');
  });

  it('counts for nothing when a later one was heard before: it was held back', () => {
    const [one, other] = [new Freshness(), new Freshness()];
    const [held, later] = [one.stamp(NOW), one.stamp(NOW)];
    expect(other.judge('one', later, NOW)).toBe('fresh');
    expect(other.judge('one', held, NOW)).toBe('repeated');
  });

  it.each([
    { said: -5 * MINUTE - 1, verdict: 'stale' },
    { said: -5 * MINUTE, verdict: 'fresh' },
    { said: 5 * MINUTE, verdict: 'fresh' },
    { said: 5 * MINUTE + 1, verdict: 'stale' },
  ])('said $said ms from now is $verdict to a replica that has just started', ({ said, verdict }) => {
    expect(new Freshness().judge('one', new Freshness().stamp(NOW + said), NOW)).toBe(verdict);
  });

  it.each([{}, { n: 1 }, { at: NOW }, { n: '1', at: NOW }, { n: 1, at: null }])(
    'without a stamp is stale: %j',
    (stamp) => {
      expect(new Freshness().judge('one', stamp, NOW)).toBe('stale');
    },
  );

  it('of a replica that is forgotten is too old by then, however far ahead its clock was', () => {
    const [gone, here, living] = [new Freshness(), new Freshness(), new Freshness()];
    const last = gone.stamp(NOW + 5 * MINUTE);
    expect(here.judge('gone', last, NOW)).toBe('fresh');
    let now = NOW;
    while (here.remembered !== 1 || now === NOW) {
      now += 1_000;
      expect(here.judge('living', living.stamp(now), now)).toBe('fresh');
      expect(here.judge('gone', last, now)).not.toBe('fresh');
      expect(now).toBeLessThan(NOW + 60 * MINUTE);
    }
    expect(here.judge('gone', last, now)).toBe('stale');
  });
});
