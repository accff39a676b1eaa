import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { createRation } from '../base/ration.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Implementation } from '../protocol/model.ts';
import type { CallOptions } from './call.ts';
import type { Terms } from './connection.ts';
import { type FleetEvents, noticed, OWNERLESS_PER_MINUTE } from './fleet-events.ts';
import type { Party } from './party.ts';
import type { OwnRequest, Replicas } from './replicas.ts';
import { type Member, type Rebuilding, Roster } from './roster.ts';
import type { UpstreamStatus } from './state.ts';
import type { Supervisor } from './supervisor.ts';
import { WatchedThings } from './watched-things.ts';

export interface FleetOptions {
  readonly upstreams: Readonly<Record<string, UpstreamSettings>>;
  readonly clientInfo: Implementation;
  readonly events: FleetEvents;
  readonly log: Log;
  /** Absent: this process is alone. */
  readonly replicas?: Replicas | undefined;
}

/** All upstreams. Each lives by itself: a dead or slow one never delays another, or the start (case C-086). */
export class Fleet {
  readonly #watched = new WatchedThings();
  readonly #roster: Roster;

  constructor({ events, ...options }: FleetOptions) {
    const { log } = options;
    this.#roster = new Roster({
      ...options,
      hearing: (id) => {
        const lines = createRation(OWNERLESS_PER_MINUTE);
        return {
          connected: (owner) => events.connected(id, owner),
          lost: (owner) => events.lost(id, owner),
          failedFirst: () => events.failedFirst(id),
          notice: (notice, owner) => noticed(notice, { upstream: id, owner, lines }, events, log),
        };
      },
      serves: (id, supervisor) => this.#watched.tell(id, supervisor),
    });
  }

  /** Starts every enabled upstream at once; returns without waiting for any. */
  start(): void {
    for (const supervisor of this.#roster.supervisors) {
      supervisor.start();
    }
  }

  /** Ids of the enabled upstreams, in the order of the configuration. */
  get ids(): readonly string[] {
    return [...this.#roster.members.values()].flatMap(({ settings }) =>
      settings.enabled ? [settings.id] : [],
    );
  }

  /** Those of them that are not waiting for somebody to need them. */
  get started(): readonly string[] {
    return this.ids.filter((id) => !this.#of(id).unneeded);
  }

  /** Throws UPSTREAM_REMOVED where a request names one that was taken out of the configuration meanwhile. */
  settings(upstream: string): UpstreamSettings {
    return this.#member(upstream).settings;
  }

  /** State of every upstream, those that are off included, in the order of the configuration. */
  statuses(): ReadonlyMap<string, UpstreamStatus> {
    return new Map([...this.#roster.members].map(([id, { seat }]) => [id, seat.supervisor.status]));
  }

  /** What the handshake settled, while connected. */
  terms(upstream: string): Terms | undefined {
    return this.#at(upstream)?.terms;
  }

  /** Capabilities as declared last, also while the upstream is down; undefined where it was never reached. */
  capabilities(upstream: string): JsonObject | undefined {
    return this.#at(upstream)?.lastTerms?.capabilities;
  }

  /** What it said of itself to this user, as given last; see {@link Supervisor.toldTo}. */
  toldTo(upstream: string, user: Principal): Terms | undefined {
    return this.#at(upstream)?.toldTo(user);
  }

  /** What holds for requests of this party, or of the gateway itself. See {@link Supervisor.termsFor}. */
  termsFor(upstream: string, party: Party | undefined): Promise<Terms | undefined> {
    return this.#of(upstream).termsFor(party);
  }

  /** Whom events about this user's own connections name as their owner. */
  ownerOf(upstream: string, user: Principal): string {
    return this.#of(upstream).ownerOf(user);
  }

  /** True while the first attempt has not ended: what this upstream can do is unknown. */
  isPending(upstream: string): boolean {
    return this.#at(upstream)?.pending === true;
  }

  /** Starts those of them that wait for somebody to need them. */
  wake(upstreams: readonly string[]): void {
    for (const id of upstreams) {
      this.#at(id)?.wake();
    }
  }

  /** ms since the one of these that was started last; Infinity where none was. */
  youngest(upstreams: readonly string[]): number {
    return Math.min(...upstreams.map((id) => this.#of(id).age));
  }

  /** A client's call, in the upstream's lane. See {@link Supervisor.call}. */
  call(
    upstream: string,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
    party: Party,
  ): Promise<JsonObject> {
    return this.#of(upstream).call(method, params, options, party);
  }

  /** What another replica asks for on the connection of a user or session, which is this one's. */
  onOwn(request: OwnRequest): Promise<JsonObject> {
    return this.#of(request.upstream).onOwn(request);
  }

  /** What it said of itself to somebody at another replica. See {@link Standing.heard}. */
  toldElsewhere(upstream: string, grant: string, terms: Terms | undefined): void {
    this.#roster.members.get(upstream)?.seat.standing?.heard(grant, terms);
  }

  /** How single users reach it. `own`: each with their own credential, or on their own legacy connection. */
  reach(upstream: string): { readonly own: boolean } {
    return { own: this.#at(upstream)?.own === true };
  }

  /** The whole set of resources of one upstream that clients watch from now on; with a party, those of that user. */
  watch(upstream: string, uris: ReadonlySet<string>, party?: Party): void {
    this.#watched.note(upstream, party, { uris });
    this.#at(upstream)?.watch(uris, party);
  }

  /** The whole set of tasks of one upstream whose states clients want to hear; with a party, those of that user. */
  watchTasks(upstream: string, tasks: ReadonlySet<string>, party?: Party): void {
    this.#watched.note(upstream, party, { tasks });
    this.#at(upstream)?.watchTasks(tasks, party);
  }

  /** A notification of one session, on the connections that are its own. */
  async notify(session: string, method: string, params: JsonObject | undefined): Promise<void> {
    await Promise.all(this.#roster.supervisors.map((each) => each.notify(session, method, params)));
  }

  /** A session has ended: the connections that were its own close. */
  release(session: string): void {
    for (const supervisor of this.#roster.supervisors) {
      supervisor.release(session);
    }
  }

  /**
   * A request outside the lane: the gateway's own, or with a party one for that user, on the connection that is used for
   * that user. See {@link Supervisor.request}.
   */
  request(
    upstream: string,
    method: string,
    params: JsonObject,
    options: CallOptions,
    party?: Party,
  ): Promise<JsonObject> {
    return this.#of(upstream).request(method, params, options, party);
  }

  /** Becomes the fleet of these upstreams. See {@link Roster.rebuild}. */
  rebuild(upstreams: Readonly<Record<string, UpstreamSettings>>, how: Rebuilding): () => void {
    return this.#roster.rebuild(upstreams, how);
  }

  /** Resolves when no changed upstream waits for its successor and nothing drains. */
  quiet(): Promise<void> {
    return this.#roster.quiet();
  }

  /** Ends every connection and child process within `graceMs`. Idempotent. */
  close(graceMs: number): Promise<void> {
    return this.#roster.close(graceMs);
  }

  #member(upstream: string): Member {
    const member = this.#roster.members.get(upstream);
    if (member === undefined) {
      throw new GatewayError('UPSTREAM_REMOVED', { upstream });
    }
    return member;
  }

  #of(upstream: string): Supervisor {
    return this.#member(upstream).seat.supervisor;
  }

  #at(upstream: string): Supervisor | undefined {
    return this.#roster.members.get(upstream)?.seat.supervisor;
  }
}
