import { after } from '../base/time.ts';

/** At most two notices a second about one thing to one client: what it then does costs more than a short wait (C-022). */
const PACE_MS = 500;
/** So many different things are told of one after the other within that time; who offers more says too much. */
const MOST_THINGS = 20;

/** Lets the first notice about a thing pass at once, and joins those that follow too soon into one later notice. */
export class Pacer<Thing> {
  readonly #send: (thing: Thing) => void;
  readonly #lastAt = new Map<Thing, number>();
  readonly #waiting = new Map<Thing, () => void>();

  constructor(send: (thing: Thing) => void) {
    this.#send = send;
  }

  /** Notices about {@link MOST_THINGS} things are less than {@link PACE_MS} old: better tell of something larger. */
  get full(): boolean {
    if (this.#lastAt.size >= MOST_THINGS) {
      this.#forgetPassed();
    }
    return this.#lastAt.size >= MOST_THINGS;
  }

  offer(thing: Thing): void {
    if (this.#waiting.has(thing)) {
      return;
    }
    const last = this.#lastAt.get(thing) ?? Number.NEGATIVE_INFINITY;
    // The clock may have been set back since.
    const wait = Math.min(PACE_MS, last + PACE_MS - Date.now());
    if (wait <= 0) {
      this.#pass(thing);
    } else {
      this.#waiting.set(
        thing,
        after(wait, () => this.#pass(thing)),
      );
    }
  }

  /** Whatever was still waiting is not told any more. */
  close(): void {
    for (const cancel of this.#waiting.values()) {
      cancel();
    }
    this.#waiting.clear();
  }

  #pass(thing: Thing): void {
    this.#waiting.delete(thing);
    this.#lastAt.delete(thing);
    this.#lastAt.set(thing, Date.now());
    this.#send(thing);
  }

  /** In the order of their times: those that hold nothing back any more stand first. */
  #forgetPassed(): void {
    const before = Date.now() - PACE_MS;
    for (const [thing, at] of this.#lastAt) {
      if (at > before) {
        return;
      }
      this.#lastAt.delete(thing);
    }
  }
}
