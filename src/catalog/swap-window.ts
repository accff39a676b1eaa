/** Swaps in quick succession as one: for `ms` after a swap that was one, whoever wants another waits for the end. */
export class SwapWindow {
  readonly #schedule: (ms: number, run: () => void) => () => void;
  readonly #ms: () => number;
  readonly #swap: () => void;
  #current: { readonly cancel: () => void; readonly waiting: (() => void)[] } | undefined;
  #closed = false;

  constructor(schedule: (ms: number, run: () => void) => () => void, ms: () => number, swap: () => void) {
    this.#schedule = schedule;
    this.#ms = ms;
    this.#swap = swap;
  }

  /** Swaps now, or at the end of the window that the last swap opened; resolves then. */
  publish(): Promise<void> {
    const window = this.#current;
    if (window !== undefined && !this.#closed) {
      return new Promise((resolve) => window.waiting.push(resolve));
    }
    this.#swap();
    return Promise.resolve();
  }

  /** Swaps now, whatever window is open: whoever waits for its end need not any more. */
  now(): void {
    const window = this.#current;
    this.#current = undefined;
    window?.cancel();
    this.#swap();
    for (const resume of window?.waiting ?? []) {
      resume();
    }
  }

  /** There was a swap. */
  open(): void {
    const waiting: (() => void)[] = [];
    const cancel = this.#schedule(this.#ms(), () => {
      this.#current = undefined;
      if (waiting.length > 0) {
        this.#swap();
      }
      for (const resume of waiting) {
        resume();
      }
    });
    this.#current = { cancel, waiting };
  }

  /** Whoever waits need not any more. */
  close(): void {
    this.#closed = true;
    const window = this.#current;
    this.#current = undefined;
    window?.cancel();
    for (const resume of window?.waiting ?? []) {
      resume();
    }
  }
}
