import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { after } from '../base/time.ts';
import type { Connection } from './connection.ts';
import { isLeftWaiting, whetherThere } from './liveness.ts';
import { grantFor, keyFor, Member } from './member.ts';
import { contradicts, unsettles } from './negotiate.ts';
import { openOwn, type PoolOptions } from './own-connection.ts';
import type { Party } from './party.ts';

/** A connection that stays open until it is given back. */
export interface Hold {
  readonly connection: Connection;
  readonly ended: Promise<void>;
  readonly release: () => void;
}

/**
 * Connections that belong to one user or one session of a client (`isolation`, or credentials of the user's own). A
 * legacy one declares exactly that client's capabilities, so that a question of the server has an owner (cases C-051,
 * C-067). Bounded: idle ones close, the one that was idle longest makes room.
 */
export class Pool {
  readonly #options: PoolOptions;
  /** The one used last comes last. */
  readonly #members = new Map<string, Member>();
  readonly #ending = new AbortController();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Runs `work` on the connection of this party, which is opened first where there is none yet. */
  use<T>(party: Party, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#work(this.#memberFor(party), work);
  }

  /** Runs `work` on any connection of this user, whoever of their clients it was opened for; opened if there is none. */
  useAny<T>(party: Party, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#work(this.#anyFor(party), work);
  }

  /** Whether there is a connection of that key; see {@link keyFor}. */
  has(key: string): boolean {
    return this.#members.has(key);
  }

  /** A connection of this user that is not closed for being idle until it is given back. */
  async hold(party: Party): Promise<Hold> {
    const member = this.#anyFor(party);
    const release = this.#enter(member);
    try {
      return { connection: await member.opened, ended: member.ended, release };
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  /** Sends a notification on the open connections of a session, for instance that its roots changed. */
  async notify(session: string, method: string, params: JsonObject | undefined): Promise<void> {
    const mine = [...this.#members.values()].filter((member) => member.sessions.has(session));
    const opened = await Promise.allSettled(mine.map((member) => member.opened));
    await Promise.all(
      opened.map((one) =>
        one.status === 'fulfilled' && one.value.terms.era === 'legacy'
          ? one.value.notify(method, params)
          : undefined,
      ),
    );
  }

  /** The session has ended: so do the connections that nobody else uses (case C-049). */
  release(session: string): void {
    for (const member of [...this.#members.values()]) {
      const mine = member.sessions.delete(session);
      if (mine && member.ofSession) {
        this.#cut(member);
      } else if (mine && member.sessions.size === 0 && member.users === 0) {
        this.#retire(member);
      }
    }
  }

  async close(graceMs: number): Promise<void> {
    this.#ending.abort();
    const members = [...this.#members.values()];
    this.#members.clear();
    const { grace } = this.#options.settings.stop;
    await Promise.all(
      members.map(async (member) => {
        member.end();
        const connection = await member.opened.catch(() => undefined);
        await connection?.close(Math.min(graceMs, grace));
      }),
    );
  }

  async #work<T>(member: Member, work: (connection: Connection) => Promise<T>): Promise<T> {
    const leave = this.#enter(member);
    let connection: Connection | undefined;
    const since = Date.now();
    try {
      connection = await member.opened;
      return await work(connection);
    } catch (thrown) {
      if (connection !== undefined) {
        this.#judge(member, connection, thrown);
        const { kind } = this.#options.settings;
        const refused = kind === 'http' && unsettles(connection.terms.era, thrown);
        if (refused || (isLeftWaiting(thrown) && connection.heardAt <= since)) {
          void this.#doubt(member, connection);
        }
      }
      throw thrown;
    } finally {
      leave();
    }
  }

  /** What a failure says of the connection it happened on, and of the others of its user. */
  #judge(member: Member, connection: Connection, thrown: unknown): void {
    const { settings, standing } = this.#options;
    if (standing !== undefined && settings.kind === 'http' && contradicts(connection.terms.era, thrown)) {
      standing.mistaken();
      this.#retire(member);
    }
    if (!(thrown instanceof GatewayError)) {
      return;
    }
    if (thrown.code === 'UPSTREAM_SESSION') {
      this.#retire(member); // the upstream ended its session: the next use opens another
    } else if (standing !== undefined && thrown.code === 'UPSTREAM_DOWN' && connection.ended === undefined) {
      this.#retire(member);
      standing.failed(thrown, this.#members.size);
    } else if (standing !== undefined && thrown.code === 'UPSTREAM_AUTH' && thrown.data?.['status'] === 403) {
      // Perhaps for this one request; its lists tell, when they are read again.
      this.#options.events.missed(member.grant);
    } else if (standing !== undefined && thrown.code === 'UPSTREAM_AUTH') {
      // Refused, after whatever could be renewed was: nothing that was opened for this user is of use any more.
      standing.told.forget(member.grant);
      for (const other of [...this.#members.values()].filter(({ grant }) => grant === member.grant)) {
        this.#retire(other);
      }
    }
  }

  /** One that let a call run out without a word, or refused it, is asked whether it is there; if not, the next call opens another. */
  async #doubt(member: Member, connection: Connection): Promise<void> {
    const { settings } = this.#options;
    const envelope = { clientInfo: member.party.info, clientCapabilities: member.party.capabilities };
    const fault = await whetherThere({ connection, settings, envelope }, true);
    if (fault?.code === 'UPSTREAM_VERSION') {
      this.#options.standing?.mistaken();
      this.#retire(member);
    } else if (fault !== undefined) {
      this.#cut(member);
    }
  }

  #enter(member: Member): () => void {
    const { settings } = this.#options;
    if (this.#members.get(member.key) === member) {
      this.#members.delete(member.key);
      this.#members.set(member.key, member);
    }
    return member.enter(() =>
      this.#members.get(member.key) === member
        ? after(settings.timeouts.idle, () => this.#retire(member))
        : undefined,
    );
  }

  #memberFor(party: Party): Member {
    const key = keyFor(party, this.#options);
    const known = this.#members.get(key);
    if (known === undefined) {
      return this.#open(key, party);
    }
    known.serve(party, () => this.#retire(known));
    return known;
  }

  #anyFor(party: Party): Member {
    const grant = grantFor(party.principal, this.#options.standing);
    const mine = [...this.#members.values()].findLast((member) => member.grant === grant);
    mine?.renew(party.principal, () => this.#retire(mine));
    return mine ?? this.#memberFor(party);
  }

  #open(key: string, party: Party): Member {
    const { settings, standing, log } = this.#options;
    if (this.#ending.signal.aborted) {
      throw new GatewayError('UPSTREAM_DOWN', { upstream: settings.id });
    }
    standing?.demand();
    if (this.#members.size >= settings.limits.connections && !this.#evictIdle()) {
      throw new GatewayError('UPSTREAM_CONNECTIONS', { upstream: settings.id });
    }
    const ofSession = settings.isolation === 'session' && party.session !== undefined;
    const grant = grantFor(party.principal, standing);
    const member: Member = new Member({ key, grant, ofSession, party }, () =>
      openOwn(member, {
        ...this.#options,
        signal: this.#ending.signal,
        closed: () => this.#forget(member),
        others: () => this.#openOnes(member),
      }),
    );
    this.#members.set(key, member);
    member.serve(party, () => this.#retire(member));
    standing?.opening();
    member.opened.then(
      (connection) => {
        standing?.told.remember(member.grant, connection.terms);
        this.#rename(member);
        log.info(
          { version: connection.terms.version, open: this.#members.size },
          'connection of a user opened',
        );
      },
      (thrown: unknown) => {
        if (thrown instanceof GatewayError && thrown.code === 'UPSTREAM_AUTH') {
          standing?.told.forget(member.grant);
        }
        this.#forget(member); // whoever waits for it hears why
      },
    );
    return member;
  }

  /** A modern connection serves every client of its user: their capabilities go with each request. */
  #rename(member: Member): void {
    const key = keyFor(member.party, this.#options);
    if (key !== member.key && this.#members.get(member.key) === member && !this.#members.has(key)) {
      this.#members.delete(member.key);
      member.key = key;
      this.#members.set(key, member);
    }
  }

  #evictIdle(): boolean {
    const idle = [...this.#members.values()].find((member) => member.users === 0);
    if (idle !== undefined) {
      this.#retire(idle);
    }
    return idle !== undefined;
  }

  /** No more calls on it; those under way end by themselves, each within its own limits. */
  #retire(member: Member): void {
    const { timeouts, stop } = this.#options.settings;
    if (member.users === 0) {
      this.#cut(member);
    } else {
      this.#part(member, (connection) => connection.retire(timeouts.total, stop.grace));
    }
  }

  /** Nobody is left to hear of the calls under way: they end with the connection. */
  #cut(member: Member): void {
    const { grace } = this.#options.settings.stop;
    this.#part(member, (connection) => connection.close(grace));
  }

  #part(member: Member, end: (connection: Connection) => Promise<void> | void): void {
    this.#forget(member);
    member.opened
      .then(end)
      .catch((thrown: unknown) =>
        this.#options.log.debug({ err: thrown }, 'a connection of a user did not open'),
      );
  }

  #forget(member: Member): void {
    member.end();
    if (this.#members.get(member.key) !== member) {
      return;
    }
    this.#members.delete(member.key);
    this.#options.standing?.closed(this.#openOnes(member));
    const { grant } = member;
    if (![...this.#members.values()].some((other) => other.grant === grant)) {
      this.#options.events.lost(grant);
    }
  }

  #openOnes(but: Member): number {
    return [...this.#members.values()].filter((member) => member !== but).length;
  }
}
