import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { CallOptions } from './call.ts';
import type { Terms } from './connection.ts';
import type { Credentials } from './credentials.ts';
import { Lane } from './lane.ts';
import { Link } from './link.ts';
import type { LinkOptions } from './link-options.ts';
import { grantFor } from './member.ts';
import { forcedEra } from './negotiate.ts';
import { Ongoing } from './ongoing.ts';
import { OwnCalls } from './own-calls.ts';
import type { PoolEvents } from './own-connection.ts';
import { OwnWatch } from './own-watch.ts';
import type { Party } from './party.ts';
import { Pool } from './pool.ts';
import type { Homes, OwnRequest } from './replicas.ts';
import { SharedCalls } from './shared-calls.ts';
import type { Standing } from './standing.ts';
import type { UpstreamStatus } from './state.ts';
import type { Transport } from './transport.ts';

export interface SupervisorOptions extends Omit<LinkOptions, 'transport'> {
  readonly credentials: Credentials;
  /** `user` is absent on the shared connection. */
  readonly transport: (sse: boolean, user?: () => Principal) => Transport;
  readonly ownEvents: PoolEvents;
  /** Where connections of single users are that other replicas have; absent: this process is alone. */
  readonly homes?: Homes | undefined;
  /** Where users sign in by themselves. */
  readonly standing: Standing | undefined;
}

/** One upstream: its shared link, the connections that belong to single users, and the bounds of its calls. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #link: Link;
  readonly #shared: SharedCalls;
  readonly #lane: Lane;
  readonly #ongoing: Ongoing;
  readonly #pool: Pool;
  readonly #own: OwnCalls;
  /** Where users sign in by themselves: then the shared link is not started. */
  readonly #standing: Standing | undefined;
  readonly #watches = new Map<string, OwnWatch>();
  #startedAt = Number.NEGATIVE_INFINITY;
  #draining: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    const { settings, log, transport } = options;
    this.#options = options;
    this.#link = new Link({ ...options, transport: (sse) => transport(sse) });
    this.#shared = new SharedCalls(settings, this.#link);
    this.#ongoing = new Ongoing(this.#link.idleness);
    this.#lane = new Lane({ upstream: settings.id, ...settings.limits });
    this.#standing = options.standing;
    this.#pool = new Pool({
      settings,
      log,
      transport,
      standing: this.#standing,
      sse: () => this.#link.sse,
      events: options.ownEvents,
    });
    this.#own = new OwnCalls({ settings, pool: this.#pool, standing: this.#standing, homes: options.homes });
  }

  /** Starts the shared connection; where there is none, or it waits to be needed, nothing is to be waited for. */
  start(): void {
    const { settings, events } = this.#options;
    if (this.#standing === undefined) {
      this.#startedAt = Date.now();
      this.#link.start();
    } else if (settings.enabled) {
      events.failedFirst();
    }
  }

  /** Somebody wants to know what it offers: starts one that was never needed before. Waits for nobody. */
  wake(): void {
    if (this.unneeded) {
      this.#startedAt = Date.now();
      this.#link.wake();
    }
  }

  /** ms since it was started first; Infinity where it never was. */
  get age(): number {
    return Date.now() - this.#startedAt;
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

  /**
   * What the last handshake told this user: where users sign in by themselves, each is told for themselves. Undefined
   * where that is not known.
   */
  toldTo(user: Principal): Terms | undefined {
    return this.#standing === undefined ? this.#link.lastTerms : this.#standing.told.of(this.ownerOf(user));
  }

  /** What holds for requests of this party: where users sign in by themselves, on a connection of theirs, opened first. */
  async termsFor(party: Party | undefined): Promise<Terms | undefined> {
    if (this.#standing === undefined || party === undefined) {
      return this.terms;
    }
    const about = { method: undefined, params: undefined, options: undefined };
    // Said by `onOwn`, here or on another replica of this gateway.
    return (await this.#own.request({ ...about, party, any: true })) as unknown as Terms;
  }

  /** True while the first attempt has not ended: what this upstream can do is unknown. */
  get pending(): boolean {
    return this.#standing === undefined && !this.#link.tried && !this.unneeded;
  }

  /** True while it waits for somebody to need it for the first time. */
  get unneeded(): boolean {
    return this.#standing === undefined && !this.#link.tried && this.#link.status.state === 'idle';
  }

  /** Whether each user reaches it in their own way: with their own credential, or on their own legacy connection. */
  get own(): boolean {
    const { isolation, protocol } = this.#options.settings;
    const era = forcedEra(protocol) ?? this.lastTerms?.era;
    return this.#standing !== undefined || (isolation !== 'shared' && era === 'legacy');
  }

  /** Whom events about this user's connections name as their owner. */
  ownerOf(user: Principal): string {
    return grantFor(user, this.#standing);
  }

  /**
   * One call of a client: waits for a place, within the bounds of the configuration, in turn with other users. A call that
   * waits for a person gives its place back. Rejects with UPSTREAM_DOWN at once while there is no connection,
   * UPSTREAM_BUSY when the queue is full or no turn came in time, UPSTREAM_REMOVED when it outlasts {@link drain},
   * UPSTREAM_CONNECTIONS when the party would need one connection too many of its own, UPSTREAM_AUTH and UPSTREAM_TOKEN
   * where the upstream does not let the gateway or the user in.
   */
  call(
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
    party: Party,
  ): Promise<JsonObject> {
    if (this.#draining !== undefined) {
      return Promise.reject(new GatewayError('UPSTREAM_DOWN', { upstream: this.#options.settings.id }));
    }
    const go = (watched: CallOptions) => this.#route(method, params, watched, party);
    return this.#ongoing.track(this.#lane.run(party.principal.key, options, go));
  }

  /** The shared connection, or the party's own where its questions or its credential need an owner. */
  async #route(
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
    party: Party,
  ): Promise<JsonObject> {
    if (this.#standing === undefined) {
      const terms = this.#link.terms ?? (await this.#link.connection(options.signal)).terms;
      const { isolation, protocol } = this.#options.settings;
      const inItsEra = protocol === 'auto' && terms.alsoLegacy && party.era === 'legacy';
      if (isolation === 'shared' || !(terms.era === 'legacy' || inItsEra)) {
        return this.#shared.request(method, params, options);
      }
    }
    return this.#own.request({ method, params, options, party, any: false });
  }

  /** What another replica asks for on the connection of a user or session, which is this one's. */
  onOwn(request: OwnRequest): Promise<JsonObject> {
    return this.#own.here(request);
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
      return this.#own.request({ method, params, options, party, any: true });
    }
    if (this.#standing !== undefined) {
      const logged = 'a request as nobody to a server for single users';
      return Promise.reject(
        new GatewayError('UPSTREAM_DOWN', { upstream: this.#options.settings.id, logged }),
      );
    }
    return this.#shared.request(method, params, options);
  }

  /** The whole set of resources that are watched from now on: by everybody, or on the connections of one user. */
  watch(uris: ReadonlySet<string>, party?: Party): void {
    if (party === undefined) {
      this.#link.watch.set(uris);
      this.#wakeToWatch(uris.size);
    } else {
      this.#ownWatch(party, (watch) => watch.set(uris, party));
    }
  }

  /** The whole set of tasks whose states are wanted from now on: by everybody, or on the connections of one user. */
  watchTasks(tasks: ReadonlySet<string>, party?: Party): void {
    if (party === undefined) {
      this.#link.watch.setTasks(tasks);
      this.#wakeToWatch(tasks.size);
    } else {
      this.#ownWatch(party, (watch) => watch.setTasks(tasks, party));
    }
  }

  #wakeToWatch(wanted: number): void {
    if (wanted > 0 && this.#standing === undefined) {
      this.#link.wake();
    }
  }

  #ownWatch(party: Party, act: (watch: OwnWatch) => void): void {
    const { settings, envelope, log, ownEvents } = this.#options;
    const owner = this.ownerOf(party.principal);
    let watch = this.#watches.get(owner);
    if (watch === undefined) {
      const hold = (someone: Party) => this.#pool.hold(someone);
      watch = new OwnWatch({ settings, envelope, log, hold, missed: () => ownEvents.missed(owner) }, party);
      this.#watches.set(owner, watch);
    }
    act(watch);
    if (watch.idle) {
      this.#watches.delete(owner);
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

  /**
   * It was taken out of the configuration, or another takes its place: no new calls. Those under way, and their questions,
   * get `graceMs`; then they end with UPSTREAM_REMOVED, and every connection closes. Idempotent.
   */
  drain(graceMs: number): Promise<void> {
    this.#draining ??= this.#drain(graceMs);
    return this.#draining;
  }

  async #drain(graceMs: number): Promise<void> {
    const { id, stop } = this.#options.settings;
    this.#link.drain();
    this.#standing?.end('draining');
    await this.#ongoing.settled(graceMs);
    this.#ongoing.endAll('UPSTREAM_REMOVED', id);
    await this.close(stop.grace);
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
