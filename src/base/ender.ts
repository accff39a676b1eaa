/** What can be told to end: an AbortSignal, or an {@link Ender}. */
export interface EndSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', run: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', run: () => void): void;
}

const NOBODY: readonly (() => void)[] = [];

/**
 * An AbortController and its signal in one, without the events: what is made with every request need not be an EventTarget,
 * which costs more than all that is done with it. Whoever listens is told once, and must not throw.
 */
export class Ender implements EndSignal {
  #aborted = false;
  #reason: unknown;
  #listeners = NOBODY;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The first reason counts. */
  abort(reason?: unknown): void {
    if (this.#aborted) {
      return;
    }
    this.#aborted = true;
    this.#reason = reason;
    for (let [run] = this.#listeners; run !== undefined; [run] = this.#listeners) {
      this.#listeners = this.#listeners.slice(1);
      run();
    }
  }

  addEventListener(_type: 'abort', run: () => void): void {
    if (!this.#aborted) {
      this.#listeners = [...this.#listeners, run];
    }
  }

  removeEventListener(_type: 'abort', run: () => void): void {
    const left = this.#listeners.filter((each) => each !== run);
    this.#listeners = left.length === 0 ? NOBODY : left;
  }
}
