import PQueue from 'p-queue';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { CallOptions } from './calls.ts';
import type { Connection } from './connection.ts';
import { inLane } from './lane.ts';
import { Link, type LinkOptions } from './link.ts';
import { contradicts } from './negotiate.ts';
import { type Party, Pool } from './pool.ts';

/** One upstream: its shared link, the connections that belong to single users, and the bounds of its calls. */
export class Supervisor {
  readonly link: Link;
  readonly #settings: LinkOptions['settings'];
  readonly #lane: PQueue;
  readonly #pool: Pool;

  constructor(options: LinkOptions) {
    this.link = new Link(options);
    this.#settings = options.settings;
    this.#lane = new PQueue({ concurrency: options.settings.limits.concurrency });
    this.#pool = new Pool({ ...options, sse: () => this.link.sse, notice: options.events.notice });
  }

  /**
   * One call of a client: waits for a place, within the bounds of the configuration. A call that waits for a person
   * gives its place back. Rejects with UPSTREAM_DOWN at once while there is no connection, UPSTREAM_BUSY when the
   * queue is full, UPSTREAM_CONNECTIONS when the party would need one connection too many of its own.
   */
  async call(
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
    party: Party,
  ): Promise<JsonObject> {
    const { limits, id } = this.#settings;
    if (this.#lane.pending >= limits.concurrency && this.#lane.size >= limits.queue) {
      throw new GatewayError('UPSTREAM_BUSY', { upstream: id });
    }
    return inLane(this.#lane, options, (watched) => this.#route(method, params, watched, party));
  }

  /** The shared connection, or the party's own where its questions need an owner. */
  async #route(
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
    party: Party,
  ): Promise<JsonObject> {
    const { terms } = await this.link.connection();
    const { isolation, protocol } = this.#settings;
    const inItsEra = protocol === 'auto' && terms.alsoLegacy && party.era === 'legacy';
    const legacy = terms.era === 'legacy' || inItsEra;
    if (isolation === 'shared' || !legacy) {
      const { onQuestion: _nobodyToAsk, ...shared } = options;
      return this.request(method, params, shared);
    }
    const work = async (connection: Connection) => {
      await askForLogs(connection, options);
      return connection.request(method, params, options);
    };
    try {
      return await this.#pool.use(party, work);
    } catch (thrown) {
      // Refused before it acted: once more, on a new session (case C-039).
      if (thrown instanceof GatewayError && thrown.code === 'UPSTREAM_SESSION') {
        return this.#pool.use(party, work);
      }
      throw thrown;
    }
  }

  /** A notification of one party, on its own connections. */
  notify(owner: string, method: string, params: JsonObject | undefined): Promise<void> {
    return this.#pool.notify(owner, method, params);
  }

  /** A session has ended: its own connections close. */
  release(owner: string): void {
    this.#pool.release(owner);
  }

  /** A request outside the lane: the gateway's own list walks must not wait behind slow calls. */
  async request(method: string, params: JsonObject | undefined, options: CallOptions): Promise<JsonObject> {
    const connection = await this.link.connection();
    try {
      await askForLogs(connection, options);
      return await connection.request(method, params, options);
    } catch (thrown) {
      if (this.#settings.kind === 'http' && contradicts(connection.terms.era, thrown)) {
        this.link.mistaken(
          connection,
          new GatewayError('UPSTREAM_VERSION', { upstream: this.#settings.id, cause: thrown }),
        );
      }
      if (!(thrown instanceof GatewayError)) {
        throw thrown;
      }
      if (thrown.code === 'UPSTREAM_SESSION') {
        // The upstream refused before it acted: a new session, and once more (case C-039).
        return this.#again(await this.link.renew(connection), method, params, options);
      }
      if (thrown.code === 'UPSTREAM_DOWN' && connection.ended === undefined) {
        this.link.lose(connection, thrown);
      }
      throw thrown;
    }
  }

  /** The repeat on a new session. A server that refuses that one as well is treated as lost: tried again later. */
  async #again(
    renewed: Connection,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<JsonObject> {
    try {
      return await renewed.request(method, params, options);
    } catch (thrown) {
      if (thrown instanceof GatewayError && thrown.code === 'UPSTREAM_SESSION') {
        this.link.lose(renewed, thrown);
      }
      throw thrown;
    }
  }

  /** Ends every connection within `graceMs`. Idempotent; calls in flight end with an error. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([this.link.close(graceMs), this.#pool.close(graceMs)]);
  }
}

async function askForLogs(connection: Connection, options: CallOptions): Promise<void> {
  const { logLevel } = options.envelope;
  if (logLevel !== undefined) {
    const { onQuestion: _none, onNotice: _nobody, ...plain } = options;
    await connection.wantLogs(logLevel, plain);
  }
}
