const SMALLEST = 32;

/**
 * Values by whole numbers from 0 on, for what comes and goes with every request: see {@link Linked} for why no `Map`. Open
 * addressing with linear probing; whoever is taken out leaves nothing behind.
 */
export class ByNumber<T> {
  #keys: Float64Array = new Float64Array(SMALLEST).fill(-1);
  #values: (T | undefined)[] = new Array<T | undefined>(SMALLEST).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Undefined for whatever is no such number too. */
  get(key: unknown): T | undefined {
    if (typeof key !== 'number' || !Number.isSafeInteger(key) || key < 0) {
      return undefined;
    }
    const at = this.#find(key);
    return this.#keys[at] === key ? this.#values[at] : undefined;
  }

  set(key: number, value: T): void {
    if (this.#size * 2 >= this.#keys.length) {
      this.#grow();
    }
    const at = this.#find(key);
    this.#size += this.#keys[at] === key ? 0 : 1;
    this.#keys[at] = key;
    this.#values[at] = value;
  }

  /** True where it was there. */
  delete(key: number): boolean {
    let hole = this.#find(key);
    if (this.#keys[hole] !== key) {
      return false;
    }
    this.#size -= 1;
    // Whoever stands behind, and would not be found past the hole any more, moves into it.
    const mask = this.#keys.length - 1;
    for (let at = (hole + 1) & mask; this.#keys[at] !== -1; at = (at + 1) & mask) {
      const home = this.#home(this.#keys[at] ?? -1);
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        this.#move(at, hole);
        hole = at;
      }
    }
    this.#keys[hole] = -1;
    this.#values[hole] = undefined;
    return true;
  }

  /** Those that are there now, by their numbers upwards. */
  values(): T[] {
    const there: number[] = [];
    for (let at = 0; at < this.#keys.length; at += 1) {
      if (this.#keys[at] !== -1) {
        there.push(at);
      }
    }
    return there
      .sort((a, b) => (this.#keys[a] ?? 0) - (this.#keys[b] ?? 0))
      .flatMap((at) => this.#values[at] ?? []);
  }

  /** Where the key is, or would go. */
  #find(key: number): number {
    const mask = this.#keys.length - 1;
    let at = this.#home(key);
    while (this.#keys[at] !== -1 && this.#keys[at] !== key) {
      at = (at + 1) & mask;
    }
    return at;
  }

  /** Numbers that follow one another, as ids do, get places that do. */
  #home(key: number): number {
    return key % this.#keys.length;
  }

  #move(from: number, to: number): void {
    this.#keys[to] = this.#keys[from] ?? -1;
    this.#values[to] = this.#values[from];
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#keys = new Float64Array(keys.length * 2).fill(-1);
    this.#values = new Array<T | undefined>(keys.length * 2).fill(undefined);
    for (const [from, key] of keys.entries()) {
      if (key !== -1) {
        const to = this.#find(key);
        this.#keys[to] = key;
        this.#values[to] = values[from];
      }
    }
  }
}
