import type { EndSignal } from './ender.ts';

/** Durations are milliseconds everywhere. */

/** Longest delay a Node timer takes: 2^31 - 1 ms; a larger one would fire at once. */
const LONGEST_TIMER = 2_147_483_647;

/** A timer that never keeps the process alive. Returns a function that cancels it; calling that twice is fine. */
export function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, Math.min(Math.max(ms, 0), LONGEST_TIMER));
  timer.unref();
  return () => clearTimeout(timer);
}

/** Runs at a time in ms since the epoch, however far away that is. Returns a function that cancels it. */
export function at(time: number, run: () => void): () => void {
  const wait = (): (() => void) =>
    after(time - Date.now(), () => {
      if (Date.now() >= time) {
        run();
      } else {
        cancel = wait();
      }
    });
  let cancel = wait();
  return () => cancel();
}

/** Resolves after `ms`, or at once when `signal` aborts (it never rejects: the caller looks at the signal). */
export function pause(ms: number, signal?: EndSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = after(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/**
 * Delay before try number `attempt` (0-based): exponential from `base` to `cap`, with full jitter in its upper half so
 * that many servers that died together do not come back together.
 */
export function backoff(
  attempt: number,
  base: number,
  cap: number,
  random: () => number = Math.random,
): number {
  const ceiling = Math.min(cap, base * 2 ** Math.min(attempt, 30));
  return ceiling / 2 + (ceiling / 2) * random();
}

/** `ms` spread by up to a tenth either way: repeated work of many peers must not march in step. */
export function jittered(ms: number, random: () => number = Math.random): number {
  return ms * (0.9 + 0.2 * random());
}

/** One timer for many deadlines: rings at the earliest time that was set since it rang last. */
export class Alarm {
  readonly #ring: () => void;
  #time = Number.POSITIVE_INFINITY;
  #cancel = () => {};

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** `time` as `performance.now()` tells it. Whoever is rung sets the next one. */
  set(time: number): void {
    if (time < this.#time) {
      this.#cancel();
      this.#time = time;
      this.#cancel = after(Math.ceil(time - performance.now()), () => {
        this.#time = Number.POSITIVE_INFINITY;
        this.#ring();
      });
    }
  }

  cancel(): void {
    this.#cancel();
    this.#time = Number.POSITIVE_INFINITY;
  }
}
