import { LRUCache } from 'lru-cache';
import { GatewayError } from '../base/errors.ts';
import { keepCredential } from '../base/secrets.ts';
import { backoff } from '../base/time.ts';
import type { IssuedToken } from './authorization-server.ts';

/** What a token is wanted for, and how to get one. */
export interface TokenWanted {
  /** Whoever has the same key gets the same token. */
  readonly key: string;
  /** Nothing got for this outlives it, in ms since the epoch; undefined: no such bound. */
  readonly until: number | undefined;
  /** What is given in exchange: a refusal is remembered for this one alone. */
  readonly subject: string | undefined;
  readonly ask: () => Promise<IssuedToken>;
}

/** A token as other replicas of this gateway may use it as well. Times in ms since the epoch. */
export interface SharedToken {
  readonly text: string;
  readonly gotAt: number;
  readonly endsAt: number;
}

/** Tokens of one upstream that the replicas of a gateway have in common. Nothing here ever fails: there is one or there is none. */
export interface SharedTokens {
  get(key: string): Promise<SharedToken | undefined>;
  put(key: string, token: SharedToken): void;
  /** This one is not accepted any more. */
  forget(key: string, token: SharedToken): void;
}

/** Tokens kept at once for one upstream; the one that was not used longest goes first. */
const MOST_TOKENS = 1_000;
/** A token is renewed before its end: this long, or a tenth of its life where that is less. */
const EARLY_MS = 30_000;
/** Where the server does not say how long a token holds (RFC 6749, 5.1 leaves it open). */
const UNSTATED_MS = 300_000;
/** Nothing is kept longer, whatever the server says. */
const LONGEST_MS = 86_400_000;
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 30_000;
/** How long a token that was renewed after a refusal is not renewed again: the next one would be refused as well. */
const PATIENCE_MS = 30_000;
/** For what is known of a key without a token. */
const MEMORY_MS = 60_000;

interface Held {
  readonly text: string;
  readonly gotAt: number;
  readonly renewAt: number;
  readonly endsAt: number;
  /** It was got because the one before it had been refused. */
  readonly afterRefusal: boolean;
}

interface Failure {
  readonly error: GatewayError;
  readonly until: number;
  readonly count: number;
  readonly subject: string | undefined;
}

interface Entry {
  readonly held?: Held | undefined;
  readonly failure?: Failure | undefined;
  readonly refusedAt?: number | undefined;
  /** The one that was refused then: another replica may have it still. */
  readonly refused?: string | undefined;
  /** Ends the masking of what this entry knows. */
  readonly unmask: () => void;
}

/**
 * Tokens of one upstream, each kept until shortly before its end. One request for a key however many calls wait for it
 * (case C-055); a failure is remembered for a while; no token is ever a part of a key, an error or a log line.
 */
export class TokenCache {
  readonly #entries = new LRUCache<string, Entry>({
    max: MOST_TOKENS,
    ttlAutopurge: true,
    dispose: (entry) => entry.unmask(),
  });
  readonly #flights = new Map<string, Promise<Held>>();
  readonly #now: () => number;
  readonly #shared: SharedTokens | undefined;

  constructor(now: () => number = Date.now, shared?: SharedTokens) {
    this.#now = now;
    this.#shared = shared;
  }

  /** Rejects with the GatewayError of `ask`, or with the one it had shortly before. */
  async get(wanted: TokenWanted): Promise<string> {
    const { held, failure } = this.#entries.get(wanted.key) ?? {};
    const now = this.#now();
    if (held !== undefined && now < held.renewAt) {
      return held.text;
    }
    const usable = held !== undefined && now < held.endsAt ? held : undefined;
    if (failure !== undefined && now < failure.until && failure.subject === wanted.subject) {
      return textOf(usable, failure.error);
    }
    const flight = this.#flights.get(wanted.key) ?? this.#start(wanted);
    try {
      return (await flight).text;
    } catch (thrown) {
      return textOf(usable, thrown);
    }
  }

  /**
   * The upstream has refused this token. True when another one is worth a try: this one is not kept any more. False for
   * one that was itself got after a refusal, a short while ago, and for a 403 on one that is young: what its user may do
   * has hardly changed since.
   */
  refused(key: string, text: string, status: number): boolean {
    const entry = this.#entries.get(key);
    const held = entry?.held;
    if (entry === undefined || held === undefined || held.text !== text) {
      return true; // another call has seen to it already
    }
    const now = this.#now();
    const young = now - held.gotAt < PATIENCE_MS;
    if (young && (held.afterRefusal || status === 403)) {
      return false;
    }
    this.#put(key, { refusedAt: now, refused: text }, [text]);
    this.#shared?.forget(key, held);
    return true;
  }

  /** Forgets everything. */
  clear(): void {
    this.#entries.clear();
  }

  #start(wanted: TokenWanted): Promise<Held> {
    const { key } = wanted;
    const flight = this.#fetch(wanted).finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }

  async #fetch({ key, until, subject, ask }: TokenWanted): Promise<Held> {
    const askedAt = this.#now();
    const unmask = subject === undefined ? () => {} : keepCredential(subject);
    try {
      const found = await this.#foundShared(key);
      const { text, gotAt, endsAt } = found ?? (await this.#issued(ask, askedAt, until));
      const before = this.#entries.peek(key);
      const held = {
        text,
        gotAt,
        endsAt,
        renewAt: renewalOf({ gotAt: found?.gotAt ?? askedAt, endsAt }),
        afterRefusal: before?.refusedAt !== undefined,
      };
      if (found === undefined) {
        this.#shared?.put(key, held);
      }
      // The old one may still be on its way, and come back in what an upstream says.
      this.#put(key, { held }, [text, before?.held?.text, subject]);
      return held;
    } catch (thrown) {
      const { held, refusedAt, refused, failure } = this.#entries.peek(key) ?? {};
      const error = thrown instanceof GatewayError ? thrown : new GatewayError('INTERNAL', { cause: thrown });
      const count = (failure?.count ?? 0) + 1;
      const rest = backoff(count - 1, FIRST_REST_MS, LONGEST_REST_MS);
      const failed = { error, count, subject, until: this.#now() + rest };
      this.#put(key, { held, refusedAt, refused, failure: failed }, [held?.text, subject]);
      throw error;
    } finally {
      unmask();
    }
  }

  /** One that another replica has got, unless it is the one that was refused here, or has to be renewed anyway. */
  async #foundShared(key: string): Promise<SharedToken | undefined> {
    const found = await this.#shared?.get(key);
    const usable = found !== undefined && this.#now() < renewalOf(found);
    return usable && found.text !== this.#entries.peek(key)?.refused ? found : undefined;
  }

  async #issued(
    ask: TokenWanted['ask'],
    askedAt: number,
    until = Number.POSITIVE_INFINITY,
  ): Promise<SharedToken> {
    const { text, lifetimeMs = UNSTATED_MS } = await ask();
    const endsAt = Math.min(askedAt + Math.min(lifetimeMs, LONGEST_MS), until);
    return { text, gotAt: this.#now(), endsAt };
  }

  #put(key: string, entry: Omit<Entry, 'unmask'>, secrets: readonly (string | undefined)[]): void {
    const unmask = secrets.filter((text) => text !== undefined).map(keepCredential);
    const end = () => {
      for (const each of unmask) {
        each();
      }
    };
    const left = entry.held === undefined ? MEMORY_MS : Math.max(entry.held.endsAt - this.#now(), 1);
    this.#entries.set(key, { ...entry, unmask: end }, { ttl: left });
  }
}

function renewalOf({ gotAt, endsAt }: Omit<SharedToken, 'text'>): number {
  return endsAt - Math.min(EARLY_MS, (endsAt - gotAt) / 10);
}

/** A token that still holds does, also when no newer one can be had. */
function textOf(usable: Held | undefined, thrown: unknown): string {
  if (usable === undefined) {
    throw thrown;
  }
  return usable.text;
}
