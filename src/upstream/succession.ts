import { after } from '../base/time.ts';
import type { Seat } from './seat.ts';

export interface SuccessionOptions {
  readonly seat: Seat;
  /** Reads what has to be there when it begins to serve; resolves with how to put that in place. Never rejects. */
  readonly prepare: () => Promise<() => void>;
  /** It serves from here on. `install` is absent where it could not be reached in time: its lists are to be had later. */
  readonly succeed: (install: (() => void) | undefined) => void;
}

/**
 * A changed upstream is started beside the one that serves, and takes its place when it can answer: when its lists are
 * read, or its first attempt has failed, and after the longest time that an attempt may take.
 */
export class Succession {
  readonly #options: SuccessionOptions;
  #cancel = () => {};
  #settle = () => {};
  /** Resolves when it has succeeded or was abandoned. */
  readonly done = new Promise<void>((resolve) => {
    this.#settle = resolve;
  });
  #preparing = false;
  /** What was read may be out of date already. */
  #restless = false;
  #over = false;

  constructor(options: SuccessionOptions) {
    this.#options = options;
  }

  get seat(): Seat {
    return this.#options.seat;
  }

  begin(): void {
    const { seat } = this.#options;
    const { connect, probe } = seat.settings.timeouts;
    seat.hears = {
      ...seat.hears,
      connected: (owner) => (owner === undefined ? this.#connected() : undefined),
      lost: (owner) => (owner === undefined ? this.#succeed(undefined) : undefined),
      failedFirst: () => this.#succeed(undefined),
      notice: () => {
        this.#restless = true;
      },
    };
    this.#cancel = after(connect + probe, () => this.#succeed(undefined));
    seat.supervisor.start();
    seat.supervisor.wake();
  }

  /** It is not wanted any more: neither succeeds nor stays. */
  abandon(): Promise<void> {
    this.#end();
    return this.#options.seat.retire(0);
  }

  #connected(): void {
    if (this.#preparing) {
      this.#restless = true;
      return;
    }
    this.#preparing = true;
    void this.#options.prepare().then((install) => this.#succeed(install));
  }

  #succeed(install: (() => void) | undefined): void {
    if (this.#over) {
      return;
    }
    this.#end();
    const { seat, succeed } = this.#options;
    succeed(install);
    if (seat.supervisor.terms !== undefined && (install === undefined || this.#restless)) {
      seat.hears.connected();
    }
  }

  #end(): void {
    this.#over = true;
    this.#cancel();
    this.#settle();
  }
}
