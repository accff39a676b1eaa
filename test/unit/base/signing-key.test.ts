import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { expect, it } from 'vitest';
import { readSigningKey, secretsOfKey } from '../../../src/base/signing-key.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });
const p256 = ec('P-256');
const pem = (key: KeyObject, more: object = {}) =>
  String(key.export({ format: 'pem', type: key.type === 'public' ? 'spki' : 'pkcs8', ...more }));
const jwk = (key: KeyObject, more: object = {}) =>
  JSON.stringify({ ...key.export({ format: 'jwk' }), ...more });

it.each([
  ['nothing', '', 'is no private key'],
  ['a word', 'secret', 'is no private key'],
  ['a public key', pem(p256.publicKey), 'is no private key'],
  ['a public JWK', jwk(p256.publicKey), 'is no private key'],
  ['a symmetric JWK', JSON.stringify({ kty: 'oct', k: 'c2VjcmV0' }), 'is no private key'],
  ['a JWK Set', JSON.stringify({ keys: [p256.privateKey.export({ format: 'jwk' })] }), 'is no private key'],
  ['half a key', pem(p256.privateKey).slice(0, 90), 'is no private key'],
  ['one with a passphrase', pem(rsa.privateKey, { cipher: 'aes-256-cbc', passphrase: 'x' }), 'is encrypted'],
  ['a short one', pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey), 'has 1024 bits'],
  ['another curve', pem(ec('secp256k1').privateKey), 'is of the curve secp256k1'],
  ['one that cannot sign', pem(generateKeyPairSync('x25519').privateKey), 'is of the type x25519'],
  [
    'one for something else',
    jwk(p256.privateKey, { alg: 'RS256' }),
    'cannot sign with the "alg" that it names',
  ],
])('%s is no key to sign with, and what is said of it holds nothing of it', (_, text, fault) => {
  const read = readSigningKey(text);
  expect(read).toEqual({ fault: expect.stringContaining(fault) });
  for (const secret of secretsOfKey(text)) {
    expect(JSON.stringify(read)).not.toContain(secret);
  }
});

it('the secrets of a key are whatever is private in it', () => {
  const text = pem(rsa.privateKey);
  const lines = secretsOfKey(text);
  expect(lines.join('')).toBe(text.replaceAll(/-----.*-----|\s/g, ''));
  const { d, p, q, dp, dq, qi, n = '' } = rsa.privateKey.export({ format: 'jwk' });
  expect(new Set(secretsOfKey(jwk(rsa.privateKey)))).toEqual(new Set([d, p, q, dp, dq, qi]));
  expect(secretsOfKey(jwk(rsa.privateKey))).not.toContain(n);
  expect(secretsOfKey('')).toEqual([]);
});
