/** One run of some work at a time. A call during a run leads to exactly one more run, which all late callers share. */
export class Flight {
  readonly #work: () => Promise<void>;
  #running: Promise<void> | undefined;
  #trailing: Promise<void> | undefined;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** The run under way. */
  get running(): Promise<void> | undefined {
    return this.#running;
  }

  /** Settles with a run that began after this call. */
  run(): Promise<void> {
    if (this.#trailing !== undefined) {
      return this.#trailing;
    }
    if (this.#running === undefined) {
      return this.#start();
    }
    const next = () => {
      this.#trailing = undefined;
      return this.#start();
    };
    this.#trailing = this.#running.then(next, next);
    return this.#trailing;
  }

  #start(): Promise<void> {
    this.#running = this.#work().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}

/** The promise, or the reason of the signal if that aborts first: a peer that ignores its signal holds nobody up. */
export function beforeAbort<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) {
      stop();
    }
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
