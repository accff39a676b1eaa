import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import type { Era } from '../protocol/model.ts';
import { LATEST_LEGACY, LATEST_MODERN } from '../protocol/versions.ts';
import { Connection, type ConnectionEvents } from './connection.ts';
import { initialize, modernTerms, probe } from './handshake.ts';
import { forcedEra, judge } from './negotiate.ts';
import type { Transport } from './transport.ts';

/** What earlier connections to this upstream taught; kept by its supervisor, forgotten when it proves wrong. */
export interface Memory {
  era: Era | undefined;
  /** The URL speaks only the 2024-11-05 HTTP+SSE transport. */
  sse: boolean;
  /** Hung on the probe once: the next process is spoken to with `initialize` alone. */
  hung: boolean;
}

export interface EstablishOptions {
  readonly settings: UpstreamSettings;
  readonly memory: Memory;
  /** A fresh transport; `sse` for the 2024-11-05 pair. */
  readonly transport: (sse: boolean) => Transport;
  readonly envelope: Envelope;
  readonly events: ConnectionEvents;
  readonly log: Log;
  /** Aborts when nobody wants the connection any more: what was started is ended at once. */
  readonly signal: AbortSignal;
}

/**
 * Opens a connection and settles its era (design, Eras; cases C-098, C-099, C-048). Resolves with a connection whose
 * terms are agreed; rejects with a GatewayError, and then nothing it started is left running.
 */
export async function establish(options: EstablishOptions): Promise<Connection> {
  const { settings, memory, signal } = options;
  const attempt = new Attempt(options);
  const abandon = () => void attempt.abandon();
  signal.addEventListener('abort', abandon, { once: true });
  const era = forcedEra(settings.protocol) ?? memory.era;
  try {
    const sse = memory.sse || (settings.kind === 'http' && settings.transport === 'sse');
    const connection = await (era === 'legacy' || sse || memory.hung ? attempt.legacy() : attempt.probing());
    attempt.deliver(connection);
    memory.era = connection.terms.era;
    memory.hung = false;
    return connection;
  } catch (thrown) {
    memory.era = undefined;
    memory.hung &&= !(thrown instanceof GatewayError && thrown.code === 'UPSTREAM_VERSION');
    await attempt.abandon();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', abandon);
  }
}

class Attempt {
  readonly #options: EstablishOptions;
  #current: Connection | undefined;
  #delivered = false;

  constructor(options: EstablishOptions) {
    this.#options = options;
  }

  /** From here on the owner hears of notices and of the end. */
  deliver(connection: Connection): void {
    if (connection.ended !== undefined) {
      throw connection.ended;
    }
    this.#delivered = true;
  }

  async abandon(): Promise<void> {
    const connection = this.#current;
    this.#current = undefined;
    await connection?.close(
      this.#options.settings.kind === 'stdio' ? this.#options.settings.stop.grace : 1_000,
    );
  }

  /** Modern first. */
  async probing(): Promise<Connection> {
    const { settings } = this.#options;
    const forced = forcedEra(settings.protocol);
    const asked = forced === 'modern' ? settings.protocol : LATEST_MODERN;
    const connection = await this.#open(false);
    const window = Math.min(settings.timeouts.probe, settings.timeouts.connect);
    const verdict = await this.#probe(
      connection,
      asked,
      forced === 'modern' ? settings.timeouts.connect : window,
    );
    if (verdict === 'modern') {
      return connection;
    }
    if (forced === 'modern') {
      throw new GatewayError('UPSTREAM_VERSION', {
        upstream: settings.id,
        logged: `it does not speak ${asked}`,
      });
    }
    if (verdict === 'respawn') {
      await this.abandon();
      return this.legacy();
    }
    return this.#initializeIn(connection, asked);
  }

  /** `initialize` first, on a fresh transport; the old HTTP+SSE pair where the URL speaks nothing newer. */
  async legacy(): Promise<Connection> {
    const { settings, memory } = this.#options;
    const sse = settings.kind === 'http' && (settings.transport === 'sse' || memory.sse);
    const connection = await this.#open(sse);
    try {
      await this.#initialize(connection);
      return connection;
    } catch (thrown) {
      if (sse || !this.#mayBeSse(thrown)) {
        throw thrown;
      }
      return this.#fallBackToSse();
    }
  }

  async #initializeIn(connection: Connection, asked: string): Promise<Connection> {
    const { settings, memory } = this.#options;
    try {
      await this.#initialize(connection);
      return connection;
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) {
        throw thrown;
      }
      if (this.#mayBeSse(thrown)) {
        return this.#fallBackToSse();
      }
      // It was silent on the probe because it was still starting: it refuses `initialize`, so it may be modern only.
      if (
        thrown.code === 'UPSTREAM_VERSION' &&
        (await this.#probe(connection, asked, settings.timeouts.probe)) === 'modern'
      ) {
        return connection;
      }
      if (thrown.code === 'UPSTREAM_TIMEOUT' && settings.kind === 'stdio') {
        memory.hung = true;
      }
      throw thrown;
    }
  }

  #mayBeSse(thrown: unknown): boolean {
    const { settings } = this.#options;
    const { status, endpointEvent } = (thrown instanceof GatewayError ? thrown.data : undefined) ?? {};
    const refused = status === 400 || status === 404 || status === 405 || endpointEvent === true;
    return refused && settings.kind === 'http' && settings.transport === 'auto';
  }

  async #fallBackToSse(): Promise<Connection> {
    await this.abandon();
    const connection = await this.#open(true);
    await this.#initialize(connection);
    this.#options.memory.sse = true;
    return connection;
  }

  async #probe(
    connection: Connection,
    asked: string,
    timeoutMs: number,
  ): Promise<'modern' | 'legacy' | 'respawn'> {
    const { settings, envelope } = this.#options;
    let verdict = judge(await probe(connection, asked, envelope, timeoutMs), asked);
    if (verdict.kind === 'modern' && verdict.discovered === undefined) {
      // Refused, but by a modern server: once more in a version of its list (spec: basic/versioning, Negotiation).
      verdict = judge(await probe(connection, verdict.version, envelope, timeoutMs), verdict.version);
    }
    switch (verdict.kind) {
      case 'modern':
        if (verdict.discovered === undefined) {
          throw new GatewayError('UPSTREAM_VERSION', {
            upstream: settings.id,
            logged: 'it refused server/discover',
          });
        }
        connection.agree(modernTerms(verdict.version, verdict.discovered));
        return 'modern';
      case 'legacy':
        return verdict.respawn ? 'respawn' : 'legacy';
      case 'no-version':
        throw new GatewayError('UPSTREAM_VERSION', { upstream: settings.id });
      case 'undecided':
        throw verdict.error;
    }
  }

  #initialize(connection: Connection): Promise<unknown> {
    const { settings, envelope } = this.#options;
    const asked = settings.protocol === 'auto' ? LATEST_LEGACY : settings.protocol;
    return initialize(connection, {
      upstream: settings.id,
      envelope,
      asked,
      timeoutMs: settings.timeouts.connect,
    });
  }

  async #open(sse: boolean): Promise<Connection> {
    const { settings, log, events, signal } = this.#options;
    if (signal.aborted) {
      throw new GatewayError('SHUTTING_DOWN', { upstream: settings.id });
    }
    const connection = new Connection({
      upstream: settings.id,
      transport: this.#options.transport(sse),
      log,
      events: {
        notice: (notice) => this.#delivered && events.notice(notice),
        closed: (reason) => this.#delivered && events.closed(reason),
        question: events.question,
      },
    });
    this.#current = connection;
    await connection.open();
    return connection;
  }
}
