import { describe, expect, it, onTestFinished } from 'vitest';
import type { Principal } from '../../../src/access/principal.ts';
import { type Credential, createCredentials } from '../../../src/upstream/credentials.ts';
import { refusingPort } from '../../kit/faults.ts';
import { startTokenServer, type TokenServer } from '../../kit/token-server.ts';
import { settingsOf, user } from './fleet-kit.ts';
import { createLogCatcher } from './transport-kit.ts';

const URL = 'http://127.0.0.1:9/mcp';

/** The credential of an upstream for one user, as the configuration gives it. */
function credentialOf(credentials: Record<string, unknown>, principal?: Principal): Credential {
  const { up } = settingsOf({ up: { url: URL, credentials, timeouts: { connect: '2s' } } }).upstreams;
  if (up === undefined) {
    throw new Error('no such upstream');
  }
  const made = createCredentials(up);
  onTestFinished(() => made.close());
  return made.for(() => principal);
}

const gatewayAt = ({ issuer, clientId, clientSecret }: TokenServer, more = {}) => ({
  type: 'clientCredentials',
  issuer,
  clientId,
  clientSecret,
  ...more,
});
const exchangeAt = (server: TokenServer, more = {}) => ({
  ...gatewayAt(server, more),
  type: 'tokenExchange',
});

// biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the configuration
const UNSET = 'https://${env:PATCHBAY_UNSET_ISSUER}';
const OFF = { type: 'clientCredentials', clientId: 'me', clientSecret: 'a-secret' };

/** What it rejects with. */
async function refusal(credential: Credential): Promise<Error & { code?: string; logged?: string }> {
  try {
    const headers = await credential.headers();
    throw new Error(`it gave ${JSON.stringify(headers)}`);
  } catch (thrown) {
    return thrown as Error;
  }
}

describe('what is sent', () => {
  it.each([
    [{ type: 'none' }, {}],
    [{ type: 'bearer', token: 'abc' }, { authorization: 'Bearer abc' }],
    [{ type: 'userHeader', name: 'X-User' }, { 'x-user': 'alice' }],
    [
      { type: 'userHeader', name: 'X-Who', value: `\${principal.id}@\${principal.groups}` },
      { 'x-who': 'alice@dev,ops' },
    ],
  ])('%j: %j', async (credentials, headers) => {
    const alice = user('alice', { groups: ['dev', 'ops'], token: 'never-sent' });
    expect(await credentialOf(credentials, alice).headers()).toEqual(headers);
  });
});

describe('client credentials', () => {
  it('ask the server of the issuer for this upstream, signed in with the client secret', async () => {
    await using server = await startTokenServer();
    const credential = credentialOf(gatewayAt(server, { scope: 'read write' }));
    const { authorization = '' } = await credential.headers();
    expect(server.whois(authorization.replace('Bearer ', ''))).toMatchObject({ subject: 'gateway' });
    expect(server.requests.map(({ params }) => params)).toEqual([
      { grant_type: 'client_credentials', scope: 'read write', resource: URL },
    ]);
    expect(server.requests[0]?.headers.authorization).toMatch(/^Basic /);
    expect(server.discoveries).toBe(1);
  });

  it('take a token URL as well, and another resource', async () => {
    await using server = await startTokenServer();
    const { clientId, clientSecret, tokenUrl } = server;
    const resource = 'https://api.example/mcp';
    await credentialOf({ type: 'clientCredentials', tokenUrl, clientId, clientSecret, resource }).headers();
    expect(server.requests[0]?.params['resource']).toBe(resource);
    expect(server.discoveries).toBe(0);
  });

  it.each([
    [['client_secret_post'], undefined],
    [['client_secret_post', 'client_secret_basic'], 'Basic'],
    [undefined, 'Basic'],
  ])('sign in as the metadata says: %j', async (methods, scheme) => {
    await using server = await startTokenServer({
      metadata: { token_endpoint_auth_methods_supported: methods },
    });
    await credentialOf(gatewayAt(server)).headers();
    expect(server.requests[0]?.headers.authorization?.split(' ')[0]).toBe(scheme);
    expect('client_secret' in (server.requests[0]?.params ?? {})).toBe(scheme === undefined);
  });

  it('write id and secret as forms do, and hyphens as they are: many servers do not decode', async () => {
    await using server = await startTokenServer();
    await credentialOf(gatewayAt(server)).headers();
    const [, coded = ''] = server.requests[0]?.headers.authorization?.split(' ') ?? [];
    expect(Buffer.from(coded, 'base64').toString()).toBe(
      'patchbay-client:s%2Bcr%2Ft%3A+100%25+%26+%22more%22',
    );
  });

  it('find the metadata in the place of OpenID Connect too', async () => {
    await using server = await startTokenServer({ place: 'oidc' });
    expect(await credentialOf(gatewayAt(server)).headers()).toHaveProperty('authorization');
  });

  it('get one token for many requests, and another when it was refused', async () => {
    await using server = await startTokenServer();
    const credential = credentialOf(gatewayAt(server));
    const first = await Promise.all(Array.from({ length: 10 }, () => credential.headers()));
    expect(server.requests).toHaveLength(1);
    expect(credential.refused(first[0] ?? {}, 401)).toBe(true);
    expect(await credential.headers()).not.toEqual(first[0]);
    expect(server.requests).toHaveLength(2);
  });
});

describe('token exchange', () => {
  it('gives the token of the user to the authorization server alone, and gets another for it', async () => {
    await using server = await startTokenServer();
    const token = server.subjectToken('alice');
    const credential = credentialOf(exchangeAt(server, { audience: 'tickets' }), user('alice', { token }));
    const { authorization = '' } = await credential.headers();
    const text = authorization.replace('Bearer ', '');
    expect(text).not.toBe(token);
    expect(server.whois(text)).toMatchObject({ subject: 'alice', audience: 'tickets', resource: URL });
    expect(server.requests[0]?.params).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    });
  });

  it('keeps users apart, and what one user may do with different tokens', async () => {
    await using server = await startTokenServer();
    const { up } = settingsOf({ up: { url: URL, credentials: exchangeAt(server) } }).upstreams;
    const made = createCredentials(up ?? expect.unreachable());
    onTestFinished(() => made.close());
    const people = [
      user('alice', { token: server.subjectToken('alice'), scopes: ['read', 'write'] }),
      user('alice', { token: server.subjectToken('alice'), scopes: ['write', 'read'] }),
      user('alice', { token: server.subjectToken('alice'), scopes: ['read'] }),
      user('bob', { token: server.subjectToken('bob'), scopes: ['read'] }),
    ];
    const given: unknown[] = [];
    for (const person of people) {
      given.push(await made.for(() => person).headers());
    }
    expect(given[1]).toEqual(given[0]);
    expect(new Set(given.map((headers) => JSON.stringify(headers))).size).toBe(3);
    expect(server.requests).toHaveLength(3);
  });

  it('refuses the very token that was to be exchanged', async () => {
    await using server = await startTokenServer({ echo: true });
    const credential = credentialOf(
      exchangeAt(server),
      user('alice', { token: server.subjectToken('alice') }),
    );
    expect(await refusal(credential)).toMatchObject({ code: 'UPSTREAM_TOKEN' });
  });

  it('tells a user whom the server gives none what to do, and asks again with the next token', async () => {
    await using server = await startTokenServer();
    let token = 'expired-token-of-alice';
    const alice = user('alice', { presented: () => token });
    const credential = credentialOf(exchangeAt(server), alice);
    const error = await refusal(credential);
    expect(error).toMatchObject({ code: 'UPSTREAM_AUTH' });
    expect(error.message).toContain('sign in again');
    expect(error.message).not.toContain(token);
    await refusal(credential);
    expect(server.requests).toHaveLength(1);
    token = server.subjectToken('alice');
    expect(await credential.headers()).toHaveProperty('authorization');
  });

  it('refuses a user without a token', async () => {
    await using server = await startTokenServer();
    expect(await refusal(credentialOf(exchangeAt(server), user('alice')))).toMatchObject({
      code: 'UPSTREAM_AUTH',
    });
    expect(server.requests).toHaveLength(0);
  });
});

describe('an authorization server that gives no token', () => {
  it.each([
    ['a wrong client', { answer: { status: 401, body: { error: 'invalid_client' } } }, 'refuses the gateway'],
    ['an error of its own', { answer: { status: 500 } }, 'does not answer as it should'],
    ['a token of another type', { over: { token_type: 'DPoP' } }, 'cannot be used'],
    ['a token of no type', { over: { token_type: 'N_A' } }, 'does not answer as it should'],
    ['a token that is no text', { over: { access_token: 7 } }, 'does not answer as it should'],
    ['a token that no header can carry', { over: { access_token: 'a\nb' } }, 'cannot be used'],
    ['an empty token', { over: { access_token: '' } }, 'does not answer as it should'],
    ['a redirect', { answer: { status: 307, headers: { location: URL } } }, 'does not answer as it should'],
    ['metadata of another issuer', { metadata: { issuer: 'https://other.example' } }, 'does not answer'],
    ['metadata without an endpoint', { metadata: { token_endpoint: undefined } }, 'does not answer'],
    ['no metadata', { place: 'none' as const }, 'does not answer as it should'],
    ['no client secret wanted', { metadata: { token_endpoint_auth_methods_supported: ['none'] } }, 'secret'],
  ])('%s', async (_what, habits, says) => {
    await using server = await startTokenServer(habits);
    const error = await refusal(credentialOf(gatewayAt(server)));
    expect(error).toMatchObject({ code: 'UPSTREAM_TOKEN', upstream: 'up' });
    expect(error.message).toContain(says);
  });

  it('is left alone for a while, by every user', async () => {
    await using server = await startTokenServer({ answer: { status: 503 } });
    const { up } = settingsOf({ up: { url: URL, credentials: exchangeAt(server) } }).upstreams;
    const made = createCredentials(up ?? expect.unreachable());
    onTestFinished(() => made.close());
    for (const id of ['alice', 'bob', 'carol']) {
      const person = user(id, { token: server.subjectToken(id) });
      expect(await refusal(made.for(() => person))).toMatchObject({ code: 'UPSTREAM_TOKEN' });
    }
    expect(server.requests).toHaveLength(1);
  });

  it('and fails over one token keeps nobody else waiting', async () => {
    await using server = await startTokenServer({ answer: { status: 500 } });
    const { up } = settingsOf({ up: { url: URL, credentials: exchangeAt(server) } }).upstreams;
    const made = createCredentials(up ?? expect.unreachable());
    onTestFinished(() => made.close());
    const alice = user('alice', { token: server.subjectToken('alice') });
    const bob = user('bob', { token: server.subjectToken('bob') });
    await refusal(made.for(() => alice));
    server.change({});
    expect(await made.for(() => bob).headers()).toHaveProperty('authorization');
  });

  it('cannot be reached: the same, in time', async () => {
    const port = await refusingPort();
    const credential = credentialOf({
      type: 'clientCredentials',
      tokenUrl: `http://127.0.0.1:${port}/token`,
      clientId: 'x',
      clientSecret: 'y',
    });
    const error = await refusal(credential);
    expect(error).toMatchObject({ code: 'UPSTREAM_TOKEN' });
    expect(error.message).toContain('cannot be reached');
    expect(error.message).not.toContain(String(port));
  });

  it('hangs: given up after the connect timeout', async () => {
    await using server = await startTokenServer({ hold: true });
    const error = await refusal(credentialOf(gatewayAt(server)));
    expect(error).toMatchObject({ code: 'UPSTREAM_TOKEN' });
  });
});

describe('C-095: tokens in the log', () => {
  it('are masked as soon as they are known, also when only their beginning is written', async () => {
    await using server = await startTokenServer();
    const token = server.subjectToken('alice');
    const { log, lines } = createLogCatcher();
    const credential = credentialOf(exchangeAt(server), user('alice', { token }));
    const { authorization = '' } = await credential.headers();
    const text = authorization.replace('Bearer ', '');
    log.info({ text, token, cut: text.slice(0, 20) }, `it said ${authorization}`);
    expect(lines().join('')).toContain('[secret]');
    for (const piece of [text, token].flatMap((secret) => [secret.slice(0, 8), secret.slice(-6)])) {
      expect(lines().join('')).not.toContain(piece);
    }
  });

  it('nor does what the server says of them get there', async () => {
    await using server = await startTokenServer();
    const token = 'unknown-token-of-alice-1234567890';
    const { log, lines } = createLogCatcher();
    const error = await refusal(credentialOf(exchangeAt(server), user('alice', { token })));
    log.warn({ err: error }, 'request failed');
    expect(lines().join('')).toContain('invalid_request');
    expect(lines().join('')).not.toContain(token);
    expect(lines().join('')).not.toContain(server.clientSecret);
  });
});

it('an upstream that is off, since a variable of its credentials is not set, stops nobody', () => {
  const config = {
    url: URL,
    optional: true,
    credentials: { ...OFF, issuer: UNSET },
  };
  const { up } = settingsOf({ up: config }).upstreams;
  expect(up?.enabled).toBe(false);
  expect(up && createCredentials(up).own).toBe(false);
});
