import { createHmac } from 'node:crypto';
import { assert, asyncProperty, constantFrom, integer, string } from 'fast-check';
import { type CryptoKey, exportSPKI } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createIssuerKey,
  type IssuerKey,
  startTokenIssuer,
  type TokenIssuer,
} from '../../kit/token-issuer.ts';
import { BASE, codeOf, MCP, refusalOf, signInWith } from './kit.ts';

const RESOURCE = `${BASE}/mcp`;
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const nowSeconds = () => Math.floor(Date.now() / 1_000);

let issuer: TokenIssuer;
let stranger: IssuerKey;

beforeAll(async () => {
  issuer = await startTokenIssuer('/realms/team');
  stranger = await createIssuerKey();
});

afterAll(() => issuer?.[Symbol.asyncDispose]());

const jwtWith = (jwt: object = {}) => signInWith({ mode: 'jwt', jwt: { issuer: issuer.issuer, ...jwt } });

describe('a token that holds', () => {
  it('says who asks, until when, and is at hand for an exchange but not in a log', async () => {
    const token = await issuer.token(RESOURCE, {
      claims: { groups: ['eng', 7, 'ops'], scope: 'read  write', exp: 4_000_000_000 },
    });
    const principal = await jwtWith().bearer(token);
    expect(principal).toMatchObject({
      key: JSON.stringify(['jwt', issuer.issuer, 'ann']),
      id: 'ann',
      issuer: issuer.issuer,
      groups: ['eng', 'ops'],
      scopes: ['read', 'write'],
      expires: 4_000_000_000_000 + 30_000,
    });
    expect(principal.presented?.()).toBe(token);
    expect(JSON.stringify(principal)).not.toContain(token.slice(-6));
  });

  it('may have its claims elsewhere', async () => {
    const claims = {
      id: 'email',
      groups: 'realm_access.roles',
      scopes: 'https://example.com/permissions',
    };
    const token = await issuer.token(RESOURCE, {
      claims: {
        email: 'ann@example.com',
        realm_access: { roles: 'one of them' },
        'https://example.com/permissions': ['read', 'write'],
      },
    });
    expect(await jwtWith({ claims }).bearer(token)).toMatchObject({
      id: 'ann@example.com',
      groups: ['one of them'],
      scopes: ['read', 'write'],
    });
  });

  it.each(['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'])('may be signed with %s', async (alg) => {
    await using other = await startTokenIssuer();
    other.keys = [await createIssuerKey(alg)];
    const { bearer } = signInWith({ mode: 'jwt', jwt: { issuer: other.issuer } });
    expect(await bearer(await other.token(RESOURCE))).toMatchObject({ id: 'ann' });
  });

  it.each([undefined, 'JWT', 'at+jwt', 'application/at+jwt', 'AT+JWT'])(
    'may have the typ %s',
    async (typ) => {
      expect(await jwtWith().bearer(await issuer.token(RESOURCE, { header: { typ } }))).toBeTruthy();
    },
  );

  it('may come from a clock that is a little off', async () => {
    const { bearer } = jwtWith();
    const late = await issuer.token(RESOURCE, { claims: { exp: nowSeconds() - 20 } });
    const early = await issuer.token(RESOURCE, { claims: { nbf: nowSeconds() + 20 } });
    expect(await bearer(late)).toMatchObject({ id: 'ann' });
    expect(await bearer(early)).toMatchObject({ id: 'ann' });
    const strict = jwtWith({ clockTolerance: '0s' });
    expect(await codeOf(strict.bearer(late))).toBe('TOKEN_INVALID');
    expect(await codeOf(strict.bearer(early))).toBe('TOKEN_INVALID');
  });

  it('may name several audiences', async () => {
    expect(await jwtWith().bearer(await issuer.token(['account', RESOURCE]))).toMatchObject({ id: 'ann' });
  });
});

describe('where a token is good', () => {
  const FILES = { path: '/mcp', name: 'files' };
  const SSE = { path: '/sse', name: undefined };
  const SSE_FILES = { path: '/sse', name: 'files' };

  it.each([
    { audience: RESOURCE, good: [MCP, FILES, SSE, SSE_FILES], bad: [] },
    { audience: `${RESOURCE}/files`, good: [FILES, SSE_FILES], bad: [MCP, SSE, { path: '/mcp', name: 'x' }] },
    { audience: `${BASE}/sse`, good: [SSE, SSE_FILES], bad: [MCP, FILES] },
    { audience: `${BASE}/sse/files`, good: [SSE_FILES], bad: [MCP, FILES, SSE] },
    { audience: BASE, good: [], bad: [MCP, FILES, SSE] },
    { audience: `${RESOURCE}/`, good: [], bad: [MCP, FILES] },
    { audience: 'https://evil.example/mcp', good: [], bad: [MCP, FILES] },
    { audience: '', good: [], bad: [MCP] },
  ])('for the audience $audience', async ({ audience, good, bad }) => {
    const token = await issuer.token(audience);
    const { bearer } = jwtWith();
    for (const endpoint of good) {
      expect(await bearer(token, endpoint)).toMatchObject({ id: 'ann' });
    }
    for (const endpoint of bad) {
      expect(await codeOf(bearer(token, endpoint))).toBe('TOKEN_INVALID');
    }
  });

  it('a configured audience stands instead of the URLs', async () => {
    const { bearer } = jwtWith({ audience: ['api://patchbay'] });
    expect(await bearer(await issuer.token('api://patchbay'), FILES)).toMatchObject({ id: 'ann' });
    expect(await codeOf(bearer(await issuer.token(RESOURCE)))).toBe('TOKEN_INVALID');
  });
});

/** Each is refused as a token that does not hold. */
const BAD: Readonly<Record<string, () => string | Promise<string>>> = {
  'no token at all': () => 'nonsense',
  'two parts': async () => (await issuer.token(RESOURCE)).split('.').slice(0, 2).join('.'),
  'four parts': async () => `${await issuer.token(RESOURCE)}.x`,
  'five parts, as an encrypted one has': () => 'eyJhbGciOiJkaXIifQ..AA.AA.AA',
  'a broken payload': async () => (await issuer.token(RESOURCE)).replace(/\.[^.]+\./, '.e30x.'),
  'another payload': async () =>
    (await issuer.token(RESOURCE)).replace(
      /\.[^.]+\./,
      `.${part({ iss: issuer.issuer, aud: RESOURCE, exp: 4e9 })}.`,
    ),
  'a broken signature': async () => (await issuer.token(RESOURCE)).replace(/.{6}$/, 'AAAAAA'),
  'no signature': async () => (await issuer.token(RESOURCE)).replace(/[^.]+$/, ''),
  'the wrong issuer': () => issuer.token(RESOURCE, { claims: { iss: 'https://evil.example' } }),
  'the issuer with a slash': () => issuer.token(RESOURCE, { claims: { iss: `${issuer.issuer}/` } }),
  'no issuer': () => issuer.token(RESOURCE, { claims: { iss: undefined } }),
  'the wrong audience': () => issuer.token('https://other.example/mcp'),
  'no audience': () => issuer.token(RESOURCE, { claims: { aud: undefined } }),
  'an audience that is an object': () => issuer.token(RESOURCE, { claims: { aud: { url: RESOURCE } } }),
  'an audience that is no text': () => issuer.token(RESOURCE, { claims: { aud: [{ url: RESOURCE }] } }),
  'an end that is over': () => issuer.token(RESOURCE, { claims: { exp: nowSeconds() - 31 } }),
  'no end': () => issuer.token(RESOURCE, { claims: { exp: undefined } }),
  'an end that is no number': () => issuer.token(RESOURCE, { claims: { exp: '4000000000' } }),
  'a beginning to come': () => issuer.token(RESOURCE, { claims: { nbf: nowSeconds() + 60 } }),
  'no id': () => issuer.token(RESOURCE, { claims: { sub: undefined } }),
  'an empty id': () => issuer.token(RESOURCE, { claims: { sub: '' } }),
  'an id that is no text': () => issuer.token(RESOURCE, { claims: { sub: { toString: 'ann' } } }),
  'an id without end': () => issuer.token(RESOURCE, { claims: { sub: 'a'.repeat(513) } }),
  'the typ of a logout token': () => issuer.token(RESOURCE, { header: { typ: 'logout+jwt' } }),
  'a typ that is no text': () => issuer.token(RESOURCE, { header: { typ: ['at+jwt'] } }),
  'a critical header nobody knows': async () => {
    const [key] = issuer.keys;
    const header = part({ alg: 'ES256', kid: key?.kid, crit: ['new'], new: 1 });
    const signed = `${header}.${part({ iss: issuer.issuer, aud: RESOURCE, sub: 'ann', exp: 4e9 })}`;
    const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
    const signature = await crypto.subtle.sign(algorithm, key?.privateKey as CryptoKey, Buffer.from(signed));
    return `${signed}.${Buffer.from(signature).toString('base64url')}`;
  },
  'the key of a stranger': () => issuer.token(RESOURCE, { key: stranger }),
  'the key of a stranger under the right key id': () =>
    issuer.token(RESOURCE, { key: { ...stranger, kid: issuer.keys[0]?.kid ?? '' } }),
  'its own key in the header': () =>
    issuer.token(RESOURCE, { key: stranger, header: { jwk: stranger.jwk, kid: undefined } }),
  'alg none': () =>
    `${part({ alg: 'none', typ: 'JWT' })}.${part({ iss: issuer.issuer, aud: RESOURCE, sub: 'ann', exp: 4e9 })}.`,
  'HS256 with the public key as secret': async () => {
    const [key] = issuer.keys;
    const claims = { iss: issuer.issuer, aud: RESOURCE, sub: 'ann', exp: 4e9 };
    const signed = `${part({ alg: 'HS256', kid: key?.kid })}.${part(claims)}`;
    const secret = key === undefined ? '' : await exportSPKI(key.publicKey);
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  },
  'more than 16 KiB': () => issuer.token(RESOURCE, { claims: { padding: 'x'.repeat(16_384) } }),
};

describe('a token that does not hold', () => {
  it.each(Object.keys(BAD))('%s', async (name) => {
    const token = (await BAD[name]?.()) ?? '';
    const signIn = jwtWith();
    const { code, message, logged, cause } = await refusalOf(signIn.bearer(token));
    expect(code).toBe('TOKEN_INVALID');
    expect(message).toBe('The token or key is not valid here; get a new one.');
    expect(logged).toMatch(/\w/);
    for (const piece of token.split('.').filter((each) => each.length > 6)) {
      expect(`${logged} ${signIn.logged} ${cause}`).not.toContain(piece.slice(0, 8));
      expect(`${logged} ${signIn.logged} ${cause}`).not.toContain(piece.slice(-8));
    }
  });

  it('an algorithm that the configuration does not name', async () => {
    const { bearer } = jwtWith({ algorithms: ['RS256'] });
    expect(await codeOf(bearer(await issuer.token(RESOURCE)))).toBe('TOKEN_INVALID');
  });

  it('one changed anywhere', async () => {
    const token = await issuer.token(RESOURCE);
    const { bearer } = jwtWith();
    const signs = constantFrom('A', 'z', '0', '.', '-', '{', '=', '\u0000', 'ü', '');
    await assert(
      asyncProperty(integer({ min: 0, max: token.length - 3 }), signs, string(), async (at, sign, more) => {
        const changed = `${token.slice(0, at)}${sign}${more}${token.slice(at + 1)}`;
        if (changed !== token) {
          expect(await codeOf(bearer(changed.replaceAll(/\s/g, '_')))).toBe('TOKEN_INVALID');
        }
      }),
      { numRuns: 300 },
    );
  });

  it('a key sent as X-API-Key is none', async () => {
    const token = await issuer.token(RESOURCE);
    expect(await codeOf(jwtWith().authenticate({ 'x-api-key': [token] }, MCP))).toBe('TOKEN_MISSING');
  });
});

describe('scopes that every request needs', () => {
  it('are all named to whoever lacks one, once the token itself holds', async () => {
    const { bearer } = jwtWith({ scopes: ['mcp', 'tools'] });
    const refused = await refusalOf(bearer(await issuer.token(RESOURCE, { claims: { scope: 'tools' } })));
    expect(refused).toMatchObject({ code: 'SCOPE_INSUFFICIENT', scopes: ['mcp', 'tools'] });
    expect(await codeOf(bearer(await issuer.token('https://other.example')))).toBe('TOKEN_INVALID');
    expect(await bearer(await issuer.token(RESOURCE, { claims: { scope: 'x tools mcp' } }))).toMatchObject({
      scopes: ['x', 'tools', 'mcp'],
    });
  });
});

describe('what is remembered of a token', () => {
  it('is never its audience or its scopes: they are judged each time', async () => {
    const token = await issuer.token(`${RESOURCE}/files`, { claims: { scope: '' } });
    const { bearer } = jwtWith();
    expect(await bearer(token, { path: '/mcp', name: 'files' })).toMatchObject({ id: 'ann' });
    expect(await codeOf(bearer(token))).toBe('TOKEN_INVALID');
  });

  it('is the same principal for a minute, and no longer than the token lives', async () => {
    const signIn = jwtWith({ clockTolerance: '0s' });
    const token = await issuer.token(RESOURCE);
    const first = await signIn.bearer(token);
    expect(await signIn.bearer(token)).toBe(first);
    signIn.forward(61_000);
    expect(await signIn.bearer(token)).not.toBe(first);
    const short = await issuer.token(RESOURCE, { claims: { exp: nowSeconds() + 90 } });
    expect(await signIn.bearer(short)).toMatchObject({ id: 'ann' });
    signIn.forward(31_000);
    expect(await codeOf(signIn.bearer(short))).toBe('TOKEN_INVALID');
  });
});
