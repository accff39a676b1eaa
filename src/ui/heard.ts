import type { Call, Change, Heard, Numbered } from './live.tsx';
import type { Told } from './live-feed.ts';

export const NOTHING: Heard = { calls: [], changes: [] };

/** Most calls and changes that are kept. */
const MOST = 500;

let last = 0;

/** With what came, the newest first. */
export function heardMore(before: Heard, told: readonly Told[]): Heard {
  const calls: Numbered<Call>[] = [];
  const changes: Numbered<Change>[] = [];
  for (const each of told.toReversed()) {
    last += 1;
    if (each.event === 'call') {
      calls.push({ ...each, number: last });
    } else if (each.event !== 'begin') {
      changes.push({ ...each, number: last });
    }
  }
  return {
    calls: [...calls, ...before.calls].slice(0, MOST),
    changes: [...changes, ...before.changes].slice(0, MOST),
  };
}

/** The median time of each upstream in the calls that are kept, in ms. */
export function latencyOf(calls: readonly Call[]): ReadonlyMap<string, number> {
  const times = new Map<string, number[]>();
  for (const { upstream, upstreamMs } of calls) {
    if (upstream !== undefined && upstreamMs !== undefined) {
      times.set(upstream, [...(times.get(upstream) ?? []), upstreamMs]);
    }
  }
  return new Map(
    [...times].map(([id, all]) => [
      id,
      all.toSorted((one, other) => one - other)[Math.floor(all.length / 2)] ?? 0,
    ]),
  );
}
