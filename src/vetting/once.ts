import { LRUCache } from 'lru-cache';

/** Tools that a process is likely to know; of more, the oldest may be told of again. */
const MOST_KNOWN = 5_000;

/** What is said once, though it happens with every call. */
export class Once {
  /** Bounded by size, since the library reserves room for a bound by number at once. */
  readonly #known = new LRUCache<string, true>({ maxSize: MOST_KNOWN, sizeCalculation: () => 1 });

  isNew(about: readonly string[]): boolean {
    const key = JSON.stringify(about);
    const isNew = !this.#known.has(key);
    this.#known.set(key, true);
    return isNew;
  }
}
