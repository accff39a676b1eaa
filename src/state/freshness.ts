/**
 * How far the clock of another replica may be off, and how late a message may come, in ms: what Kerberos allows as well
 * (RFC 4120, 8.2).
 */
const SKEW_MS = 300_000;
/** A message that was said at the latest time that is believed is too old after this. */
const REMEMBERED_MS = 2 * SKEW_MS;
/** How often those are looked for that have said nothing for so long, in messages. */
const SWEEP_EVERY = 1_000;

/** What comes with a message: the how-manieth it is of its replica, and when it was said, in ms since the epoch. */
export interface Stamp {
  readonly n: number;
  readonly at: number;
}

export type Verdict = 'fresh' | 'repeated' | 'stale';

/**
 * Tells messages of other replicas from repetitions of them. What carries the messages keeps their order, so one that is
 * not later than the last of its replica was heard, or was held back: either way its time is over. For replicas that are
 * not remembered their clock decides: what was said long ago is nothing to one that has started since.
 */
export class Freshness {
  #said = 0;
  #judged = 0;
  readonly #last = new Map<string, { n: number; heardAt: number }>();

  /** For the next message of this replica. */
  stamp(now = Date.now()): Stamp {
    this.#said += 1;
    return { n: this.#said, at: now };
  }

  /** `from`: a name that no two replicas ever have; the message is of whoever it says it is of. */
  judge(from: string, { n, at }: Partial<Record<keyof Stamp, unknown>>, now = Date.now()): Verdict {
    if (typeof n !== 'number' || typeof at !== 'number' || Math.abs(now - at) > SKEW_MS) {
      return 'stale';
    }
    const last = this.#last.get(from);
    if (last !== undefined && n <= last.n) {
      return 'repeated';
    }
    this.#last.set(from, { n, heardAt: now });
    this.#judged += 1;
    if (this.#judged % SWEEP_EVERY === 0) {
      this.#forget(now - REMEMBERED_MS);
    }
    return 'fresh';
  }

  /** How many replicas are remembered. */
  get remembered(): number {
    return this.#last.size;
  }

  #forget(before: number): void {
    for (const [from, { heardAt }] of this.#last) {
      if (heardAt < before) {
        this.#last.delete(from);
      }
    }
  }
}
