import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newKey } from '../../../src/access/keys.ts';
import { ANONYMOUS } from '../../../src/access/principal.ts';
import { codeOf, MCP, signInWith } from './kit.ts';

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
const ann = newKey();
const bob = newKey();
const { authenticate, bearer } = signInWith({
  mode: 'keys',
  keys: [
    { id: 'ann', sha256: ann.sha256, groups: ['admins'], scopes: ['write'] },
    { id: 'bob', sha256: bob.sha256.toUpperCase() },
    { id: 'own', sha256: sha256(Buffer.from('schlüssel!', 'utf8')) },
  ],
});

describe('keys', () => {
  it('have the form that scanners know, 256 random bits, and the digest of the whole text', () => {
    expect(ann.key).toMatch(/^pbk_[\w-]{43}$/);
    expect(Buffer.from(ann.key.slice(4), 'base64url')).toHaveLength(32);
    expect(ann.sha256).toBe(sha256(ann.key));
  });

  it('say who asks, under a key that no other way of signing in can form', async () => {
    expect(await bearer(ann.key)).toEqual({
      key: '["keys","ann"]',
      grant: '["[\\"keys\\",\\"ann\\"]",["admins"],["write"]]',
      id: 'ann',
      issuer: undefined,
      groups: ['admins'],
      scopes: ['write'],
      expires: undefined,
      presented: undefined,
    });
    expect(await bearer(bob.key)).toMatchObject({ id: 'bob', groups: [], scopes: [] });
    expect(ANONYMOUS.key).not.toMatch(/^\["keys",/);
  });

  it.each([
    { authorization: [`bearer ${ann.key}`] },
    { authorization: [`BEARER   ${ann.key}`] },
    { 'x-api-key': [ann.key] },
    { 'x-api-key': [ann.key], authorization: [''] },
  ])('are taken in every form that a client may send: %j', async (headers) => {
    expect(await authenticate(headers, MCP)).toMatchObject({ id: 'ann' });
  });

  it('may hold any bytes: they are hashed as they were sent', async () => {
    const sent = Buffer.from('schlüssel!', 'utf8').toString('latin1');
    expect(await authenticate({ 'x-api-key': [sent] }, MCP)).toMatchObject({ id: 'own' });
  });

  it.each([
    { code: 'TOKEN_MISSING', headers: {} },
    { code: 'TOKEN_MISSING', headers: { authorization: [''] } },
    { code: 'TOKEN_MISSING', headers: { authorization: ['Bearer'] } },
    { code: 'TOKEN_MISSING', headers: { authorization: [`Basic ${ann.key}`] } },
    { code: 'TOKEN_MISSING', headers: { cookie: [ann.key] } },
    { code: 'TOKEN_INVALID', headers: { authorization: [`Bearer ${ann.key}x`] } },
    { code: 'TOKEN_INVALID', headers: { authorization: [`Bearer ${ann.key.toLowerCase()}`] } },
    { code: 'TOKEN_INVALID', headers: { authorization: [`Bearer ${ann.sha256}`] } },
    { code: 'TOKEN_INVALID', headers: { authorization: [`Bearer ${ann.key} ${ann.key}`] } },
    { code: 'TOKEN_INVALID', headers: { authorization: [`Bearer ${ann.key}, Bearer ${ann.key}`] } },
    { code: 'TOKEN_INVALID', headers: { authorization: ['"'] } },
    { code: 'TOKEN_INVALID', headers: { 'x-api-key': ['x'.repeat(16_385)] } },
    { code: 'CREDENTIALS_AMBIGUOUS', headers: { authorization: [`Bearer ${ann.key}`, `Bearer ${ann.key}`] } },
    { code: 'CREDENTIALS_AMBIGUOUS', headers: { 'x-api-key': [ann.key, bob.key] } },
    { code: 'CREDENTIALS_AMBIGUOUS', headers: { 'x-api-key': [ann.key], authorization: ['Basic x'] } },
    {
      code: 'CREDENTIALS_AMBIGUOUS',
      headers: { 'x-api-key': [ann.key], authorization: [`Bearer ${ann.key}`] },
    },
  ] as const)('$code: $headers', async ({ code, headers }) => {
    expect(await codeOf(authenticate(headers, MCP))).toBe(code);
  });
});

describe('mode none', () => {
  it('looks at no header', async () => {
    const { authenticate: open } = signInWith({ mode: 'none' });
    const headers = { authorization: ['Bearer x', 'Bearer y'], 'x-api-key': ['z'] };
    expect(await open(headers, MCP)).toBe(ANONYMOUS);
  });
});
