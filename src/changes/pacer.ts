import { after } from '../base/time.ts';

/** At most two notices a second about one thing to one client: what it then does costs more than a short wait (C-022). */
const PACE_MS = 500;

/** Lets the first notice about a thing pass at once, and joins those that follow too soon into one later notice. */
export class Pacer<Thing> {
  readonly #send: (thing: Thing) => void;
  readonly #lastAt = new Map<Thing, number>();
  readonly #waiting = new Map<Thing, () => void>();

  constructor(send: (thing: Thing) => void) {
    this.#send = send;
  }

  offer(thing: Thing): void {
    if (this.#waiting.has(thing)) {
      return;
    }
    const wait = (this.#lastAt.get(thing) ?? Number.NEGATIVE_INFINITY) + PACE_MS - Date.now();
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
    this.#lastAt.set(thing, Date.now());
    this.#send(thing);
  }
}
