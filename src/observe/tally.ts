/**
 * Counts of how long something took. Plain numbers, since this runs with every request; they are put into the form of
 * Prometheus when that reads them.
 */
export class Tally {
  readonly #bounds: readonly number[];
  /** One more than there are bounds: the last is for what is above all of them. */
  readonly counts: number[];
  sum = 0;
  count = 0;

  /** `bounds`: upper bounds, rising. */
  constructor(bounds: readonly number[] = []) {
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) {
      at += 1;
    }
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
    this.count += 1;
  }
}

/** What was counted under each key. */
export class Counts<Key extends string> {
  readonly #counts = new Map<Key, number>();

  add(key: Key, by = 1): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + by);
  }

  [Symbol.iterator](): IterableIterator<[Key, number]> {
    return this.#counts[Symbol.iterator]();
  }
}
