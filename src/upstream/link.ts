import type { EndSignal } from '../base/ender.ts';
import { type GatewayError, toGatewayError } from '../base/errors.ts';
import { after } from '../base/time.ts';
import { Attempts, unlessAborted } from './attempts.ts';
import type { Connection, Terms } from './connection.ts';
import { Idleness } from './idleness.ts';
import type { LinkOptions } from './link-options.ts';
import { Liveness } from './liveness.ts';
import { State, type UpstreamStatus } from './state.ts';
import { hear } from './subscribe.ts';
import { Watch } from './watch.ts';

/** A server that stayed up this long has recovered: the next crash starts the back-off anew (case C-033). */
const STABLE_MS = 30_000;

/** The shared connection to one upstream: connects, reconnects with back-off, and stays idle while nobody needs it. */
export class Link {
  readonly #options: LinkOptions;
  readonly #state: State;
  readonly #attempts: Attempts;
  #connection: Connection | undefined;
  #lastTerms: Terms | undefined;
  #liveness: Liveness | undefined;
  #cancelTimer = () => {};
  /** Resources that clients watch. */
  readonly watch: Watch;
  /** For `idleStop`: calls count as a use, the gateway's own requests do not. */
  readonly idleness: Idleness;
  readonly #ending = new AbortController();
  #closing: Promise<void> | undefined;
  #draining = false;
  #wasUp = false;
  /** The attempt under way is worth waiting for: somebody needs it, or it was there a moment ago. */
  #awaited = false;
  #tried = false;

  constructor(options: LinkOptions) {
    const { settings, log } = options;
    this.#options = options;
    this.watch = new Watch(options);
    this.#state = new State(settings, log, {
      own: false,
      state: settings.start === 'lazy' ? 'idle' : 'connecting',
    });
    this.#attempts = new Attempts({
      ...options,
      signal: this.#ending.signal,
      begins: () => this.#state.trying(),
      succeeded: (connection) => this.#adopt(connection),
      failed: (thrown) => this.#fail(thrown),
      ended: (connection, reason) => this.#ended(connection, reason),
      notice: (notice) => options.events.notice(notice),
    });
    this.idleness = new Idleness({
      ms: settings.kind === 'stdio' ? settings.idleStop : 0,
      busy: () => this.#connection?.busy === true || !this.watch.idle,
      idle: () => this.#rest(),
    });
  }

  get status(): UpstreamStatus {
    return this.#state.status;
  }

  /** What the handshake settled, while it can be asked. */
  get terms(): Terms | undefined {
    return this.#connection?.terms ?? (this.#state.now === 'idle' ? this.#lastTerms : undefined);
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
    return this.#attempts.memory.sse;
  }

  /** Starts connecting, unless that waits for the first use; never rejects and waits for nobody. */
  start(): void {
    if (this.#state.now === 'connecting') {
      void this.#attempts.run();
    }
  }

  /** Somebody needs it: connects where it was idle. */
  wake(): void {
    if (this.#state.now === 'idle') {
      this.#awaited = true;
      void this.#attempts.run();
    }
  }

  /** From now on nothing is begun by itself: what is under way goes on until {@link close}. */
  drain(): void {
    this.#draining = true;
    this.#cancelTimer();
    this.idleness.stop();
    if (this.#connection === undefined) {
      this.#ending.abort();
    }
    if (this.#state.now !== 'off') {
      this.#state.move('draining');
    }
  }

  /** Ends the connection within `graceMs`. Idempotent; calls in flight end with an error. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#shutDown(graceMs);
    return this.#closing;
  }

  async #shutDown(graceMs: number): Promise<void> {
    this.drain();
    this.#ending.abort();
    const connection = this.#connection;
    this.#detach();
    await connection?.close(Math.min(graceMs, this.#options.settings.stop.grace));
    await this.#attempts.close();
    this.#state.move('off');
  }

  get current(): Connection | undefined {
    return this.#connection;
  }

  /**
   * The connection. One that is idle is started, and a start or reconnect under way is waited for, which is bounded by
   * the timeouts of a connection. Rejects with UPSTREAM_DOWN at once while it is left alone.
   */
  async connection(signal?: EndSignal): Promise<Connection> {
    this.wake();
    const { running } = this.#attempts;
    if (this.#connection === undefined && this.#awaited && running !== undefined) {
      await unlessAborted(signal, running, this.#options.settings.id);
    }
    if (this.#connection === undefined) {
      throw this.#state.down();
    }
    return this.#connection;
  }

  /** The connection after the one that was lost, if it comes about with the next try and soon. */
  async next(): Promise<Connection | undefined> {
    const { connect } = this.#options.settings.timeouts;
    if (this.#connection === undefined && this.#state.rest <= connect && !this.#draining) {
      await this.#attempts.next(connect);
    }
    return this.#connection;
  }

  /** One new session however many calls found the old one ended. */
  async renew(old: Connection): Promise<Connection> {
    const { timeouts, stop } = this.#options.settings;
    if (this.#connection === old && !this.#draining) {
      this.#detach();
      // Other calls of the old session are about to be refused as well: each has to hear that for itself.
      void old.retire(timeouts.total, stop.grace);
      await this.#attempts.run();
    } else {
      await this.#attempts.running;
    }
    if (this.#connection === undefined) {
      throw this.#state.down();
    }
    return this.#connection;
  }

  /** A request has failed as all of them may fail: asked at once whether it is there, and in the era that was settled. */
  suspect(connection: Connection): void {
    if (this.#connection === connection) {
      this.#liveness?.suspect();
    }
  }

  /**
   * The server refuses the gateway's own credential while it is connected to: shown in the status until a request
   * succeeds. The connection stays, since some servers refuse single tools only.
   */
  noteAuth(error: GatewayError | undefined): void {
    if (this.#state.now === 'connected') {
      this.#state.note(error);
    }
  }

  /** This connection is of no use any more. One that was replaced already is nobody's concern. */
  lose(connection: Connection, reason: GatewayError): void {
    if (this.#connection !== connection || this.#closing !== undefined) {
      return;
    }
    this.#detach();
    this.#attempts.leave(connection, 0);
    this.#fail(reason);
  }

  #detach(): void {
    this.#connection = undefined;
    this.#liveness?.stop();
    this.#liveness = undefined;
    this.idleness.stop();
  }

  #adopt(connection: Connection): void {
    const { log, settings, envelope } = this.#options;
    const { era, version, label } = connection.terms;
    this.#connection = connection;
    this.#lastTerms = connection.terms;
    this.#tried = true;
    this.#wasUp = true;
    this.#awaited = true;
    this.#cancelTimer();
    this.#cancelTimer = after(STABLE_MS, () => this.#state.recovered());
    log.info({ era, version, server: label, ms: Date.now() - this.#state.status.since }, 'connected');
    this.#state.succeeded(era);
    this.watch.attach(connection);
    const failed = (reason: GatewayError) => this.#ended(connection, reason);
    this.#liveness = new Liveness({ connection, settings, envelope, failed });
    this.idleness.start();
    let reads = 0;
    const read = () => {
      if (this.#connection === connection) {
        this.#options.events.connected();
        reads += 1;
        if (reads > 1 && era === 'modern') {
          this.#liveness?.look(); // its stream of notices broke, as it does when the server is replaced
        }
      }
    };
    hear({ connection, settings, envelope, log, read });
  }

  /** Nobody needs it now. */
  #rest(): void {
    const connection = this.#connection;
    const { settings, log } = this.#options;
    if (connection !== undefined && !this.#draining) {
      this.#detach();
      this.#cancelTimer();
      this.#attempts.leave(connection, settings.stop.grace);
      this.#state.move('idle');
      log.info('stopped, since nobody needs it now');
    }
  }

  /**
   * A session that the upstream ended is opened anew at once, and so is one whose terms hold no longer, as a redeploy can
   * bring about (C-098): calls under way go on. Anything else is a loss.
   */
  #ended(connection: Connection, reason: GatewayError): void {
    if (reason.code === 'UPSTREAM_VERSION') {
      this.#attempts.memory.era = undefined;
    } else if (reason.code !== 'UPSTREAM_SESSION') {
      this.lose(connection, reason);
      return;
    }
    this.renew(connection).catch((thrown: unknown) =>
      this.#options.log.debug({ err: thrown }, 'no new session'),
    );
  }

  #fail(thrown: unknown): void {
    const { events } = this.#options;
    if (this.#draining) {
      return;
    }
    this.#awaited = false;
    const wait = this.#state.failed(toGatewayError(thrown), { era: this.#attempts.memory.era });
    this.#cancelTimer();
    this.#cancelTimer = after(wait, () => void this.#attempts.run());
    if (this.#wasUp) {
      this.#wasUp = false;
      events.lost();
    } else if (!this.#tried) {
      this.#tried = true;
      events.failedFirst();
    }
  }
}
