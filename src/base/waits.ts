import { Linked, type Place } from './linked.ts';
import { Alarm } from './time.ts';

/** One who waits, to be named when they do not any more. */
export type Wait<T> = Place<{ readonly waiting: T; readonly end: number; readonly among: Linked<unknown> }>;

/**
 * Many who wait for a while, most of whom do not wait to its end: one timer for all of them, and none for each. Whoever has
 * waited for their time is handed to `due`, never early, and late by a turn of the event loop at most.
 */
export class Waits<T> {
  readonly #due: (waiting: T) => void;
  /** By the length of the wait, which few values have: in the order of their ends. */
  readonly #queues = new Map<number, Linked<NonNullable<Wait<T>['value']>>>();
  readonly #alarm = new Alarm(() => this.#look());

  constructor(due: (waiting: T) => void) {
    this.#due = due;
  }

  /** It waits for `ms` from now on. */
  add(waiting: T, ms: number): Wait<T> {
    const end = performance.now() + ms;
    let among = this.#queues.get(ms);
    if (among === undefined) {
      among = new Linked();
      this.#queues.set(ms, among);
    }
    const wait = among.add({ waiting, end, among });
    this.#alarm.set(end);
    return wait;
  }

  /** It waits no longer, if it still does. */
  remove(wait: Wait<T>): void {
    wait.value?.among.remove(wait);
  }

  #look(): void {
    const now = performance.now();
    for (const [ms, queue] of this.#queues) {
      let first = queue.first;
      for (
        ;
        first !== undefined && first.value !== undefined && first.value.end <= now;
        first = queue.first
      ) {
        const { waiting } = first.value;
        queue.remove(first);
        this.#due(waiting);
      }
      if (first?.value === undefined) {
        this.#queues.delete(ms);
      } else {
        this.#alarm.set(first.value.end);
      }
    }
  }
}
