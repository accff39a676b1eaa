import { after } from '../base/time.ts';

export interface IdlenessOptions {
  /** So long without a use, in ms; 0 for never. */
  readonly ms: number;
  /** Whether it must not end now, though nobody uses it. */
  readonly busy: () => boolean;
  readonly idle: () => void;
}

/** Notices that nobody has used something for a while. */
export class Idleness {
  readonly #options: IdlenessOptions;
  #users = 0;
  #last = 0;
  #cancel = () => {};

  constructor(options: IdlenessOptions) {
    this.#options = options;
  }

  /** Counts from now. */
  start(): void {
    this.#last = Date.now();
    this.#wait(this.#options.ms);
  }

  stop(): void {
    this.#cancel();
  }

  /** Somebody uses it until {@link end} is called. */
  begin(): void {
    this.#users += 1;
  }

  end(): void {
    this.#users -= 1;
    this.#last = Date.now();
  }

  #wait(ms: number): void {
    this.#cancel();
    if (this.#options.ms > 0) {
      this.#cancel = after(ms, () => this.#look());
    }
  }

  #look(): void {
    const { ms, busy, idle } = this.#options;
    const left = this.#last + ms - Date.now();
    if (this.#users > 0 || busy()) {
      this.#wait(ms);
    } else if (left > 0) {
      this.#wait(left);
    } else {
      idle();
    }
  }
}
