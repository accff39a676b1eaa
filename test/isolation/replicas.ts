import { expect } from 'vitest';

/**
 * The whole suite runs on several replicas as well, each request at the next one: `PATCHBAY_TEST_REPLICAS=2`. Nobody may
 * see more for that. What each replica keeps for itself (docs/cluster.md) is the only thing that may differ:
 *
 * - answers are read once by each replica, so a server is asked so many times at most: {@link expectOnce};
 * - calls at once, streams and calls that wait are counted by each, so a limit is divided: {@link share};
 * - a cursor goes on at any replica, and so after a restart, for whoever it is of (test/isolation/cursors);
 * - `/api` and `/readyz` tell of the replica that answers.
 */
export const REPLICAS = Number(process.env['PATCHBAY_TEST_REPLICAS'] ?? 1);

/** Each of these was asked once, by one process or by each that needed it. */
export function expectOnce(counts: readonly number[]): void {
  for (const count of counts) {
    expect(count, `of ${counts.join(', ')}`).toBeGreaterThanOrEqual(1);
    expect(count, `of ${counts.join(', ')}`).toBeLessThanOrEqual(REPLICAS);
  }
}

/** What one replica may give of a limit that holds for all of them together: even numbers can be divided. */
export function share(limit: number): number {
  return Math.max(1, limit / REPLICAS);
}
