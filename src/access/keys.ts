import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import type { Principal } from './principal.ts';

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
  return { key, sha256: digestOf(key).toString('hex') };
}

/** From a presented key to whoever it stands for; throws TOKEN_INVALID for any other text. */
export function createKeyRing(entries: Settings['auth']['keys']): (key: string) => Principal {
  const known = entries.map(({ id, sha256, groups, scopes }) => ({
    digest: Buffer.from(sha256, 'hex'),
    principal: {
      key: JSON.stringify(['keys', id]),
      id,
      issuer: undefined,
      groups,
      scopes,
      expires: undefined,
      presented: undefined,
    },
  }));
  return (key) => {
    const digest = digestOf(key);
    // Always all of them, so that the time tells neither whether one matches nor which.
    const [found] = known.filter((entry) => timingSafeEqual(entry.digest, digest));
    if (found === undefined) {
      throw new GatewayError('TOKEN_INVALID', { logged: 'unknown key' });
    }
    return found.principal;
  };
}

/** Headers are read as Latin-1: this gives back the bytes that were sent. */
function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'latin1').digest();
}
