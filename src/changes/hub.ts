import type { Log } from '../base/log.ts';
import type { Swap } from '../catalog/snapshot.ts';
import type { Change } from '../protocol/model.ts';
import { Pacer } from './pacer.ts';

/** One client's stream that wants to hear of changes. */
export interface Listener {
  /** Grant of the principal whose stream it is. */
  readonly grant: string;
  /** The entrance where it listens. */
  readonly place: string;
  /** The kinds it asked for; a legacy stream hears of all. */
  readonly wants: ReadonlySet<Change>;
  /** Which changes of a swap this listener can see at all. */
  readonly sees: (swap: Swap) => readonly Change[];
  /** Which changes this listener can see because it may see something else than before. Its grant may be another one then. */
  readonly moved: () => readonly Change[];
  /** Writes one notice; must not throw, and what it throws harms nobody else. */
  readonly notify: (change: Change) => void;
}

interface Subscription {
  readonly listener: Listener;
  readonly pacer: Pacer<Change>;
  grant: string;
}

/** Tells listeners what changed. A listener that throws harms no other; unsubscribing twice is fine. */
export class Hub {
  readonly #listeners = new Set<Subscription>();
  /** What is to be told when everything that belongs together has happened. */
  #together: Map<Subscription, ReadonlySet<Change>> | undefined;
  readonly #byGrant = new Map<string, Set<Subscription>>();
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
    const entry: Subscription = { listener, pacer, grant: listener.grant };
    this.#listeners.add(entry);
    this.#file(entry);
    return () => {
      pacer.close();
      this.#listeners.delete(entry);
      this.#unfile(entry);
    };
  }

  /** A swap of one principal's own catalog goes to nobody else; any other to all who see a difference. */
  publish(swap: Swap): void {
    const mine = swap.owner === undefined ? this.#listeners : this.#byGrant.get(swap.owner);
    for (const entry of mine ?? []) {
      this.#offer(entry, entry.listener.sees(swap));
    }
  }

  /** A list that only those of this grant see at this place is another one. */
  tell(grant: string, place: string, change: Change): void {
    for (const entry of this.#byGrant.get(grant) ?? []) {
      if (entry.listener.place === place) {
        this.#offer(entry, [change]);
      }
    }
  }

  /**
   * What listeners may see has changed, and `swaps` makes the changes of catalogs that belong to that: each hears of all
   * of it at once.
   */
  review(swaps: () => void): void {
    this.#together = new Map();
    for (const entry of [...this.#listeners]) {
      this.#offer(entry, entry.listener.moved());
      if (entry.grant !== entry.listener.grant) {
        this.#unfile(entry);
        entry.grant = entry.listener.grant;
        this.#file(entry);
      }
    }
    swaps();
    const told = this.#together;
    this.#together = undefined;
    for (const [entry, changes] of told) {
      this.#offer(entry, [...changes]);
    }
  }

  #offer(entry: Subscription, changes: readonly Change[]): void {
    const wanted = changes.filter((change) => entry.listener.wants.has(change));
    if (this.#together !== undefined) {
      const later = this.#together.get(entry) ?? new Set();
      this.#together.set(entry, new Set([...later, ...wanted]));
      return;
    }
    for (const change of wanted) {
      entry.pacer.offer(change);
    }
  }

  #file(entry: Subscription): void {
    const alike = this.#byGrant.get(entry.grant) ?? new Set();
    this.#byGrant.set(entry.grant, alike.add(entry));
  }

  #unfile(entry: Subscription): void {
    const alike = this.#byGrant.get(entry.grant);
    alike?.delete(entry);
    if (alike?.size === 0) {
      this.#byGrant.delete(entry.grant);
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
