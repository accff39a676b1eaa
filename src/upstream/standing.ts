import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { backoff } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Terms } from './connection.ts';
import type { Memory } from './establish.ts';
import type { LinkState, UpstreamStatus } from './link.ts';

/** Failures that say something of one user, or of our own bounds, and nothing of the server. */
const NOT_THE_SERVERS: ReadonlySet<string> = new Set([
  'UPSTREAM_AUTH',
  'UPSTREAM_TOKEN',
  'UPSTREAM_CONNECTIONS',
  'CANCELLED',
  'SHUTTING_DOWN',
]);

/**
 * How an upstream stands that single users alone sign in to: there is no connection of the gateway's own to tell. What
 * one user's connection taught (era, transport, what it offers) serves the others.
 */
export class Standing {
  readonly #settings: UpstreamSettings;
  readonly #log: Log;
  #memory: Memory = { era: undefined, sse: false, hung: false };
  #status: UpstreamStatus;
  #terms: Terms | undefined;
  #failures = 0;
  #restUntil = 0;

  constructor(settings: UpstreamSettings, log: Log) {
    const { enabled, disabledReason } = settings;
    this.#settings = settings;
    this.#log = log;
    this.#status = {
      state: enabled ? 'idle' : 'off',
      own: true,
      era: undefined,
      since: Date.now(),
      lastError: enabled ? undefined : disabledReason,
    };
  }

  get status(): UpstreamStatus {
    return this.#status;
  }

  /** What the newest connection settled. */
  get terms(): Terms | undefined {
    return this.#terms;
  }

  /** A copy: what a failed attempt thinks it learned is nobody else's. */
  get memory(): Memory {
    return { ...this.#memory };
  }

  /** Throws UPSTREAM_DOWN while the server is left alone after a failure: each user's call would try it anew. */
  demand(): void {
    const { id, enabled } = this.#settings;
    const wait = this.#restUntil - Date.now();
    if (!enabled || wait > 0) {
      const data = wait > 0 ? { data: { retryAfterMs: Math.ceil(wait) } } : {};
      throw new GatewayError('UPSTREAM_DOWN', { upstream: id, ...data });
    }
  }

  opening(): void {
    if (this.#status.state === 'idle' || this.#status.state === 'backoff') {
      this.#move('connecting', this.#status.lastError);
    }
  }

  opened(terms: Terms, memory: Memory): void {
    this.#memory = memory;
    this.#terms = terms;
    this.#failures = 0;
    this.#restUntil = 0;
    this.#move('connected', undefined);
  }

  /** An attempt, or a connection, has failed while `open` others are there. */
  failed(error: GatewayError, open: number, memory?: Memory): void {
    if (NOT_THE_SERVERS.has(error.code)) {
      this.closed(open);
      return;
    }
    if (memory !== undefined) {
      this.#memory = memory;
    }
    const { base, cap } = this.#settings.restart;
    const asked = error.data?.['retryAfterMs'];
    const wait = Math.max(backoff(this.#failures, base, cap), typeof asked === 'number' ? asked : 0);
    this.#failures += 1;
    this.#restUntil = Date.now() + wait;
    const reason = `${error.code}: ${error.message}`;
    const level = this.#status.lastError === reason ? 'debug' : 'warn';
    this.#log[level]({ err: error, retryInMs: Math.round(wait) }, 'not reachable');
    this.#move(open > 0 ? 'connected' : 'backoff', reason);
  }

  /** The server speaks another era than it did: found out anew by the next connection (case C-098). */
  mistaken(): void {
    this.#memory = { ...this.#memory, era: undefined };
  }

  /** A connection has closed, and `open` are left. */
  closed(open: number): void {
    const { state, lastError } = this.#status;
    if (open === 0 && (state === 'connected' || state === 'connecting')) {
      this.#move(lastError === undefined ? 'idle' : 'backoff', lastError);
    }
  }

  end(state: 'draining' | 'off'): void {
    this.#move(state, this.#status.lastError);
  }

  #move(state: LinkState, lastError: string | undefined): void {
    const since = state === this.#status.state ? this.#status.since : Date.now();
    this.#status = { state, own: true, era: this.#memory.era, since, lastError };
  }
}
