import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { metadataUrls } from '../../../src/access/issuer.ts';
import { createIssuerKey, startTokenIssuer, type TokenIssuer } from '../../kit/token-issuer.ts';
import { BASE, codeOf, refusalOf, signInWith } from './kit.ts';

const RESOURCE = `${BASE}/mcp`;
const OIDC = '/.well-known/openid-configuration';
const OAUTH = '/.well-known/oauth-authorization-server';

let issuer: TokenIssuer;

beforeEach(async () => {
  issuer = await startTokenIssuer();
});

afterEach(() => issuer?.[Symbol.asyncDispose]());

const signInAt = (of: TokenIssuer = issuer, jwt: object = {}) =>
  signInWith({ mode: 'jwt', jwt: { issuer: of.issuer, ...jwt } });
const asksForKeys = () => issuer.asked.filter((path) => path === '/jwks').length;

describe('the metadata of an issuer', () => {
  it.each([
    ['https://as.example', [`https://as.example${OAUTH}`, `https://as.example${OIDC}`]],
    ['https://as.example/', [`https://as.example${OAUTH}`, `https://as.example${OIDC}`]],
    [
      'https://as.example:8443/realms/a/',
      [
        `https://as.example:8443${OAUTH}/realms/a`,
        `https://as.example:8443${OIDC}/realms/a`,
        `https://as.example:8443/realms/a${OIDC}`,
      ],
    ],
  ])('is looked for, for %s, in the order of the specification', (of, urls) => {
    expect(metadataUrls(of)).toEqual(urls);
  });

  it.each([
    ['', OAUTH],
    ['', OIDC],
    ['/realms/a', `${OAUTH}/realms/a`],
    ['/realms/a', `${OIDC}/realms/a`],
    ['/realms/a', `/realms/a${OIDC}`],
  ])('is found for an issuer with the path %j at %s', async (path, place) => {
    await using other = await startTokenIssuer(path);
    other.answers.set(`${path}${OIDC}`, { status: 404, body: '' });
    const metadata = { issuer: other.issuer, jwks_uri: `${other.origin}/jwks` };
    other.answers.set(place, { body: JSON.stringify(metadata) });
    expect(await signInAt(other).bearer(await other.token(RESOURCE))).toMatchObject({ id: 'ann' });
    expect(other.asked).toContain(place);
  });

  it('is not asked where the configuration says where the keys are', async () => {
    const { bearer } = signInAt(issuer, { jwksUri: `${issuer.origin}/jwks` });
    expect(await bearer(await issuer.token(RESOURCE))).toMatchObject({ id: 'ann' });
    expect(issuer.asked).toEqual(['/jwks']);
  });

  it.each([
    {
      why: 'of another issuer',
      body: (origin: string) => ({ issuer: `${origin}/`, jwks_uri: `${origin}/jwks` }),
    },
    { why: 'without an issuer', body: (origin: string) => ({ jwks_uri: `${origin}/jwks` }) },
    { why: 'without keys', body: (origin: string) => ({ issuer: origin }) },
    {
      why: 'with keys in a file',
      body: (origin: string) => ({ issuer: origin, jwks_uri: 'file:///etc/keys' }),
    },
    { why: 'that is a list', body: () => [] },
  ])('is of no use $why', async ({ body }) => {
    issuer.answers.set(OIDC, { body: JSON.stringify(body(issuer.origin)) });
    const signIn = signInAt();
    expect(await codeOf(signIn.bearer(await issuer.token(RESOURCE)))).toBe('AUTH_UNAVAILABLE');
    expect(asksForKeys()).toBe(0);
    expect(signIn.logged).toContain('no metadata that can be used');
  });
});

describe('keys', () => {
  it('are read once for many tokens, also for those that come at once', async () => {
    const { bearer } = signInAt();
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, index) => issuer.token(RESOURCE, { claims: { sub: `user ${index}` } })),
    );
    const principals = await Promise.all(tokens.map((token) => bearer(token)));
    expect(new Set(principals.map(({ key }) => key)).size).toBe(20);
    expect(issuer.asked).toEqual([OAUTH, OIDC, '/jwks']);
  });

  it('may change: a token with a new key id makes them read again, at most once in a while', async () => {
    const { bearer, forward } = signInAt();
    await bearer(await issuer.token(RESOURCE));
    const next = await createIssuerKey();
    issuer.keys = [...issuer.keys, next];
    const early = await issuer.token(RESOURCE, { key: next });
    expect(await codeOf(bearer(early))).toBe('TOKEN_INVALID');
    expect(asksForKeys()).toBe(1);
    forward(11_000);
    expect(await bearer(early)).toMatchObject({ id: 'ann' });
    expect(asksForKeys()).toBe(2);
  });

  it('are not read again by tokens with made-up key ids more than once in a while', async () => {
    const { bearer, forward } = signInAt();
    const stranger = await createIssuerKey();
    const made = () => issuer.token(RESOURCE, { key: { ...stranger, kid: crypto.randomUUID() } });
    const tokens = await Promise.all(Array.from({ length: 50 }, made));
    await bearer(await issuer.token(RESOURCE));
    forward(11_000);
    const codes = await Promise.all(tokens.map((token) => codeOf(bearer(token))));
    expect(new Set(codes)).toEqual(new Set(['TOKEN_INVALID']));
    expect(asksForKeys()).toBe(2);
  });

  it('that were taken back are good no longer than ten minutes', async () => {
    const { bearer, forward } = signInAt();
    const [old] = issuer.keys;
    const claims = { exp: Math.floor(Date.now() / 1_000) + 3_600 };
    await bearer(await issuer.token(RESOURCE, { claims }));
    issuer.keys = [await createIssuerKey()];
    const another = await issuer.token(RESOURCE, {
      claims: { ...claims, sub: 'bob' },
      ...(old && { key: old }),
    });
    forward(599_000);
    expect(await bearer(another)).toMatchObject({ id: 'bob' });
    forward(62_000);
    expect(await codeOf(bearer(another))).toBe('TOKEN_INVALID');
  });

  it('without an id are tried one by one', async () => {
    const [one, two] = [await createIssuerKey(), await createIssuerKey()];
    const bare = ({ jwk: { kid: _, ...jwk }, ...key }: typeof one) => ({ ...key, jwk });
    issuer.keys = [bare(one), bare(two)];
    const { bearer } = signInAt();
    const header = { kid: undefined };
    for (const key of [one, two]) {
      expect(await bearer(await issuer.token(RESOURCE, { key, header }))).toMatchObject({ id: 'ann' });
    }
    const stranger = await createIssuerKey();
    expect(await codeOf(bearer(await issuer.token(RESOURCE, { key: stranger, header })))).toBe(
      'TOKEN_INVALID',
    );
    const over = { header, key: two, claims: { exp: 1 } };
    expect(await codeOf(bearer(await issuer.token(RESOURCE, over)))).toBe('TOKEN_INVALID');
  });

  it('that cannot be used refuse their tokens and no others', async () => {
    const [good] = issuer.keys;
    const weak = { ...(await createIssuerKey('RS256')), kid: 'weak' };
    issuer.keys = [...issuer.keys, { ...weak, jwk: { ...weak.jwk, kid: 'weak', n: 'AQAB' } }];
    const { bearer } = signInAt();
    expect(await codeOf(bearer(await issuer.token(RESOURCE, { key: weak })))).toBe('TOKEN_INVALID');
    expect(await bearer(await issuer.token(RESOURCE, good && { key: good }))).toMatchObject({ id: 'ann' });
  });
});

describe('an issuer that cannot be asked', () => {
  it('makes nobody a stranger: 503 with a time to come again, and not asked more often than that', async () => {
    const { bearer, forward, ...signIn } = signInAt();
    const token = await issuer.token(RESOURCE);
    await issuer.down();
    const refused = await refusalOf(bearer(token));
    expect(refused).toMatchObject({ code: 'AUTH_UNAVAILABLE', row: { http: 503 } });
    const wait = Number(refused.data?.['retryAfterMs']);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(10_000);
    await issuer.up();
    expect(await codeOf(bearer(token))).toBe('AUTH_UNAVAILABLE');
    expect(issuer.asked).toEqual([]);
    forward(wait);
    expect(await bearer(token)).toMatchObject({ id: 'ann' });
    expect(signIn.logged).not.toContain(token.slice(-8));
  });

  it.each([500, 404, 302, 'hang'] as const)('does so too where it answers %s', async (trouble) => {
    issuer.trouble = trouble;
    expect(await codeOf(signInAt().bearer(await issuer.token(RESOURCE)))).toBe('AUTH_UNAVAILABLE');
  });

  it('still lets in whoever has a token of a key that is known', async () => {
    const signIn = signInAt();
    const claims = { exp: Math.floor(Date.now() / 1_000) + 36_000 };
    await signIn.bearer(await issuer.token(RESOURCE, { claims }));
    await issuer.down();
    signIn.forward(3_600_000);
    const token = await issuer.token(RESOURCE, { claims: { ...claims, sub: 'bob' } });
    expect(await signIn.bearer(token)).toMatchObject({ id: 'bob' });
    expect(signIn.logged).toContain('those read before serve on');
    const next = await issuer.token(RESOURCE, { claims, key: await createIssuerKey() });
    expect(await codeOf(signIn.bearer(next))).toBe('AUTH_UNAVAILABLE');
  });

  it('holds up nobody whose key is known while it hangs', async () => {
    const signIn = signInAt();
    const claims = { exp: Math.floor(Date.now() / 1_000) + 36_000 };
    await signIn.bearer(await issuer.token(RESOURCE, { claims }));
    issuer.trouble = 'hang';
    signIn.forward(3_600_000);
    const asks = issuer.asked.length;
    const token = await issuer.token(RESOURCE, { claims: { ...claims, sub: 'bob' } });
    expect(await signIn.bearer(token)).toMatchObject({ id: 'bob' });
    // The reading is still under way: nobody has waited for its end.
    expect(issuer.asked.length).toBeGreaterThan(asks);
    expect(signIn.logged).not.toContain('those read before serve on');
  });

  it('may lose its metadata alone: its keys are read where they were', async () => {
    const signIn = signInAt();
    await signIn.bearer(await issuer.token(RESOURCE));
    issuer.answers.set(OIDC, { status: 500, body: '' });
    const next = await createIssuerKey();
    issuer.keys = [next];
    signIn.forward(11_000);
    expect(await signIn.bearer(await issuer.token(RESOURCE))).toMatchObject({ id: 'ann' });
  });

  it.each([
    { what: 'a page', answer: { body: '<html>' } },
    { what: 'no set', answer: { body: '{"keys":"none"}' } },
    { what: 'a list', answer: { body: '[]' } },
    { what: 'more than can be read', answer: { body: JSON.stringify({ keys: [], x: 'x'.repeat(2 ** 20) }) } },
  ])('may answer with $what instead of keys', async ({ answer }) => {
    issuer.answers.set('/jwks', answer);
    expect(await codeOf(signInAt().bearer(await issuer.token(RESOURCE)))).toBe('AUTH_UNAVAILABLE');
  });

  it('may send the gateway elsewhere: it does not go there', async () => {
    let asked = 0;
    const elsewhere = createServer((_, response) => {
      asked += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    const front = createServer((_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${port}/jwks` }).end();
    });
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
    const jwksUri = `http://127.0.0.1:${(front.address() as AddressInfo).port}/jwks`;
    try {
      const { bearer } = signInAt(issuer, { jwksUri });
      expect(await codeOf(bearer(await issuer.token(RESOURCE)))).toBe('AUTH_UNAVAILABLE');
      expect(asked).toBe(0);
    } finally {
      for (const server of [elsewhere, front]) {
        server.closeAllConnections();
        server.close();
      }
    }
  });
});
