import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { after, backoff } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Connection, Terms } from './connection.ts';
import { establish, type Memory } from './establish.ts';
import { hear } from './subscribe.ts';
import type { Transport } from './transport.ts';
import { Watch } from './watch.ts';

/**
 * connecting: a handshake runs. connected: it is done. backoff: down, waiting for the next try. draining: being closed.
 * off: by configuration. idle: only single users connect to it, and none does now. Whether a connected upstream is ready
 * is a question of its lists: see observe/status.ts.
 */
export type LinkState = 'connecting' | 'connected' | 'backoff' | 'draining' | 'off' | 'idle';

export interface UpstreamStatus {
  readonly state: LinkState;
  /** Single users sign in to it, and nobody else: there are no lists of everybody's. */
  readonly own: boolean;
  readonly era: 'modern' | 'legacy' | undefined;
  /** ms since the epoch of the last change of state. */
  readonly since: number;
  /** Code and text of the last fault, fit to be shown; gone once the upstream is connected again. */
  readonly lastError: string | undefined;
}

export interface LinkEvents {
  /** Read its lists: after every handshake, and whenever changes may have been missed (case C-026). */
  connected(): void;
  /** Not reachable any more; the first time after having been connected. */
  lost(): void;
  /** The first attempt has failed: nothing is to be expected of it soon. */
  failedFirst(): void;
  notice(notice: RpcNotification): void;
}

export interface LinkOptions {
  readonly settings: UpstreamSettings;
  readonly transport: (sse: boolean) => Transport;
  readonly envelope: Envelope;
  readonly events: LinkEvents;
  readonly log: Log;
}

/** A server that stayed up this long has recovered: the next crash starts the back-off anew (case C-033). */
const STABLE_MS = 30_000;

/** The shared connection to one upstream: connects, reconnects with back-off, and says what state it is in. */
export class Link {
  readonly #options: LinkOptions;
  readonly #memory: Memory = { era: undefined, sse: false, hung: false };
  #status: UpstreamStatus;
  #connection: Connection | undefined;
  #lastTerms: Terms | undefined;
  #connecting: Promise<void> | undefined;
  #attempts = 0;
  #nextTryAt = 0;
  #cancelTimer = () => {};
  /** Resources that clients watch. */
  readonly watch: Watch;
  readonly #ending = new AbortController();
  #closing: Promise<void> | undefined;
  #wasUp = false;
  #tried = false;

  constructor(options: LinkOptions) {
    const { enabled, disabledReason } = options.settings;
    this.#options = options;
    this.watch = new Watch(options);
    this.#status = {
      state: enabled ? 'connecting' : 'off',
      own: false,
      era: undefined,
      since: Date.now(),
      lastError: enabled ? undefined : disabledReason,
    };
  }

  get status(): UpstreamStatus {
    return this.#status;
  }

  /** What the handshake settled, while connected. */
  get terms(): Terms | undefined {
    return this.#connection?.terms;
  }

  /** What the last handshake settled, also while the upstream is down. */
  get lastTerms(): Terms | undefined {
    return this.#lastTerms;
  }

  /** True once the first attempt has ended. */
  get tried(): boolean {
    return this.#tried;
  }

  /** The URL speaks only the 2024-11-05 transport, as far as is known. */
  get sse(): boolean {
    return this.#memory.sse;
  }

  /** Starts connecting; never rejects and waits for nobody. */
  start(): void {
    if (this.#options.settings.enabled) {
      void this.#connect();
    }
  }

  /** Ends the connection within `graceMs`. Idempotent; calls in flight end with an error. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#shutDown(graceMs);
    return this.#closing;
  }

  async #shutDown(graceMs: number): Promise<void> {
    this.#cancelTimer();
    this.#ending.abort();
    this.#move('draining');
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close(Math.min(graceMs, this.#options.settings.stop.grace));
    await this.#connecting;
    this.#move('off');
  }

  /** A call that meets a reconnect under way waits for it (bounded by the connect timeout); a back-off fails at once. */
  async connection(): Promise<Connection> {
    if (this.#connection === undefined && this.#status.state === 'connecting' && this.#wasUp) {
      await this.#connecting;
    }
    if (this.#connection !== undefined) {
      return this.#connection;
    }
    const wait = Math.max(0, this.#nextTryAt - Date.now());
    throw new GatewayError('UPSTREAM_DOWN', {
      upstream: this.#options.settings.id,
      ...(this.#status.state === 'backoff' ? { data: { retryAfterMs: Math.ceil(wait) } } : {}),
    });
  }

  /** One new session however many calls found the old one ended. */
  async renew(old: Connection): Promise<Connection> {
    if (this.#connection === old) {
      this.#connection = undefined;
      this.#move('connecting');
      // Other calls of the old session are about to be refused as well: each has to hear that for itself.
      void old.retire(this.#options.settings.timeouts.call);
      await this.#connect();
    } else {
      await this.#connecting;
    }
    if (this.#connection === undefined) {
      throw new GatewayError('UPSTREAM_DOWN', { upstream: this.#options.settings.id });
    }
    return this.#connection;
  }

  #connect(): Promise<void> {
    this.#connecting ??= this.#attempt().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #attempt(): Promise<void> {
    const { settings, log, envelope, transport } = this.#options;
    this.#move('connecting');
    try {
      const connection = await establish({
        settings,
        memory: this.#memory,
        transport,
        envelope,
        log,
        signal: this.#ending.signal,
        events: {
          notice: (notice) => this.#options.events.notice(notice),
          closed: (reason) => this.#ended(connection, reason),
        },
      });
      if (this.#closing !== undefined) {
        await connection.close(settings.kind === 'stdio' ? settings.stop.grace : 0);
        return;
      }
      this.#adopt(connection);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #adopt(connection: Connection): void {
    const { log } = this.#options;
    const { era, version, label } = connection.terms;
    this.#connection = connection;
    this.#lastTerms = connection.terms;
    this.#tried = true;
    this.#wasUp = true;
    const upSince = Date.now();
    this.#cancelTimer();
    this.#cancelTimer = after(STABLE_MS, () => {
      this.#attempts = 0;
    });
    log.info({ era, version, server: label, ms: upSince - this.#status.since }, 'connected');
    this.#move('connected');
    this.watch.attach(connection);
    const read = () => {
      if (this.#connection === connection) {
        this.#options.events.connected();
      }
    };
    const { settings, envelope } = this.#options;
    hear({ connection, settings, envelope, log, read });
  }

  /** A session that the upstream ended is opened anew at once; anything else is a loss. */
  #ended(connection: Connection, reason: GatewayError): void {
    if (reason.code === 'UPSTREAM_SESSION') {
      this.renew(connection).catch((thrown: unknown) =>
        this.#options.log.debug({ err: thrown }, 'no new session'),
      );
    } else {
      this.lose(connection, reason);
    }
  }

  /** The server has changed its era under this connection, as a redeploy can do: asked anew which it speaks (C-098). */
  mistaken(connection: Connection, reason: GatewayError): void {
    this.#memory.era = undefined;
    this.lose(connection, reason);
  }

  /**
   * The server refuses the gateway's own credential while it is connected to: shown in the status until a request
   * succeeds. The connection stays, since some servers refuse single tools only.
   */
  noteAuth(error: GatewayError | undefined): void {
    const lastError = error === undefined ? undefined : `${error.code}: ${error.message}`;
    if (this.#status.state === 'connected' && this.#status.lastError !== lastError) {
      this.#status = { ...this.#status, lastError };
    }
  }

  /** This connection is of no use any more. One that was replaced already is nobody's concern. */
  lose(connection: Connection, reason: GatewayError): void {
    if (this.#connection !== connection || this.#closing !== undefined) {
      return;
    }
    this.#connection = undefined;
    void connection.close(0);
    this.#fail(reason);
  }

  #fail(thrown: unknown): void {
    const { log, settings, events } = this.#options;
    if (this.#closing !== undefined) {
      return;
    }
    const error = thrown instanceof GatewayError ? thrown : new GatewayError('INTERNAL', { cause: thrown });
    const retryAfter = error.data?.['retryAfterMs'];
    const wait = Math.max(
      backoff(this.#attempts, settings.restart.base, settings.restart.cap),
      typeof retryAfter === 'number' ? retryAfter : 0,
    );
    this.#attempts += 1;
    this.#nextTryAt = Date.now() + wait;
    const reason = `${error.code}: ${error.message}`;
    // The same news every half minute is noise: it is told once, and shown in the status for as long as it lasts.
    const level = this.#status.lastError === reason ? 'debug' : 'warn';
    this.#move('backoff', reason);
    log[level]({ err: error, attempt: this.#attempts, retryInMs: Math.round(wait) }, 'not reachable');
    this.#cancelTimer();
    this.#cancelTimer = after(wait, () => void this.#connect());
    if (this.#wasUp) {
      this.#wasUp = false;
      events.lost();
    } else if (!this.#tried) {
      this.#tried = true;
      events.failedFirst();
    }
  }

  #move(state: LinkState, lastError?: string): void {
    const keep =
      state === 'connecting' || state === 'draining' || state === 'off' ? this.#status.lastError : lastError;
    const era = this.#connection?.terms.era ?? this.#memory.era;
    const since = state === this.#status.state ? this.#status.since : Date.now();
    this.#status = { state, own: false, era, since, lastError: keep };
  }
}
