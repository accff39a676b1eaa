import type { Log } from '../base/log.ts';
import type { Swap } from '../catalog/snapshot.ts';
import type { Change } from '../protocol/model.ts';
import { Pacer } from './pacer.ts';

/** One client's stream that wants to hear of changes. */
export interface Listener {
  /** Key of the principal whose stream it is. */
  readonly principal: string;
  /** The kinds it asked for; a legacy stream hears of all. */
  readonly wants: ReadonlySet<Change>;
  /** Which changes of a swap this listener can see at all. */
  readonly sees: (swap: Swap) => readonly Change[];
  /** Writes one notice; must not throw, and what it throws harms nobody else. */
  readonly notify: (change: Change) => void;
}

/** Tells listeners what changed. A listener that throws harms no other; unsubscribing twice is fine. */
export class Hub {
  readonly #listeners = new Map<Listener, Pacer<Change>>();
  readonly #byPrincipal = new Map<string, Map<Listener, Pacer<Change>>>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns a function that ends the subscription and whatever was still waiting to be told. */
  subscribe(listener: Listener): () => void {
    const pacer = new Pacer<Change>((change) => this.#tell(listener, change));
    const mine = this.#byPrincipal.get(listener.principal) ?? new Map<Listener, Pacer<Change>>();
    this.#byPrincipal.set(listener.principal, mine.set(listener, pacer));
    this.#listeners.set(listener, pacer);
    return () => {
      pacer.close();
      this.#listeners.delete(listener);
      mine.delete(listener);
      if (mine.size === 0 && this.#byPrincipal.get(listener.principal) === mine) {
        this.#byPrincipal.delete(listener.principal);
      }
    };
  }

  /** A swap of one principal's own catalog goes to nobody else; any other to all who see a difference. */
  publish(swap: Swap): void {
    const mine = swap.owner === undefined ? this.#listeners : this.#byPrincipal.get(swap.owner);
    for (const [listener, pacer] of mine ?? []) {
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
