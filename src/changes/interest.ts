/**
 * Who wants to hear of what at which upstream, counted: an upstream is asked for each thing once, however many clients
 * wait for it, and no longer than the last of them does (case C-076).
 */
export class Interest<Listener> {
  readonly #changed: (upstream: string, things: ReadonlySet<string>) => void;
  readonly #listeners = new Map<string, Map<string, Set<Listener>>>();

  /** `changed` is told the whole set of things of one upstream whenever it changes. */
  constructor(changed: (upstream: string, things: ReadonlySet<string>) => void) {
    this.#changed = changed;
  }

  /** Returns how to end the interest; calling that twice is fine. */
  add(upstream: string, thing: string, listener: Listener): () => void {
    const things = this.#listeners.get(upstream) ?? new Map<string, Set<Listener>>();
    this.#listeners.set(upstream, things);
    const mine = things.get(thing) ?? new Set<Listener>();
    mine.add(listener);
    if (!things.has(thing)) {
      things.set(thing, mine);
      this.#tell(upstream);
    }
    return () => {
      if (mine.delete(listener) && mine.size === 0 && things.get(thing) === mine) {
        things.delete(thing);
        this.#tell(upstream);
      }
    };
  }

  /** Every thing of one upstream with its listeners. */
  of(upstream: string): ReadonlyMap<string, ReadonlySet<Listener>> {
    return this.#listeners.get(upstream) ?? new Map();
  }

  #tell(upstream: string): void {
    this.#changed(upstream, new Set(this.#listeners.get(upstream)?.keys()));
  }
}
