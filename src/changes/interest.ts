import type { Party } from '../upstream/party.ts';

/** Where something is wanted. */
export interface Place {
  readonly upstream: string;
  /** Where each user is told for themselves: on whose behalf it is wanted. */
  readonly party?: Party | undefined;
}

/** Whom an upstream's notices to this user are said to be for. */
export type OwnerOf = (upstream: string, user: Party['principal']) => string;

interface Wanted<Listener> {
  readonly listeners: Map<string, Set<Listener>>;
  readonly things: Set<string>;
}

/**
 * Who wants to hear of what at which upstream, counted: an upstream is asked for each thing once, however many clients
 * wait for it, and no longer than the last of them does (case C-076). What is wanted for one user is counted apart, and
 * no other hears of it.
 */
export class Interest<Listener> {
  readonly #ownerOf: OwnerOf;
  readonly #changed: (place: Place, things: ReadonlySet<string>) => void;
  readonly #wanted = new Map<string, Wanted<Listener>>();

  /**
   * `changed` is told the whole set of things of one place whenever it changes. It is always the same set, of what is
   * wanted at the moment: a copy for each change would be quadratic.
   */
  constructor(ownerOf: OwnerOf, changed: (place: Place, things: ReadonlySet<string>) => void) {
    this.#ownerOf = ownerOf;
    this.#changed = changed;
  }

  /** Returns how to end the interest; calling that twice is fine. */
  add(place: Place, thing: string, listener: Listener): () => void {
    const { upstream, party } = place;
    const key = keyOf(upstream, party && this.#ownerOf(upstream, party.principal));
    const wanted = this.#wanted.get(key) ?? { listeners: new Map(), things: new Set() };
    this.#wanted.set(key, wanted);
    const { listeners, things } = wanted;
    const mine = listeners.get(thing) ?? new Set<Listener>();
    mine.add(listener);
    if (!things.has(thing)) {
      listeners.set(thing, mine);
      things.add(thing);
      this.#changed(place, things);
    }
    return () => {
      if (mine.delete(listener) && mine.size === 0 && listeners.get(thing) === mine) {
        listeners.delete(thing);
        things.delete(thing);
        if (things.size === 0 && this.#wanted.get(key) === wanted) {
          this.#wanted.delete(key);
        }
        this.#changed(place, things);
      }
    };
  }

  /** Every thing that is wanted of one upstream, with its listeners: those of one owner, or those of everybody. */
  of(upstream: string, owner: string | undefined): ReadonlyMap<string, ReadonlySet<Listener>> {
    return this.#wanted.get(keyOf(upstream, owner))?.listeners ?? new Map();
  }
}

function keyOf(upstream: string, owner: string | undefined): string {
  return JSON.stringify([upstream, owner ?? null]);
}
