/** A clock and timers that only a test moves, so that nothing waits and nothing depends on how fast the machine is. */
export interface Timeline {
  readonly now: () => number;
  readonly schedule: (ms: number, run: () => void) => () => void;
  /** Moves on, running what is due in order; what that sets going has settled when the promise does. */
  advance(ms: number): Promise<void>;
  /** How many timers wait. */
  readonly waiting: number;
}

/** Lets every promise that can settle without time passing do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

export function createTimeline(): Timeline {
  let time = 1_000_000;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  const due = (until: number) =>
    [...timers].filter(({ at }) => at <= until).toSorted((one, other) => one.at - other.at)[0];
  return {
    now: () => time,
    schedule(ms, run) {
      const timer = { at: time + ms, run };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    async advance(ms) {
      const until = time + ms;
      await settle();
      for (let next = due(until); next !== undefined; next = due(until)) {
        timers.delete(next);
        time = next.at;
        next.run();
        await settle();
      }
      time = until;
    },
    get waiting() {
      return timers.size;
    },
  };
}
