import * as oauth from 'oauth4webapi';
import type { SigningKey } from '../base/signing-key.ts';

/** How WebCrypto calls what the first letters of an algorithm's name stand for. */
const KIND_OF: Readonly<Record<string, string>> = {
  RS: 'RSASSA-PKCS1-v1_5',
  PS: 'RSA-PSS',
  ES: 'ECDSA',
  Ed: 'Ed25519',
};
const CURVE_OF: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };

/**
 * Signs the gateway in with an assertion (`private_key_jwt`: OpenID Connect Core, 9, and RFC 7523): a JWT for this authorization
 * server alone, good for a minute and for one request. Undefined where the key can sign in none of the ways that the
 * server `takes`. `id`: how the server calls the key, where the key does not say it itself.
 */
export function signedBy(
  signing: SigningKey,
  id: string | undefined,
  takes: readonly string[] | undefined,
): oauth.ClientAuth | undefined {
  const algorithm = signing.algorithms.find((each) => takes?.includes(each) !== false);
  if (algorithm === undefined) {
    return undefined;
  }
  const kid = id ?? signing.id;
  const parameters = {
    name: KIND_OF[algorithm.slice(0, 2)] ?? '',
    hash: `SHA-${algorithm.slice(2)}`,
    namedCurve: CURVE_OF[algorithm] ?? '',
  };
  // One type under two names: the library means the one of browsers, which knows fewer uses.
  const key = signing.key.toCryptoKey(parameters, false, ['sign']) as CryptoKey;
  return oauth.PrivateKeyJwt(kid === undefined ? key : { key, kid }, {
    // Ed25519 has two names (RFC 8037, RFC 9864).
    [oauth.modifyAssertion]: (header) => {
      header['alg'] = algorithm;
    },
  });
}
