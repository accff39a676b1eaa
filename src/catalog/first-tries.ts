interface Waiter {
  readonly missing: Set<string>;
  readonly done: () => void;
}

/** Which upstreams were tried once, whatever came of it, and who waits for that. */
export class FirstTries {
  readonly #schedule: (ms: number, run: () => void) => () => void;
  readonly #tried = new Set<string>();
  readonly #waiters = new Set<Waiter>();
  #closed = false;

  constructor(schedule: (ms: number, run: () => void) => () => void) {
    this.#schedule = schedule;
  }

  mark(upstream: string): void {
    this.#tried.add(upstream);
    for (const waiter of this.#waiters) {
      waiter.missing.delete(upstream);
      if (waiter.missing.size === 0) {
        waiter.done();
      }
    }
  }

  /** It is gone: whoever waits for it need not, and if it comes back its first try is still to come. */
  forget(upstream: string): void {
    this.mark(upstream);
    this.#tried.delete(upstream);
  }

  /** Resolves when each of these was tried, or after `ms`, or at {@link close}. */
  settled(upstreams: readonly string[], ms: number): Promise<void> {
    const missing = new Set(upstreams.filter((upstream) => !this.#tried.has(upstream)));
    if (missing.size === 0 || this.#closed) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter = { missing, done };
      this.#waiters.add(waiter);
      const cancel = this.#schedule(ms, done);
    });
  }

  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) {
      waiter.done();
    }
  }
}
