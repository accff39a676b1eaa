import { randomBytes } from 'node:crypto';
import { after } from '../base/time.ts';
import type { Outlet } from './outlet.ts';
import type { SseStream } from './sse-stream.ts';

/** Resumable streams of legacy sessions (2025-11-25 transports, Resumability and Redelivery). */

export interface ReplayRules {
  /** Most events, and most bytes of them, kept for all streams of one session. */
  readonly replayEvents: number;
  readonly replayBytes: number;
  /** ms that a stream waits for its client to come back, and that its events are kept after its end. */
  readonly resumeFor: number;
  /** Whether streams begin with an event that has an id and no data: the client then knows that it may come back. */
  readonly primes: boolean;
}

/** How soon a client should come back after its connection broke, in ms. */
const RETRY_MS = 1_000;
const EVENT_ID = /^([\w-]{12})\.(\d{1,15})$/;

interface Kept {
  readonly number: number;
  readonly json: string;
  readonly bytes: number;
}

/** The streams of one session, and what was sent on them, as far as somebody may ask for it again. */
export class Replays {
  readonly #rules: ReplayRules;
  readonly #streams = new Map<string, ResumableStream>();
  /** The stream of each kept event, oldest event first. */
  #order: ResumableStream[] = [];
  #bytes = 0;

  constructor(rules: ReplayRules) {
    this.#rules = rules;
  }

  /**
   * A new stream. With `lapsed` it is given up when nobody has been connected to it for `resumeFor`; without, it lives
   * until it is ended, since a call goes on without its client.
   */
  open(lapsed?: () => void): ResumableStream {
    const stream = new ResumableStream(this, this.#rules, lapsed);
    this.#streams.set(stream.id, stream);
    return stream;
  }

  /**
   * The stream that an event id belongs to and the number of that event in it; undefined where this session knows no
   * such event, or not any more.
   */
  find(eventId: string): { readonly stream: ResumableStream; readonly number: number } | undefined {
    const [, id = '', digits] = EVENT_ID.exec(eventId) ?? [];
    const stream = this.#streams.get(id);
    const number = Number(digits);
    return stream === undefined || number > stream.sent ? undefined : { stream, number };
  }

  /** Ends everything and keeps nothing. */
  close(): void {
    for (const stream of this.#streams.values()) {
      stream.giveUp();
    }
  }

  /** Of the streams of this session only: an event was sent. */
  keep(stream: ResumableStream, event: Kept): void {
    stream.kept.push(event);
    this.#order.push(stream);
    this.#bytes += event.bytes;
    const { replayEvents, replayBytes } = this.#rules;
    while (this.#order.length > 1 && (this.#order.length > replayEvents || this.#bytes > replayBytes)) {
      this.#dropOldest();
    }
  }

  /** Of the streams of this session only: nobody will ask for this one any more. */
  forget(stream: ResumableStream): void {
    this.#streams.delete(stream.id);
    this.#order = this.#order.filter((other) => other !== stream);
    this.#bytes -= stream.kept.reduce((sum, { bytes }) => sum + bytes, 0);
    stream.kept.length = 0;
  }

  #dropOldest(): void {
    const stream = this.#order.shift();
    this.#bytes -= stream?.kept.shift()?.bytes ?? 0;
    if (stream?.ended === true && stream.kept.length === 0) {
      stream.giveUp();
    }
  }
}

/**
 * One event stream of a session, whatever connection carries it now. Its events have ids that no other stream has, not
 * even one of another process, since a session outlives this one.
 */
export class ResumableStream implements Outlet {
  readonly id = randomBytes(9).toString('base64url');
  /** What can be sent again, oldest first. */
  readonly kept: Kept[] = [];
  readonly #replays: Replays;
  readonly #rules: ReplayRules;
  readonly #lapsed: (() => void) | undefined;
  #connection: SseStream | undefined;
  #sent = 0;
  #ended = false;
  #stopWaiting = () => {};

  constructor(replays: Replays, rules: ReplayRules, lapsed: (() => void) | undefined) {
    this.#replays = replays;
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
  begin(connection: SseStream): void {
    if (this.#rules.primes) {
      connection.prime(this.#eventId(0), RETRY_MS);
    }
    this.#carriedBy(connection);
  }

  /** Goes on after an event on another connection. The one before it ends: a message is sent on one only. */
  resume(connection: SseStream, number: number): void {
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
    this.#replays.keep(this, { number: this.#sent, json, bytes: Buffer.byteLength(json) });
    this.#connection?.send(json, this.#eventId(this.#sent));
    return true;
  }

  end(): void {
    if (!this.#ended) {
      this.#ended = true;
      this.#connection?.end();
      this.#waitFor(() => this.#replays.forget(this));
    }
  }

  /** Ends it and keeps nothing. Idempotent. */
  giveUp(): void {
    this.end();
    this.#stopWaiting();
    this.#replays.forget(this);
  }

  #carriedBy(connection: SseStream): void {
    this.#connection = connection;
    if (!this.#ended) {
      this.#stopWaiting();
    }
    connection.onClose(() => this.#left(connection));
  }

  #left(connection: SseStream): void {
    if (this.#connection === connection && !this.#ended && this.#lapsed !== undefined) {
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
