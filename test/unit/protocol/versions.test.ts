import { describe, expect, it } from 'vitest';
import { PROTOCOL_VERSIONS } from '../../../src/config/upstream-settings.ts';
import {
  eraOf,
  isLegacy,
  isModern,
  mutualModern,
  negotiateLegacy,
  VERSIONS,
} from '../../../src/protocol/versions.ts';

describe('versions', () => {
  it('are the same in the configuration and in the protocol room', () => {
    expect(PROTOCOL_VERSIONS.toSorted()).toEqual(VERSIONS.toSorted());
  });

  it.each([
    ['2024-11-05', 'legacy'],
    ['2025-11-25', 'legacy'],
    ['2026-07-28', 'modern'],
    ['2027-01-01', 'modern'],
  ])('%s is %s, known or not', (version, era) => {
    expect(eraOf(version)).toBe(era);
  });

  it('answer a legacy client with its own version where spoken, else with the newest legacy one', () => {
    expect(negotiateLegacy('2025-03-26')).toBe('2025-03-26');
    expect(negotiateLegacy('1999-01-01')).toBe('2025-11-25');
    expect(negotiateLegacy('2026-07-28')).toBe('2025-11-25');
    expect(negotiateLegacy(undefined)).toBe('2025-11-25');
  });

  it('agree with a modern peer on the newest both speak', () => {
    expect(mutualModern(['2025-11-25', '2026-07-28'])).toBe('2026-07-28');
    expect(mutualModern(['2027-01-01'])).toBeUndefined();
  });

  it('know only what they list', () => {
    expect(isModern('2026-07-28')).toBe(true);
    expect(isModern('2025-11-25')).toBe(false);
    expect(isLegacy(undefined)).toBe(false);
  });
});
