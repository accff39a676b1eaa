import type { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Terms } from './connection.ts';
import type { Memory } from './establish.ts';
import { State, type UpstreamStatus } from './state.ts';
import { type Share, Told } from './told.ts';

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
  readonly told: Told;
  readonly #state: State;
  readonly #enabled: boolean;
  #memory: Memory = { era: undefined, sse: false, hung: false };
  #terms: Terms | undefined;
  /** A broken one is tried by one user at a time. */
  #trying = false;

  /** `share`: see {@link Told}. */
  constructor(settings: UpstreamSettings, log: Log, share?: Share) {
    this.told = new Told(share);
    this.#enabled = settings.enabled;
    this.#state = new State(settings, log, { own: true, state: 'idle' });
  }

  get status(): UpstreamStatus {
    return this.#state.status;
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
    const state = this.#state;
    if (!this.#enabled || state.rest > 0 || (state.now === 'broken' && this.#trying)) {
      throw state.down();
    }
  }

  opening(): void {
    this.#trying = true;
    if (this.#state.now !== 'connected') {
      this.#state.trying();
    }
  }

  /** A handshake at another replica told that user this; undefined: that user is not let in there any more. */
  heard(grant: string, terms: Terms | undefined): void {
    this.told.heard(grant, terms);
    this.#terms ??= terms;
  }

  opened(terms: Terms, memory: Memory): void {
    this.#trying = false;
    this.#memory = memory;
    this.#terms = terms;
    this.#state.recovered();
    this.#state.succeeded(memory.era);
  }

  /** An attempt, or a connection, has failed while `open` others are there. */
  failed(error: GatewayError, open: number, memory?: Memory): void {
    this.#trying = false;
    if (NOT_THE_SERVERS.has(error.code)) {
      this.closed(open);
      return;
    }
    if (memory !== undefined) {
      this.#memory = memory;
    }
    this.#state.failed(error, { era: this.#memory.era, served: open > 0 });
  }

  /** The server speaks another era than it did: found out anew by the next connection (case C-098). */
  mistaken(): void {
    this.#memory = { ...this.#memory, era: undefined };
  }

  /** A connection has closed, and `open` are left. */
  closed(open: number): void {
    const { now, status } = this.#state;
    if (open === 0 && (now === 'connected' || now === 'connecting')) {
      this.#state.move(status.lastError === undefined ? 'idle' : 'backoff');
    }
  }

  end(state: 'draining' | 'off'): void {
    this.#state.move(state);
  }
}
