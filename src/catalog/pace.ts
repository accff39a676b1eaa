/** A list that is said to change without end is read for a tenth of the time at most. */
const MOST_REST = 9;

/**
 * How long a list rests after it was read before it is read because of a notice, by how long reading took. A change by
 * itself is read at once; the more of them follow each other, the longer each waits. Times in ms.
 */
export class Pace {
  #begunAt = 0;
  #endedAt = Number.NEGATIVE_INFINITY;
  #took = 0;
  /** How many reads have followed each other closely. */
  #streak = 0;

  begin(now: number): void {
    // Closely: while it would rest, and as long again, so that a rest does not end the streak.
    this.#streak = now - this.#endedAt < 2 * MOST_REST * this.#took ? this.#streak + 1 : 0;
    this.#begunAt = now;
  }

  end(now: number): void {
    this.#took = now - this.#begunAt;
    this.#endedAt = now;
  }

  /** When it may be read next. */
  get readyAt(): number {
    return this.#endedAt + this.#took * Math.min(MOST_REST, 2 ** Math.min(this.#streak, 10) - 1);
  }
}
