import PQueue from 'p-queue';
import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { CallOptions } from './calls.ts';
import type { Connection, Terms } from './connection.ts';
import type { Credentials } from './credentials.ts';
import { inLane } from './lane.ts';
import { Link, type LinkOptions, type UpstreamStatus } from './link.ts';
import { contradicts, forcedEra } from './negotiate.ts';
import type { PoolEvents } from './own-connection.ts';
import { OwnWatch } from './own-watch.ts';
import type { Party } from './party.ts';
import { Pool } from './pool.ts';
import { Standing } from './standing.ts';
import type { Transport } from './transport.ts';

export interface SupervisorOptions extends Omit<LinkOptions, 'transport'> {
  readonly credentials: Credentials;
  /** `user` is absent on the shared connection. */
  readonly transport: (sse: boolean, user?: () => Principal) => Transport;
  readonly ownEvents: PoolEvents;
}

/** One upstream: its shared link, the connections that belong to single users, and the bounds of its calls. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #link: Link;
  readonly #lane: PQueue;
  readonly #pool: Pool;
  /** Where users sign in by themselves: then the shared link is not started. */
  readonly #standing: Standing | undefined;
  readonly #watches = new Map<string, OwnWatch>();

  constructor(options: SupervisorOptions) {
    const { settings, log, transport, credentials } = options;
    this.#options = options;
    this.#link = new Link({ ...options, transport: (sse) => transport(sse) });
    this.#lane = new PQueue({ concurrency: settings.limits.concurrency });
    this.#standing = credentials.own ? new Standing(settings, log) : undefined;
    this.#pool = new Pool({
      settings,
      log,
      transport,
      standing: this.#standing,
      sse: () => this.#link.sse,
      events: options.ownEvents,
    });
  }

  /** Starts the shared connection; where there is none, nothing is to be waited for. */
  start(): void {
    const { settings, events } = this.#options;
    if (this.#standing === undefined) {
      this.#link.start();
    } else if (settings.enabled) {
      events.failedFirst();
    }
  }

  get status(): UpstreamStatus {
    return this.#standing?.status ?? this.#link.status;
  }

  /** What the handshake settled, while it can be asked; where users sign in by themselves, the newest handshake. */
  get terms(): Terms | undefined {
    return this.#standing === undefined ? this.#link.terms : this.#standing.terms;
  }

  /** What the last handshake settled, also while the upstream is down. */
  get lastTerms(): Terms | undefined {
    return this.#standing === undefined ? this.#link.lastTerms : this.#standing.terms;
  }

  /** What it says to models, where it says so to everybody: what it told one user may be meant for that user. */
  get instructions(): string | undefined {
    return this.#standing === undefined ? this.#link.lastTerms?.instructions : undefined;
  }

  /** True while the first attempt has not ended: what this upstream can do is unknown. */
  get pending(): boolean {
    return this.#standing === undefined && !this.#link.tried;
  }

  /** Whether each user reaches it in their own way: with their own credential, or on their own legacy connection. */
  get own(): boolean {
    const { isolation, protocol } = this.#options.settings;
    const era = forcedEra(protocol) ?? this.lastTerms?.era;
    return this.#standing !== undefined || (isolation !== 'shared' && era === 'legacy');
  }

  /**
   * One call of a client: waits for a place, within the bounds of the configuration. A call that waits for a person
   * gives its place back. Rejects with UPSTREAM_DOWN at once while there is no connection, UPSTREAM_BUSY when the
   * queue is full, UPSTREAM_CONNECTIONS when the party would need one connection too many of its own, UPSTREAM_AUTH
   * and UPSTREAM_TOKEN where the upstream does not let the gateway or the user in.
   */
  async call(
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
    party: Party,
  ): Promise<JsonObject> {
    const { limits, id } = this.#options.settings;
    if (this.#lane.pending >= limits.concurrency && this.#lane.size >= limits.queue) {
      throw new GatewayError('UPSTREAM_BUSY', { upstream: id });
    }
    return inLane(this.#lane, options, (watched) => this.#route(method, params, watched, party));
  }

  /** The shared connection, or the party's own where its questions or its credential need an owner. */
  async #route(
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
    party: Party,
  ): Promise<JsonObject> {
    if (this.#standing === undefined) {
      const { terms } = await this.#link.connection();
      const { isolation, protocol } = this.#options.settings;
      const inItsEra = protocol === 'auto' && terms.alsoLegacy && party.era === 'legacy';
      if (isolation === 'shared' || !(terms.era === 'legacy' || inItsEra)) {
        const { onQuestion: _nobodyToAsk, ...shared } = options;
        return this.#onShared(method, params, shared);
      }
    }
    const work = (connection: Connection) => ask(connection, method, params, options);
    return twice(() => this.#pool.use(party, work));
  }

  /**
   * A request outside the lane: list walks must not wait behind slow calls. With a party, on the connection that is used
   * for that party, whichever of its own is open; without one, on the shared connection.
   */
  request(
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
    party?: Party,
  ): Promise<JsonObject> {
    if (party !== undefined && this.own) {
      const work = (connection: Connection) => ask(connection, method, params, options);
      return twice(() => this.#pool.useAny(party, work));
    }
    if (this.#standing !== undefined) {
      const logged = 'a request as nobody to a server for single users';
      return Promise.reject(
        new GatewayError('UPSTREAM_DOWN', { upstream: this.#options.settings.id, logged }),
      );
    }
    return this.#onShared(method, params, options);
  }

  /** The whole set of resources that are watched from now on: by everybody, or on the connections of one user. */
  watch(uris: ReadonlySet<string>, party?: Party): void {
    if (party === undefined) {
      this.#link.watch.set(uris);
    } else {
      this.#ownWatch(party, (watch) => watch.set(uris, party));
    }
  }

  /** The whole set of tasks whose states are wanted from now on: by everybody, or on the connections of one user. */
  watchTasks(tasks: ReadonlySet<string>, party?: Party): void {
    if (party === undefined) {
      this.#link.watch.setTasks(tasks);
    } else {
      this.#ownWatch(party, (watch) => watch.setTasks(tasks, party));
    }
  }

  #ownWatch(party: Party, act: (watch: OwnWatch) => void): void {
    const { settings, envelope, log, ownEvents } = this.#options;
    const { key } = party.principal;
    let watch = this.#watches.get(key);
    if (watch === undefined) {
      const hold = (someone: Party) => this.#pool.hold(someone);
      watch = new OwnWatch({ settings, envelope, log, hold, missed: () => ownEvents.missed(key) }, party);
      this.#watches.set(key, watch);
    }
    act(watch);
    if (watch.idle) {
      this.#watches.delete(key);
    }
  }

  /** A notification of one session, on its own connections. */
  notify(session: string, method: string, params: JsonObject | undefined): Promise<void> {
    return this.#pool.notify(session, method, params);
  }

  /** A session has ended: its own connections close. */
  release(session: string): void {
    this.#pool.release(session);
  }

  async #onShared(method: string, params: JsonObject | undefined, options: CallOptions): Promise<JsonObject> {
    const link = this.#link;
    const connection = await link.connection();
    try {
      const result = await ask(connection, method, params, options);
      link.noteAuth(undefined);
      return result;
    } catch (thrown) {
      const { kind, id } = this.#options.settings;
      if (kind === 'http' && contradicts(connection.terms.era, thrown)) {
        link.mistaken(connection, new GatewayError('UPSTREAM_VERSION', { upstream: id, cause: thrown }));
      }
      if (!(thrown instanceof GatewayError)) {
        throw thrown;
      }
      if (thrown.code === 'UPSTREAM_SESSION') {
        // The upstream refused before it acted: a new session, and once more (case C-039).
        return this.#again(await link.renew(connection), method, params, options);
      }
      if (thrown.code === 'UPSTREAM_DOWN' && connection.ended === undefined) {
        link.lose(connection, thrown);
      } else if (thrown.code === 'UPSTREAM_AUTH' || thrown.code === 'UPSTREAM_TOKEN') {
        link.noteAuth(thrown);
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
        this.#link.lose(renewed, thrown);
      }
      throw thrown;
    }
  }

  /** Ends every connection within `graceMs`. Idempotent; calls in flight end with an error. */
  async close(graceMs: number): Promise<void> {
    for (const watch of this.#watches.values()) {
      watch.end();
    }
    this.#standing?.end('draining');
    await Promise.all([this.#link.close(graceMs), this.#pool.close(graceMs)]);
    this.#standing?.end('off');
    await this.#options.credentials.close();
  }
}

async function ask(
  connection: Connection,
  method: string,
  params: JsonObject | undefined,
  options: CallOptions,
): Promise<JsonObject> {
  const { logLevel } = options.envelope;
  if (logLevel !== undefined) {
    const { onQuestion: _none, onNotice: _nobody, ...plain } = options;
    await connection.wantLogs(logLevel, plain);
  }
  return connection.request(method, params, options);
}

/** Refused before it acted, because its session had ended: once more, on a new one (case C-039). */
async function twice<T>(attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'UPSTREAM_SESSION') {
      return attempt();
    }
    throw thrown;
  }
}
