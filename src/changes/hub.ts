import type { Log } from '../base/log.ts';
import { after } from '../base/time.ts';
import type { Swap } from '../catalog/store.ts';
import { CHANGES, type Change } from '../protocol/model.ts';

/** One client's stream that wants to hear of changes. */
export interface Listener {
  /** The kinds it asked for; a legacy stream hears of all. */
  readonly wants: ReadonlySet<Change>;
  /** Which changes of a swap this listener can see at all. */
  readonly sees: (swap: Swap) => readonly Change[];
  /** Writes one notice; must not throw, and what it throws harms nobody else. */
  readonly notify: (change: Change) => void;
}

/** At most two notices a second of one kind to one client: a list walk costs more than a short wait (case C-022). */
const PACE_MS = 500;

/** Tells listeners what changed. A listener that throws harms no other; unsubscribing twice is fine. */
export class Hub {
  readonly #listeners = new Map<Listener, Pacer>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns a function that ends the subscription and whatever was still waiting to be told. */
  subscribe(listener: Listener): () => void {
    const pacer = new Pacer((change) => this.#tell(listener, change));
    this.#listeners.set(listener, pacer);
    return () => {
      pacer.close();
      this.#listeners.delete(listener);
    };
  }

  publish(swap: Swap): void {
    for (const [listener, pacer] of this.#listeners) {
      for (const change of listener.sees(swap)) {
        if (listener.wants.has(change)) {
          pacer.offer(change);
        }
      }
    }
  }

  #tell(listener: Listener, change: Change): void {
    try {
      listener.notify(change);
    } catch (thrown) {
      this.#log.warn({ err: thrown, change }, 'a listener failed');
    }
  }
}

/** Lets the first notice of a kind pass at once, and joins those that follow too soon into one later notice. */
class Pacer {
  readonly #send: (change: Change) => void;
  readonly #lastAt = new Map<Change, number>();
  readonly #waiting = new Map<Change, () => void>();

  constructor(send: (change: Change) => void) {
    this.#send = send;
  }

  offer(change: Change): void {
    if (this.#waiting.has(change)) {
      return;
    }
    const wait = (this.#lastAt.get(change) ?? Number.NEGATIVE_INFINITY) + PACE_MS - Date.now();
    if (wait <= 0) {
      this.#pass(change);
    } else {
      this.#waiting.set(
        change,
        after(wait, () => this.#pass(change)),
      );
    }
  }

  close(): void {
    for (const cancel of this.#waiting.values()) {
      cancel();
    }
    this.#waiting.clear();
  }

  #pass(change: Change): void {
    this.#waiting.delete(change);
    this.#lastAt.set(change, Date.now());
    this.#send(change);
  }
}

const ALL_CHANGES: ReadonlySet<Change> = new Set(CHANGES);

/** What a legacy stream hears: it cannot choose. */
export function everything(): ReadonlySet<Change> {
  return ALL_CHANGES;
}
