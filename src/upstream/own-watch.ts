import { GatewayError } from '../base/errors.ts';
import { backoff, pause } from '../base/time.ts';
import type { Party } from './party.ts';
import type { Hold } from './pool.ts';
import { Watch, type WatchOptions } from './watch.ts';

export interface OwnWatchOptions extends WatchOptions {
  readonly hold: (party: Party) => Promise<Hold>;
  /** Whatever a server may have told meanwhile went unheard: the connection is another one. */
  readonly missed: () => void;
}

/**
 * What one user watches at an upstream that is reached as that user: kept subscribed on a connection of that user, which
 * stays open for it and is opened again when it ends.
 */
export class OwnWatch {
  readonly #options: OwnWatchOptions;
  readonly #watch: Watch;
  #party: Party;
  #uris: ReadonlySet<string> = new Set();
  #tasks: ReadonlySet<string> = new Set();
  #running: AbortController | undefined;

  constructor(options: OwnWatchOptions, party: Party) {
    this.#options = options;
    this.#watch = new Watch(options);
    this.#party = party;
  }

  /** The whole set of URIs that are wanted from now on, by this party among others of the same user. */
  set(uris: ReadonlySet<string>, party: Party): void {
    this.#uris = uris;
    this.#watch.set(uris);
    this.#wantedBy(party);
  }

  /** The whole set of tasks whose states are wanted from now on. */
  setTasks(tasks: ReadonlySet<string>, party: Party): void {
    this.#tasks = tasks;
    this.#watch.setTasks(tasks);
    this.#wantedBy(party);
  }

  /** Nothing is wanted any more. */
  get idle(): boolean {
    return this.#uris.size === 0 && this.#tasks.size === 0;
  }

  end(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  #wantedBy(party: Party): void {
    this.#party = party;
    if (this.idle) {
      this.end();
    } else if (this.#running === undefined) {
      const running = new AbortController();
      this.#running = running;
      void this.#run(running);
    }
  }

  /** Never rejects. A user who is refused is not tried again before the next wish of that user. */
  async #run(running: AbortController): Promise<void> {
    const { signal } = running;
    const { base, cap } = this.#options.settings.restart;
    for (let failures = 0, times = 0; !signal.aborted; times += 1) {
      try {
        await this.#stay(signal, times > 0);
        failures = 0;
      } catch (thrown) {
        failures += 1;
        this.#options.log.debug({ err: thrown }, 'no connection to watch with');
        if (thrown instanceof GatewayError && thrown.code === 'UPSTREAM_AUTH') {
          break;
        }
      }
      await pause(signal.aborted ? 0 : backoff(failures, base, cap), signal);
    }
    if (this.#running === running) {
      this.#running = undefined;
    }
  }

  /** Watches on one connection for as long as that lives and something is wanted. */
  async #stay(signal: AbortSignal, again: boolean): Promise<void> {
    const { hold, missed } = this.#options;
    const { connection, ended, release } = await hold(this.#party);
    try {
      this.#watch.attach(connection);
      if (again) {
        missed();
      }
      await Promise.race([ended, aborted(signal)]);
    } finally {
      release();
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    }
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
