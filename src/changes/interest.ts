import type { Party } from '../upstream/party.ts';

/** Where something is wanted. */
export interface Place {
  readonly upstream: string;
  /** Where each user is told for themselves: on whose behalf it is wanted. */
  readonly party?: Party | undefined;
}

/**
 * Who wants to hear of what at which upstream, counted: an upstream is asked for each thing once, however many clients
 * wait for it, and no longer than the last of them does (case C-076). What is wanted for one user is counted apart, and
 * no other hears of it.
 */
export class Interest<Listener> {
  readonly #changed: (place: Place, things: ReadonlySet<string>) => void;
  readonly #wanted = new Map<string, Map<string, Set<Listener>>>();

  /** `changed` is told the whole set of things of one place whenever it changes. */
  constructor(changed: (place: Place, things: ReadonlySet<string>) => void) {
    this.#changed = changed;
  }

  /** Returns how to end the interest; calling that twice is fine. */
  add(place: Place, thing: string, listener: Listener): () => void {
    const key = keyOf(place.upstream, place.party?.principal.key);
    const things = this.#wanted.get(key) ?? new Map<string, Set<Listener>>();
    this.#wanted.set(key, things);
    const mine = things.get(thing) ?? new Set<Listener>();
    mine.add(listener);
    if (!things.has(thing)) {
      things.set(thing, mine);
      this.#changed(place, new Set(things.keys()));
    }
    return () => {
      if (mine.delete(listener) && mine.size === 0 && things.get(thing) === mine) {
        things.delete(thing);
        if (things.size === 0) {
          this.#wanted.delete(key);
        }
        this.#changed(place, new Set(things.keys()));
      }
    };
  }

  /** Every thing that is wanted of one upstream, with its listeners: those of one user, or those of everybody. */
  of(upstream: string, owner: string | undefined): ReadonlyMap<string, ReadonlySet<Listener>> {
    return this.#wanted.get(keyOf(upstream, owner)) ?? new Map();
  }
}

function keyOf(upstream: string, owner: string | undefined): string {
  return JSON.stringify([upstream, owner ?? null]);
}
