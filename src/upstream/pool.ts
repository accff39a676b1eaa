import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { after, pause } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Implementation } from '../protocol/model.ts';
import { LATEST_LEGACY } from '../protocol/versions.ts';
import type { Question } from './calls.ts';
import type { Connection } from './connection.ts';
import { establish } from './establish.ts';
import { STREAM_HEADERS_MS } from './link.ts';
import type { Transport } from './transport.ts';

/** For whom a call is made, as far as it decides which connection it takes. */
export interface Party {
  readonly principal: string;
  /** The legacy session it came in, where there is one. */
  readonly session: string | undefined;
  readonly era: 'modern' | 'legacy';
  readonly info: Implementation;
  /** Capabilities of this client that the gateway can carry: declared on its connections, and nothing else. */
  readonly capabilities: JsonObject;
  /** Answers a question that comes while no call is under way. */
  readonly question: (question: Question) => Promise<JsonObject>;
}

export interface PoolOptions {
  readonly settings: UpstreamSettings;
  readonly transport: (sse: boolean) => Transport;
  /** Whether the URL speaks only the 2024-11-05 transport, as the shared connection found out. */
  readonly sse: () => boolean;
  /** Notices of the server that belong to no call, such as list changes: some servers tell only the session they concern. */
  readonly notice: (notice: RpcNotification) => void;
  readonly log: Log;
}

interface Member {
  readonly opened: Promise<Connection>;
  readonly owner: string;
  party: Party;
  users: number;
  cancelIdle: () => void;
}

/**
 * Connections that belong to one user or one session of a client (`isolation`), each declaring exactly that client's
 * capabilities, so that a question of the server has an owner (cases C-051, C-067). Bounded; idle ones close.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #members = new Map<string, Member>();
  readonly #ending = new AbortController();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#members.size;
  }

  /** Runs `work` on the connection of this party, which is opened first where there is none yet. */
  async use<T>(party: Party, work: (connection: Connection) => Promise<T>): Promise<T> {
    const { settings } = this.#options;
    const key = keyOf(party, settings.isolation);
    const member = this.#members.get(key) ?? this.#open(key, party);
    member.party = party;
    member.users += 1;
    member.cancelIdle();
    try {
      return await work(await member.opened);
    } catch (thrown) {
      if (thrown instanceof GatewayError && thrown.code === 'UPSTREAM_SESSION') {
        this.#retire(key, member); // the upstream ended its session: the next use opens another
      }
      throw thrown;
    } finally {
      member.users -= 1;
      if (member.users === 0 && this.#members.get(key) === member) {
        member.cancelIdle = after(settings.timeouts.idle, () => this.#retire(key, member));
      }
    }
  }

  /** Sends a notification on the open connections of a session, for instance that its roots changed. */
  async notify(owner: string, method: string, params: JsonObject | undefined): Promise<void> {
    const mine = [...this.#members.values()].filter((member) => member.owner === owner);
    const opened = await Promise.allSettled(mine.map((member) => member.opened));
    await Promise.all(
      opened.map((one) => (one.status === 'fulfilled' ? one.value.notify(method, params) : undefined)),
    );
  }

  /** The session has ended: so do its connections (case C-049). */
  release(owner: string): void {
    for (const [key, member] of this.#members) {
      if (member.owner === owner) {
        this.#retire(key, member);
      }
    }
  }

  async close(graceMs: number): Promise<void> {
    this.#ending.abort();
    const members = [...this.#members.values()];
    this.#members.clear();
    await Promise.all(
      members.map(async (member) => {
        member.cancelIdle();
        const connection = await member.opened.catch(() => undefined);
        await connection?.close(Math.min(graceMs, this.#options.settings.stop.grace));
      }),
    );
  }

  #open(key: string, party: Party): Member {
    const { settings, log } = this.#options;
    if (this.#ending.signal.aborted) {
      throw new GatewayError('UPSTREAM_DOWN', { upstream: settings.id });
    }
    if (this.#members.size >= settings.limits.connections && !this.#evictIdle()) {
      throw new GatewayError('UPSTREAM_CONNECTIONS', { upstream: settings.id });
    }
    const opened = this.#established(key, party, () => member);
    const member: Member = {
      opened,
      owner: party.session ?? party.principal,
      party,
      users: 0,
      cancelIdle: () => {},
    };
    this.#members.set(key, member);
    opened.then(
      (connection) =>
        log.info({ version: connection.terms.version, open: this.size }, 'isolated connection opened'),
      () => this.#forget(key, member), // whoever waits for it hears why
    );
    return member;
  }

  /** Opened, and able to hear: a server may ask on its stream of notices as soon as the first call has come. */
  async #established(key: string, party: Party, member: () => Member): Promise<Connection> {
    const { settings, log, transport, sse, notice } = this.#options;
    const connection = await establish({
      settings: { ...settings, protocol: settings.protocol === 'auto' ? LATEST_LEGACY : settings.protocol },
      memory: { era: 'legacy', sse: sse(), hung: false },
      transport,
      envelope: { clientInfo: party.info, clientCapabilities: party.capabilities },
      log,
      signal: this.#ending.signal,
      events: {
        notice,
        closed: () => this.#forget(key, member()),
        question: (question) => member().party.question(question),
      },
    });
    await Promise.race([
      new Promise<void>((resolve) => connection.listen(resolve)),
      pause(STREAM_HEADERS_MS),
    ]);
    return connection;
  }

  #evictIdle(): boolean {
    const idle = [...this.#members].find(([, member]) => member.users === 0);
    if (idle !== undefined) {
      this.#retire(idle[0], idle[1]);
    }
    return idle !== undefined;
  }

  #retire(key: string, member: Member): void {
    this.#forget(key, member);
    const grace = this.#options.settings.stop.grace;
    member.opened
      .then((connection) => connection.close(grace))
      .catch((thrown: unknown) =>
        this.#options.log.debug({ err: thrown }, 'an isolated connection did not open'),
      );
  }

  #forget(key: string, member: Member): void {
    member.cancelIdle();
    if (this.#members.get(key) === member) {
      this.#members.delete(key);
    }
  }
}

function keyOf(party: Party, isolation: UpstreamSettings['isolation']): string {
  const owner = isolation === 'session' && party.session !== undefined ? party.session : party.principal;
  return JSON.stringify([owner, party.info.name, party.capabilities]);
}
