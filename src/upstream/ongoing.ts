import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError } from '../base/errors.ts';
import { pause } from '../base/time.ts';

/** What is under way towards one upstream, so that its end can be waited for, or put an end to. */
export class Ongoing {
  readonly #open = new Set<(error: GatewayError) => void>();
  #empty = () => {};

  /** The outcome of the work, or the error of {@link endAll} if that comes first. */
  track<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#open.add(reject);
      work.then(
        (outcome) => {
          this.#over(reject);
          resolve(outcome);
        },
        (thrown: unknown) => {
          this.#over(reject);
          reject(thrown);
        },
      );
    });
  }

  #over(reject: (error: GatewayError) => void): void {
    this.#open.delete(reject);
    if (this.#open.size === 0) {
      this.#empty();
    }
  }

  /** Resolves when nothing is under way any more, or after `ms`. Waited for by one at a time. */
  async settled(ms: number): Promise<void> {
    if (this.#open.size > 0) {
      const empty = new Promise<void>((resolve) => {
        this.#empty = resolve;
      });
      await Promise.race([empty, pause(ms)]);
    }
  }

  endAll(code: ErrorCode, upstream: string): void {
    for (const reject of this.#open) {
      reject(new GatewayError(code, { upstream }));
    }
  }
}
