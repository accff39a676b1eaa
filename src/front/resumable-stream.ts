import { randomBytes } from 'node:crypto';
import { after } from '../base/time.ts';
import type { Carrier } from './carrier.ts';
import type { Outlet } from './outlet.ts';

export interface ResumeRules {
  /** ms that a stream waits for its client to come back, and that its events are kept after its end. */
  readonly resumeFor: number;
  /** Whether streams begin with an event that has an id and no data: the client then knows that it may come back. */
  readonly primes: boolean;
  /** Name of this replica, where there are others: a client may come back to any of them. */
  readonly home?: string | undefined;
}

/** How soon a client should come back after its connection broke, in ms. */
const RETRY_MS = 1_000;

/** An event that can be sent again. */
export interface Kept {
  readonly number: number;
  readonly json: string;
  readonly bytes: number;
}

/** Who decides how long what was sent is kept. */
export interface Keeper {
  /** An event was sent: adds it to `kept`, and drops what is too much. */
  keep(stream: ResumableStream, event: Kept): void;
  /** Nobody will ask for this stream any more. Idempotent. */
  forget(stream: ResumableStream): void;
}

/**
 * One event stream of a session, whatever connection carries it now. Its events have ids that no other stream has, not
 * even one of another process, since a session outlives this one.
 */
export class ResumableStream implements Outlet {
  readonly id: string;
  /** What can be sent again, oldest first. */
  readonly kept: Kept[] = [];
  readonly #keeper: Keeper;
  readonly #rules: ResumeRules;
  readonly #lapsed: (() => void) | undefined;
  #connection: Carrier | undefined;
  #sent = 0;
  #ended = false;
  #stopWaiting = () => {};

  /**
   * With `lapsed` it is given up when nobody has been connected to it for `resumeFor`; without, it lives until it is
   * ended, since a call goes on without its client.
   */
  constructor(keeper: Keeper, rules: ResumeRules, lapsed: (() => void) | undefined) {
    const home = rules.home === undefined ? '' : `${rules.home}~`;
    this.id = `${home}${randomBytes(9).toString('base64url')}`;
    this.#keeper = keeper;
    this.#rules = rules;
    this.#lapsed = lapsed;
  }

  get connected(): boolean {
    return this.#connection?.connected === true;
  }

  /** Number of its newest event. */
  get sent(): number {
    return this.#sent;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** True when nothing comes after this event, now or ever. */
  overAfter(number: number): boolean {
    return this.#ended && !this.kept.some((event) => event.number > number);
  }

  /** The first connection of a new stream. */
  begin(connection: Carrier): void {
    if (this.#rules.primes) {
      connection.prime(this.#eventId(0), RETRY_MS);
    }
    this.#carriedBy(connection);
  }

  /** Goes on after an event on another connection. The one before it ends: a message is sent on one only. */
  resume(connection: Carrier, number: number): void {
    const before = this.#connection;
    const missed = this.kept.filter((event) => event.number > number);
    connection.replay(missed.map((event) => ({ json: event.json, id: this.#eventId(event.number) })));
    this.#carriedBy(connection);
    before?.end();
    if (this.#ended) {
      connection.end();
    }
  }

  send(json: string): boolean {
    if (this.#ended) {
      return false;
    }
    this.#sent += 1;
    this.#keeper.keep(this, { number: this.#sent, json, bytes: Buffer.byteLength(json) });
    this.#connection?.send(json, this.#eventId(this.#sent));
    return true;
  }

  end(): void {
    if (this.#ended) {
      return;
    }
    this.#ended = true;
    this.#connection?.end();
    if (this.kept.length === 0) {
      this.giveUp();
    } else {
      this.#waitFor(() => this.#keeper.forget(this));
    }
  }

  /** Ends it and keeps nothing. Idempotent. */
  giveUp(): void {
    this.end();
    this.#stopWaiting();
    this.#keeper.forget(this);
  }

  #carriedBy(connection: Carrier): void {
    this.#connection = connection;
    if (!this.#ended) {
      this.#stopWaiting();
    }
    connection.onClose(() => this.#left(connection));
  }

  #left(connection: Carrier): void {
    if (this.#connection !== connection) {
      return;
    }
    this.#connection = undefined;
    if (!this.#ended && this.#lapsed !== undefined) {
      this.#waitFor(() => {
        this.giveUp();
        this.#lapsed?.();
      });
    }
  }

  #waitFor(run: () => void): void {
    this.#stopWaiting();
    this.#stopWaiting = after(this.#rules.resumeFor, run);
  }

  #eventId(number: number): string {
    return `${this.id}.${number}`;
  }
}
