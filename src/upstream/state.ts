import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { backoff } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';

/**
 * idle: not connected, because nobody needs it now. connecting: a handshake runs. connected: it is done. backoff: down,
 * waiting for the next try. broken: down after so many failures in a row that it is tried only once in a while. draining:
 * being closed. off: by configuration. Whether a connected upstream is ready is a question of its lists: see
 * observe/status.ts.
 */
export type LinkState = 'idle' | 'connecting' | 'connected' | 'backoff' | 'broken' | 'draining' | 'off';

export interface UpstreamStatus {
  readonly state: LinkState;
  /** Single users sign in to it, and nobody else: there are no lists of everybody's. */
  readonly own: boolean;
  readonly era: 'modern' | 'legacy' | undefined;
  /** ms since the epoch of the last change of state. */
  readonly since: number;
  /** Code and text of the last fault, fit to be shown; gone once the upstream is connected again. */
  readonly lastError: string | undefined;
  /** How often it was connected: every time but the first was a reconnect or a restart. */
  readonly connects: number;
  /** How many attempts to reach it have failed. */
  readonly failures: number;
}

interface Failure {
  readonly era: UpstreamStatus['era'];
  /** Others are connected all the same. */
  readonly served?: boolean;
}

/** A server, or whatever stands before it, may ask to be left alone for years. */
const LONGEST_REST_MS = 3_600_000;
/** Many times the base: the breaker's delay is that of the cap, whatever was tried before. */
const MOST = Number.MAX_SAFE_INTEGER;

/**
 * How one upstream stands, and how long it is left alone after failures: a back-off that doubles, and after
 * `restart.breakAfter` failures in a row one try every `restart.cap` (case C-033).
 */
export class State {
  readonly #settings: UpstreamSettings;
  readonly #log: Log;
  #status: UpstreamStatus;
  #failures = 0;
  #restUntil = 0;

  constructor(settings: UpstreamSettings, log: Log, about: { own: boolean; state: LinkState }) {
    const { enabled, disabledReason } = settings;
    this.#settings = settings;
    this.#log = log;
    this.#status = {
      state: enabled ? about.state : 'off',
      own: about.own,
      era: undefined,
      since: Date.now(),
      lastError: enabled ? undefined : disabledReason,
      connects: 0,
      failures: 0,
    };
  }

  get status(): UpstreamStatus {
    return this.#status;
  }

  get now(): LinkState {
    return this.#status.state;
  }

  /** For how many ms more it is left alone. */
  get rest(): number {
    return Math.max(0, this.#restUntil - Date.now());
  }

  /** Another state; the last fault stays as it is, unless there is no cause for it any more. */
  move(state: LinkState, era = this.#status.era): void {
    const { lastError } = this.#status;
    this.#set(state, era, state === 'connected' ? undefined : lastError);
  }

  /** A try begins. A broken one is shown as that until a try has succeeded. */
  trying(): void {
    if (this.now !== 'broken') {
      this.move('connecting');
    }
  }

  /** Connected; the failures before still count, until {@link recovered}. */
  succeeded(era: UpstreamStatus['era']): void {
    this.#restUntil = 0;
    this.#status = { ...this.#status, connects: this.#status.connects + 1 };
    this.move('connected', era);
  }

  /** It has proved itself: the next failure is the first one. */
  recovered(): void {
    this.#failures = 0;
  }

  /** A fault that changes no state, or that there is none any more. */
  note(error: GatewayError | undefined): void {
    const lastError = error === undefined ? undefined : reasonOf(error);
    if (this.#status.lastError !== lastError) {
      this.#status = { ...this.#status, lastError };
    }
  }

  /** One failure more: in the state from now on, and in the log. Returns for how many ms it is to be left alone. */
  failed(error: GatewayError, { era, served = false }: Failure): number {
    const { base, cap, breakAfter } = this.#settings.restart;
    const broken = this.#failures + 1 >= breakAfter;
    const asked = error.data?.['retryAfterMs'];
    const pause = backoff(broken ? MOST : this.#failures, base, cap);
    const wait = Math.max(pause, typeof asked === 'number' ? Math.min(asked, LONGEST_REST_MS) : 0);
    this.#failures += 1;
    this.#status = { ...this.#status, failures: this.#status.failures + 1 };
    this.#restUntil = Date.now() + wait;
    const reason = reasonOf(error);
    const state = served ? 'connected' : broken ? 'broken' : 'backoff';
    // The same news every half minute is noise: it is told once, and shown in the status for as long as it lasts.
    const news = this.#status.lastError !== reason || (state === 'broken' && this.now !== 'broken');
    const about = { err: error, state, attempt: this.#failures, retryInMs: Math.round(wait) };
    this.#log[news ? 'warn' : 'debug'](about, 'not reachable');
    this.#set(state, era, reason);
    return wait;
  }

  /** What a call gets that cannot be made now, with the time of the next try where that is known. */
  down(): GatewayError {
    const { rest } = this;
    const when = rest > 0 ? { data: { retryAfterMs: Math.ceil(rest) } } : {};
    return new GatewayError('UPSTREAM_DOWN', { upstream: this.#settings.id, ...when });
  }

  #set(state: LinkState, era: UpstreamStatus['era'], lastError: string | undefined): void {
    const since = state === this.#status.state ? this.#status.since : Date.now();
    this.#status = { ...this.#status, state, era, since, lastError };
  }
}

function reasonOf(error: GatewayError): string {
  return `${error.code}: ${error.message}`;
}
