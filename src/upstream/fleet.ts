import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import { CHANGES, type Change, type Implementation } from '../protocol/model.ts';
import type { CallOptions } from './calls.ts';
import type { Terms } from './connection.ts';
import { type Credential, createCredentials } from './credentials.ts';
import { createHttpTransport } from './http.ts';
import type { UpstreamStatus } from './link.ts';
import type { Party } from './party.ts';
import { createSseTransport } from './sse-2024.ts';
import { createStdioTransport } from './stdio.ts';
import { Supervisor } from './supervisor.ts';
import type { Transport } from './transport.ts';

/** `owner` is the key of the principal whose own connection it is about; undefined: the shared one, everybody's. */
export interface FleetEvents {
  /** Connected, or connected again: read its lists (case C-026). For an owner: notices to it may have gone unheard. */
  connected(upstream: string, owner?: string): void;
  /** No notices any more. For an owner: its last connection has closed, for being idle as well. */
  lost(upstream: string, owner?: string): void;
  /** No list for everybody is to be expected soon: the first attempt has failed, or only single users reach it. */
  failedFirst(upstream: string): void;
  /** The upstream says that a resource changed, under its own URI. */
  updated(upstream: string, uri: string, owner?: string): void;
  /** The upstream says how a task stands. */
  task(upstream: string, task: JsonObject, owner?: string): void;
  /** The upstream says that a list changed, whether it had declared so or not (case C-024). */
  changed(upstream: string, change: Change, owner?: string): void;
}

export interface FleetOptions {
  readonly upstreams: Readonly<Record<string, UpstreamSettings>>;
  readonly clientInfo: Implementation;
  readonly events: FleetEvents;
  readonly log: Log;
}

/** All upstreams. Each lives by itself: a dead or slow one never delays another, or the start (case C-086). */
export class Fleet {
  readonly #supervisors = new Map<string, Supervisor>();
  readonly #settings: Readonly<Record<string, UpstreamSettings>>;

  #startedAt: number | undefined;

  constructor(options: FleetOptions) {
    this.#settings = options.upstreams;
    // The gateway's own traffic announces no capabilities: nobody could answer (case C-070).
    const envelope: Envelope = { clientInfo: options.clientInfo, clientCapabilities: {} };
    for (const settings of Object.values(options.upstreams)) {
      const { id } = settings;
      const log = options.log.child({ upstream: id });
      const credentials = createCredentials(settings);
      const { events } = options;
      const supervisor = new Supervisor({
        settings,
        envelope,
        log,
        credentials,
        transport: (sse, user) => transportFor(settings, sse, credentials.for(user ?? nobody), log),
        events: {
          connected: () => events.connected(id),
          lost: () => events.lost(id),
          failedFirst: () => events.failedFirst(id),
          notice: (notice) => noticed(notice, { upstream: id }, events, log),
        },
        ownEvents: {
          missed: (owner) => events.connected(id, owner),
          lost: (owner) => events.lost(id, owner),
          notice: (notice, owner) => noticed(notice, { upstream: id, owner }, events, log),
        },
      });
      this.#supervisors.set(id, supervisor);
    }
  }

  /** Starts every enabled upstream at once; returns without waiting for any. */
  start(): void {
    this.#startedAt = Date.now();
    for (const supervisor of this.#supervisors.values()) {
      supervisor.start();
    }
  }

  /** ms since all of them were started; 0 before. */
  get age(): number {
    return this.#startedAt === undefined ? 0 : Date.now() - this.#startedAt;
  }

  /** Ids of the enabled upstreams, in the order of the configuration. */
  get ids(): readonly string[] {
    return Object.values(this.#settings)
      .filter((settings) => settings.enabled)
      .map((settings) => settings.id);
  }

  settings(upstream: string): UpstreamSettings {
    const settings = this.#settings[upstream];
    if (settings === undefined) {
      throw new GatewayError('INTERNAL', { logged: 'a route names an upstream that does not exist' });
    }
    return settings;
  }

  /** State of every upstream, those that are off included, in the order of the configuration. */
  statuses(): ReadonlyMap<string, UpstreamStatus> {
    return new Map([...this.#supervisors].map(([id, supervisor]) => [id, supervisor.status]));
  }

  /** What the handshake settled, while connected. */
  terms(upstream: string): Terms | undefined {
    return this.#supervisors.get(upstream)?.terms;
  }

  /** Capabilities as declared last, also while the upstream is down; undefined where it was never reached. */
  capabilities(upstream: string): JsonObject | undefined {
    return this.#supervisors.get(upstream)?.lastTerms?.capabilities;
  }

  /** Its own instructions for models, as given last; undefined where it is reached as each user alone. */
  instructions(upstream: string): string | undefined {
    return this.#supervisors.get(upstream)?.instructions;
  }

  /** True while the first attempt has not ended: what this upstream can do is unknown. */
  isPending(upstream: string): boolean {
    return this.#supervisors.get(upstream)?.pending === true;
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

  /** How single users reach it. `own`: each with their own credential, or on their own legacy connection. */
  reach(upstream: string): { readonly own: boolean } {
    return { own: this.#supervisors.get(upstream)?.own === true };
  }

  /** The whole set of resources of one upstream that clients watch from now on; with a party, those of that user. */
  watch(upstream: string, uris: ReadonlySet<string>, party?: Party): void {
    this.#supervisors.get(upstream)?.watch(uris, party);
  }

  /** The whole set of tasks of one upstream whose states clients want to hear; with a party, those of that user. */
  watchTasks(upstream: string, tasks: ReadonlySet<string>, party?: Party): void {
    this.#supervisors.get(upstream)?.watchTasks(tasks, party);
  }

  /** A notification of one session, on the connections that are its own. */
  async notify(session: string, method: string, params: JsonObject | undefined): Promise<void> {
    await Promise.all([...this.#supervisors.values()].map((each) => each.notify(session, method, params)));
  }

  /** A session has ended: the connections that were its own close. */
  release(session: string): void {
    for (const supervisor of this.#supervisors.values()) {
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

  /** Ends every connection and child process within `graceMs`. Idempotent. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor.close(graceMs)));
  }

  #of(upstream: string): Supervisor {
    const supervisor = this.#supervisors.get(upstream);
    if (supervisor === undefined) {
      throw new GatewayError('UPSTREAM_DOWN', { upstream });
    }
    return supervisor;
  }
}

/** Whom the shared connection is for. */
const nobody = () => undefined;

function transportFor(upstream: UpstreamSettings, sse: boolean, credential: Credential, log: Log): Transport {
  if (upstream.kind === 'stdio') {
    return createStdioTransport({ upstream, log });
  }
  const about = { upstream, credential, log };
  return sse ? createSseTransport(about) : createHttpTransport(about);
}

function noticed(
  notice: RpcNotification,
  { upstream, owner }: { upstream: string; owner?: string },
  events: FleetEvents,
  log: Log,
): void {
  const uri = notice.params?.['uri'];
  if (notice.method === 'notifications/resources/updated' && typeof uri === 'string') {
    events.updated(upstream, uri, owner);
    return;
  }
  if (notice.method === 'notifications/tasks' && notice.params !== undefined) {
    events.task(upstream, notice.params, owner);
    return;
  }
  const change = CHANGES.find((name) => notice.method === `notifications/${name}/list_changed`);
  if (change !== undefined) {
    events.changed(upstream, change, owner);
  } else {
    // Log messages on a shared channel have no owner; vendor notices are nobody's (cases C-024, C-067).
    log.debug({ method: notice.method }, 'a notice without an owner was not passed on');
  }
}
