import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey, type LocalJWKSet } from 'jose';
import { GatewayError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../base/time.ts';
import { discoverJwksUri, type FetchJson } from './issuer.ts';

/** Keys older than this are read again before the next token is checked: so long a key that was taken back counts. */
const MAX_AGE_MS = 600_000;
/** Never read more often than this, whatever tokens come: anybody can send one with an unknown key id. */
const PAUSE_MS = 10_000;
/** Longest reading, metadata and keys together. */
const LOAD_MS = 5_000;
/** Longest wait for a reading while older keys can serve: an issuer that hangs must not make every request hang. */
const BRIEF_MS = 1_000;

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** Where the keys are, where the metadata shall not be asked. */
  readonly jwksUri: string | undefined;
  readonly fetchJson: FetchJson;
  readonly log: Log;
  /** ms since the epoch. */
  readonly now: () => number;
}

/**
 * The public keys of one issuer. Not the remote key set of `jose`: that one forgets the old keys when it cannot read
 * new ones, and does not slow down towards an issuer that fails.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: LocalJWKSet | undefined;
  #readAt = 0;
  /** No reading before this time. */
  #notBefore = 0;
  /** Whether the last reading failed. */
  #failed = false;
  #reading: Promise<void> | undefined;
  /** Over with the reading under way, or before it when that takes long. */
  #brief: Promise<void> | undefined;
  #jwksUri: string | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    this.#jwksUri = options.jwksUri;
  }

  /**
   * The key that a token names. Rejects as `jose` does, or with AUTH_UNAVAILABLE where the issuer cannot be asked: then
   * nobody knows whether the token is good.
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#keys === undefined) {
      await this.#read();
    } else if (this.#options.now() - this.#readAt >= MAX_AGE_MS) {
      void this.#read();
      await this.#brief;
    }
    const known = this.#keys ?? this.#unavailable();
    try {
      return await known(header, token);
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey)) {
        throw thrown;
      }
      // Perhaps one that was made since.
      await this.#read();
      if (this.#failed) {
        this.#unavailable();
      }
      if (this.#keys === undefined || this.#keys === known) {
        throw thrown;
      }
      return await this.#keys(header, token);
    }
  };

  #unavailable(): never {
    const retryAfterMs = Math.max(this.#notBefore - this.#options.now(), 1_000);
    throw new GatewayError('AUTH_UNAVAILABLE', { data: { retryAfterMs } });
  }

  /** Reads the keys unless that was tried just now. What is there stays where it fails. Never rejects. */
  #read(): Promise<void> {
    if (this.#reading === undefined && this.#options.now() >= this.#notBefore) {
      this.#reading = this.#readNow().finally(() => {
        this.#reading = undefined;
        this.#notBefore = this.#options.now() + PAUSE_MS;
      });
      this.#brief = Promise.race([this.#reading, pause(BRIEF_MS)]);
    }
    return this.#reading ?? Promise.resolve();
  }

  async #readNow(): Promise<void> {
    const { log, now } = this.#options;
    try {
      this.#keys = await this.#load(AbortSignal.timeout(LOAD_MS));
      this.#readAt = now();
      this.#failed = false;
    } catch (thrown) {
      this.#failed = true;
      const kept = this.#keys === undefined ? 'no token can be checked' : 'those read before serve on';
      log.warn({ err: thrown }, `the keys of the issuer cannot be read; ${kept}`);
    }
  }

  async #load(signal: AbortSignal): Promise<LocalJWKSet> {
    const uri = await this.#uri(signal);
    const { status, body } = await this.#options.fetchJson(uri, signal);
    if (!isObject(body)) {
      throw new Error(`the answer is no key set (status ${status})`);
    }
    // jose looks at every member itself, and throws for what is no key set.
    return createLocalJWKSet(body as unknown as JSONWebKeySet);
  }

  /** Asked for at each reading, so that keys that moved are found. */
  async #uri(signal: AbortSignal): Promise<string> {
    const { issuer, jwksUri, fetchJson, log } = this.#options;
    if (jwksUri !== undefined) {
      return jwksUri;
    }
    try {
      this.#jwksUri = await discoverJwksUri(issuer, fetchJson, signal);
    } catch (thrown) {
      if (this.#jwksUri === undefined) {
        throw thrown;
      }
      log.warn(
        { err: thrown },
        'the metadata of the issuer cannot be read; its keys are looked for where they were',
      );
    }
    return this.#jwksUri;
  }
}
