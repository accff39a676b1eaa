import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { expect, it, onTestFinished } from 'vitest';
import { createCredentials } from '../../../src/upstream/credentials.ts';
import { startAuthorizationServer } from '../../kit/authorization-server.ts';
import { startTokenServer } from '../../kit/token-server.ts';
import { settingsOf } from './fleet-kit.ts';

const URL_OF_SERVER = 'http://127.0.0.1:9/mcp';

function credentialOf(credentials: Record<string, unknown>) {
  const { up } = settingsOf({ up: { url: URL_OF_SERVER, credentials } }).upstreams;
  if (up === undefined) {
    throw new Error('no such upstream');
  }
  const made = createCredentials(up);
  onTestFinished(() => made.close());
  return made.for(() => undefined);
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const edwards = generateKeyPairSync('ed25519').privateKey;
const pem = (key: KeyObject, type: 'pkcs1' | 'pkcs8' | 'sec1' = 'pkcs8') =>
  String(key.export({ format: 'pem', type }));
const jwk = (key: KeyObject, more: object = {}) =>
  JSON.stringify({ ...key.export({ format: 'jwk' }), ...more });
const curves = { 256: ec('P-256'), 384: ec('P-384'), 521: ec('P-521') };

it.each([
  ['RSA, PKCS #8', rsa, pem(rsa), {}],
  ['RSA, PKCS #1', rsa, pem(rsa, 'pkcs1'), {}],
  ['RSA, a JWK for PS256', rsa, jwk(rsa, { alg: 'PS256', kid: 'ours' }), { clientKeyId: 'ours' }],
  ['P-256, SEC 1', curves[256], pem(curves[256], 'sec1'), { clientKeyId: 'ours' }],
  ['Ed25519', edwards, pem(edwards), {}],
])('a real authorization server takes an assertion signed with %s', async (_, key, clientKey, more) => {
  await using server = await startAuthorizationServer();
  const registered = await fetch(`${server.issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      token_endpoint_auth_method: 'private_key_jwt',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      scope: 'mcp',
      jwks: {
        keys: [
          {
            ...JSON.parse(jwk(key)),
            d: undefined,
            p: undefined,
            q: undefined,
            dp: undefined,
            dq: undefined,
            qi: undefined,
            kid: 'ours',
          },
        ],
      },
    }),
  });
  const { client_id: clientId } = (await registered.json()) as { readonly client_id: string };
  const credential = credentialOf({
    type: 'clientCredentials',
    issuer: server.issuer,
    clientId,
    clientKey,
    scope: 'mcp',
    ...more,
  });
  const { authorization = '' } = await credential.headers();
  expect(decodeJwt(authorization.replace('Bearer ', ''))).toMatchObject({
    client_id: clientId,
    aud: URL_OF_SERVER,
    scope: 'mcp',
  });
});

it('the assertion is for that server alone, of this client, new each time, and no secret goes with it', async () => {
  await using server = await startTokenServer();
  const { clientId, issuer } = server;
  const credential = credentialOf({
    type: 'clientCredentials',
    issuer,
    clientId,
    clientKey: jwk(curves[256], { kid: 'k1' }),
  });
  for (const _ of [1, 2]) {
    // This server knows secrets only.
    await expect(credential.headers()).rejects.toMatchObject({ code: 'UPSTREAM_TOKEN' });
  }
  const [{ params = {}, headers } = {}] = server.requests;
  expect(headers?.authorization).toBeUndefined();
  expect(params).toEqual({
    grant_type: 'client_credentials',
    resource: URL_OF_SERVER,
    client_id: clientId,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: expect.any(String),
  });
  const assertion = params['client_assertion'] ?? '';
  expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'ES256', kid: 'k1' });
  const { exp = 0, iat = 0, jti, ...claims } = decodeJwt(assertion);
  expect(claims).toEqual({ aud: issuer, iss: clientId, sub: clientId, nbf: iat });
  expect(exp - iat).toBe(60);
  expect(jti).toMatch(/^.{16,}$/);
});

it.each([
  [{ token_endpoint_auth_methods_supported: ['client_secret_basic'] }, 'client_secret_basic'],
  [{ token_endpoint_auth_signing_alg_values_supported: ['RS256', 'PS256'] }, 'RS256, PS256'],
])('where the server takes none, it is not asked: %j', async (metadata, logged) => {
  await using server = await startTokenServer({ metadata });
  const { clientId, issuer } = server;
  const credential = credentialOf({
    type: 'clientCredentials',
    issuer,
    clientId,
    clientKey: pem(curves[256]),
  });
  await expect(credential.headers()).rejects.toMatchObject({
    code: 'UPSTREAM_TOKEN',
    message: expect.stringContaining('takes no assertion that this gateway can sign'),
    logged: `it takes ${logged}`,
  });
  expect(server.requests).toEqual([]);
});

it.each([
  ['ES384', pem(curves[384])],
  ['ES512', jwk(curves[521])],
  ['EdDSA', jwk(edwards)],
  ['Ed25519', jwk(edwards, { alg: 'Ed25519' })],
  ['RS512', jwk(rsa, { alg: 'RS512' })],
])('%s is what its name says', async (alg, clientKey) => {
  await using server = await startTokenServer();
  const { clientId, tokenUrl } = server;
  const credential = credentialOf({ type: 'clientCredentials', tokenUrl, clientId, clientKey });
  await expect(credential.headers()).rejects.toMatchObject({ code: 'UPSTREAM_TOKEN' });
  const key = createPublicKey(
    clientKey.startsWith('{') ? { key: JSON.parse(clientKey), format: 'jwk' } : clientKey,
  );
  const assertion = server.requests[0]?.params['client_assertion'] ?? '';
  const { protectedHeader } = await jwtVerify(assertion, key, { audience: tokenUrl, subject: clientId });
  expect(protectedHeader).toEqual({ alg });
});

it('of what an RSA key can, it does what the server takes', async () => {
  await using server = await startTokenServer({
    metadata: {
      token_endpoint_auth_methods_supported: ['private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: ['ES256', 'PS384'],
    },
  });
  const { clientId, issuer } = server;
  const credential = credentialOf({ type: 'clientCredentials', issuer, clientId, clientKey: pem(rsa) });
  await expect(credential.headers()).rejects.toMatchObject({ code: 'UPSTREAM_TOKEN' });
  expect(decodeProtectedHeader(server.requests[0]?.params['client_assertion'] ?? '')).toEqual({
    alg: 'PS384',
  });
});
