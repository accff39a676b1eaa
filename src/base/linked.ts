/** A place in a {@link Linked}. */
export class Place<T> {
  value: T | undefined;
  before: Place<T> | undefined;
  behind: Place<T> | undefined;

  constructor(value: T) {
    this.value = value;
  }
}

/**
 * Values in the order in which they came, for what comes and goes with every request. A `Set` or `Map` is no good for that:
 * the table that V8 leaves behind when it makes a new one leads to that one, so once such a table has grown old, every one
 * after it, with all that was in it, stays until the next full collection. Here nothing that was taken out leads anywhere.
 */
export class Linked<T> {
  #first: Place<T> | undefined;
  #last: Place<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Place<T> | undefined {
    return this.#first;
  }

  get last(): Place<T> | undefined {
    return this.#last;
  }

  /** The place of the value, to take it out with. */
  add(value: T): Place<T> {
    const place = new Place(value);
    place.before = this.#last;
    if (this.#last === undefined) {
      this.#first = place;
    } else {
      this.#last.behind = place;
    }
    this.#last = place;
    this.#size += 1;
    return place;
  }

  /** Does nothing for a place that is empty already. */
  remove(place: Place<T>): void {
    if (place.value === undefined) {
      return;
    }
    const { before, behind } = place;
    if (before === undefined) {
      this.#first = behind;
    } else {
      before.behind = behind;
    }
    if (behind === undefined) {
      this.#last = before;
    } else {
      behind.before = before;
    }
    place.value = undefined;
    place.before = undefined;
    place.behind = undefined;
    this.#size -= 1;
  }

  /** Those that are there now. */
  values(): T[] {
    const values: T[] = [];
    for (let place = this.#first; place !== undefined; place = place.behind) {
      if (place.value !== undefined) {
        values.push(place.value);
      }
    }
    return values;
  }
}
