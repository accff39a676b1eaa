import { hash, randomBytes } from 'node:crypto';
import { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import { createPrincipal, type Principal } from './principal.ts';

/** Says what a found string is, to people and to scanners of leaked secrets. */
const PREFIX = 'pbk_';
const KEY_BYTES = 32;

export interface NewKey {
  /** What its user sends. It stands nowhere else. */
  readonly key: string;
  /** SHA-256 of it in hex, for the configuration. */
  readonly sha256: string;
}

/** A random key. It has 256 bits, so a plain hash of it is enough: nobody can guess it from that. */
export function newKey(): NewKey {
  const key = `${PREFIX}${randomBytes(KEY_BYTES).toString('base64url')}`;
  return { key, sha256: digestOf(key) };
}

/** The digest of the key that a principal came with. */
const cameWith = new WeakMap<Principal, string>();

type KeyEntry = Settings['auth']['keys'][number];

/** Whoever uses that key. */
export function principalOfKey({ id, sha256, groups, scopes }: KeyEntry): Principal {
  const principal = createPrincipal({
    key: JSON.stringify(['keys', id]),
    id,
    issuer: undefined,
    groups,
    scopes,
    expires: undefined,
    presented: undefined,
  });
  cameWith.set(principal, sha256.toLowerCase());
  return principal;
}

/** Whoever the key that this principal came with stands for in these entries; undefined where it is in none. */
export function holderAmong(entries: readonly KeyEntry[], principal: Principal): Principal | undefined {
  const digest = cameWith.get(principal);
  const entry = entries.find(({ id, sha256 }) => id === principal.id && sha256.toLowerCase() === digest);
  return entry && principalOfKey(entry);
}

/**
 * From a presented key to whoever it stands for; throws TOKEN_INVALID for any other text. How long a look-up takes may tell of
 * digests that are known, which helps nobody: keys whose digests begin like one of them can only be guessed.
 */
export function createKeyRing(entries: Settings['auth']['keys']): (key: string) => Principal {
  const known = new Map(
    entries.toReversed().map((entry) => [entry.sha256.toLowerCase(), principalOfKey(entry)]),
  );
  return (key) => {
    const found = known.get(digestOf(key));
    if (found === undefined) {
      throw new GatewayError('TOKEN_INVALID', { logged: 'unknown key' });
    }
    return found;
  };
}

/** SHA-256 in hex. Headers are read as Latin-1: this gives back the bytes that were sent. */
function digestOf(key: string): string {
  return hash('sha256', Buffer.from(key, 'latin1'), 'hex');
}
