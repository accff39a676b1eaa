import { createPrivateKey, type KeyObject } from 'node:crypto';
import { isObject } from './json.ts';

/** A private key of the configuration, and what can be signed with it. */
export interface SigningKey {
  readonly key: KeyObject;
  /** As a JWK names itself. */
  readonly id: string | undefined;
  /** Names of RFC 7518, 3.1, and RFC 9864, the most usual one first. */
  readonly algorithms: readonly string[];
}

/** What is wrong with a text that is no such key, to follow its place in the configuration. */
export interface NoSigningKey {
  readonly fault: string;
}

/** RFC 7518, 3.3 and 3.5. */
const FEWEST_RSA_BITS = 2_048;
const OF_CURVE: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** Reads a key in PEM (PKCS #8, PKCS #1 or SEC 1) or as a JWK. */
export function readSigningKey(text: string): SigningKey | NoSigningKey {
  const jwk = jwkOf(text);
  let key: KeyObject;
  try {
    key = createPrivateKey(jwk === undefined ? text : { key: jwk, format: 'jwk' });
  } catch {
    // What the library says of it may quote the key.
    return text.includes('ENCRYPTED')
      ? { fault: 'is encrypted: only a key without a passphrase can be read' }
      : { fault: 'is no private key, neither in PEM (PKCS #8, PKCS #1, SEC 1) nor as a JWK' };
  }
  const algorithms = algorithmsOf(key);
  if ('fault' in algorithms) {
    return algorithms;
  }
  const { kid, alg } = jwk ?? {};
  const named = algorithms.filter((each) => alg === undefined || each === alg);
  if (named.length === 0) {
    return { fault: `cannot sign with the "alg" that it names; it could with ${algorithms.join(', ')}` };
  }
  return { key, id: typeof kid === 'string' ? kid : undefined, algorithms: named };
}

/** The parts of a key's text that give it away wherever they stand: lines of PEM, private members of a JWK. */
export function secretsOfKey(text: string): readonly string[] {
  const jwk = jwkOf(text);
  return jwk === undefined
    ? text.split(/\s+/).filter((line) => /^[A-Za-z0-9+/=]{16,}$/.test(line))
    : ['d', 'p', 'q', 'dp', 'dq', 'qi'].map((name) => jwk[name]).filter((value) => typeof value === 'string');
}

function jwkOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // PEM, or nothing at all.
    return undefined;
  }
}

function algorithmsOf({
  asymmetricKeyType,
  asymmetricKeyDetails = {},
}: KeyObject): readonly string[] | NoSigningKey {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails;
  switch (asymmetricKeyType) {
    case 'rsa':
      return modulusLength < FEWEST_RSA_BITS
        ? { fault: `has ${modulusLength} bits: an RSA key needs ${FEWEST_RSA_BITS}` }
        : ['RS256', 'PS256', 'RS384', 'PS384', 'RS512', 'PS512'];
    case 'ec': {
      const algorithm = OF_CURVE[namedCurve];
      return algorithm === undefined
        ? { fault: `is of the curve ${namedCurve}: it has to be P-256, P-384 or P-521` }
        : [algorithm];
    }
    case 'ed25519':
      return ['EdDSA', 'Ed25519'];
    default:
      return { fault: `is of the type ${asymmetricKeyType}: it has to be RSA, EC or Ed25519` };
  }
}
