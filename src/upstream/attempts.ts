import type { EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { pause } from '../base/time.ts';
import type { Connection } from './connection.ts';
import { type EstablishOptions, establish, type Memory } from './establish.ts';

export interface AttemptsOptions extends Omit<EstablishOptions, 'memory' | 'events'> {
  readonly begins: () => void;
  readonly succeeded: (connection: Connection) => void;
  readonly failed: (thrown: unknown) => void;
  /** A connection that has succeeded has ended by itself. */
  readonly ended: (connection: Connection, reason: GatewayError) => void;
  readonly notice: EstablishOptions['events']['notice'];
}

/** Attempts to connect: one at a time, and none before what was there earlier has ended. */
export class Attempts {
  readonly #options: AttemptsOptions;
  readonly memory: Memory = { era: undefined, sse: false, hung: false };
  readonly #waiting = new Set<() => void>();
  #running: Promise<void> | undefined;
  #leaving: Promise<void> | undefined;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  get running(): Promise<void> | undefined {
    return this.#running;
  }

  /** Joins the attempt under way. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#attempt().finally(() => {
      this.#running = undefined;
      this.#tell();
    });
    return this.#running;
  }

  /** Resolves with the end of the attempt under way, or of the next one; after `ms` at the latest. */
  async next(ms: number): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#waiting.add(resolve));
    await Promise.race([ended, pause(ms)]);
  }

  /** A connection that is of no use any more. */
  leave(connection: Connection, graceMs: number): void {
    this.#leaving = connection.close(graceMs);
  }

  /** Resolves when nothing is left of any attempt; the signal ends the one under way. */
  async close(): Promise<void> {
    this.#tell();
    await Promise.all([this.#running, this.#leaving]);
  }

  async #attempt(): Promise<void> {
    const { settings, signal, begins, succeeded, failed, ended, notice } = this.#options;
    begins();
    await this.#leaving;
    try {
      const connection = await establish({
        ...this.#options,
        memory: this.memory,
        events: { notice, closed: (reason) => ended(connection, reason) },
      });
      if (signal.aborted) {
        await connection.close(settings.kind === 'stdio' ? settings.stop.grace : 0);
        return;
      }
      succeeded(connection);
    } catch (thrown) {
      failed(thrown);
    }
  }

  #tell(): void {
    for (const resolve of this.#waiting) {
      resolve();
    }
    this.#waiting.clear();
  }
}

/** The work, unless the signal aborts first: then CANCELLED. */
export function unlessAborted(
  signal: EndSignal | undefined,
  work: Promise<void>,
  upstream: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new GatewayError('CANCELLED', { upstream }));
    signal?.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal?.removeEventListener('abort', stop));
    if (signal?.aborted) {
      stop();
    }
  });
}
