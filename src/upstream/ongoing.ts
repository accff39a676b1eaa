import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError } from '../base/errors.ts';
import { Linked, type Place } from '../base/linked.ts';
import { pause } from '../base/time.ts';
import type { Idleness } from './idleness.ts';

/** What is under way towards one upstream, so that its end can be waited for, or put an end to. */
export class Ongoing {
  readonly #uses: Pick<Idleness, 'begin' | 'end'>;
  readonly #open = new Linked<(error: GatewayError) => void>();
  #empty = () => {};

  /** `uses` is told of the begin and the end of each. */
  constructor(uses: Pick<Idleness, 'begin' | 'end'>) {
    this.#uses = uses;
  }

  /** The outcome of the work, or the error of {@link endAll} if that comes first. */
  track<T>(work: Promise<T>): Promise<T> {
    this.#uses.begin();
    return new Promise((resolve, reject) => {
      const place = this.#open.add(reject);
      work.then(
        (outcome) => {
          this.#over(place);
          resolve(outcome);
        },
        (thrown: unknown) => {
          this.#over(place);
          reject(thrown);
        },
      );
    });
  }

  #over(place: Place<(error: GatewayError) => void>): void {
    this.#uses.end();
    this.#open.remove(place);
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
    for (const reject of this.#open.values()) {
      reject(new GatewayError(code, { upstream }));
    }
  }
}
