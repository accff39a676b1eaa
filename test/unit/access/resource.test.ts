import { describe, expect, it } from 'vitest';
import { challengeOf, writeChallenge } from '../../../src/access/challenge.ts';
import { claimAt } from '../../../src/access/claims.ts';
import { metadataUrl, publicBase, resourceMetadata, resourceUrl } from '../../../src/access/resource.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import { authOf, MCP } from './kit.ts';

const FILES = { path: '/mcp', name: 'files' };
const METADATA = 'https://gw.example/.well-known/oauth-protected-resource/mcp';

describe('C-057: URLs of a protected resource', () => {
  const listen = { host: '127.0.0.1', port: 0, allowedHosts: [], allowedOrigins: [] };

  it.each([
    [{}, 'http://127.0.0.1:81'],
    [{ host: '0.0.0.0' }, 'http://127.0.0.1:81'],
    [{ host: '::' }, 'http://127.0.0.1:81'],
    [{ host: '::1' }, 'http://[::1]:81'],
    [{ host: 'gw.internal' }, 'http://gw.internal:81'],
    [{ publicUrl: 'https://gw.example' }, 'https://gw.example'],
    [{ publicUrl: 'https://gw.example/' }, 'https://gw.example'],
    [{ publicUrl: 'https://gw.example/mcp' }, 'https://gw.example'],
    [{ publicUrl: 'https://gw.example/mcp/' }, 'https://gw.example'],
    [{ publicUrl: 'https://GW.example:443/team/mcp' }, 'https://gw.example/team'],
  ])('begin, with %j, with %s', (given, base) => {
    expect(publicBase({ ...listen, ...given }, 81)).toBe(base);
    expect(resourceUrl(base, MCP)).toBe(`${base}/mcp`);
    expect(resourceUrl(base, FILES)).toBe(`${base}/mcp/files`);
  });

  it('have the well-known part between host and path', () => {
    expect(metadataUrl('https://gw.example', MCP)).toBe(METADATA);
    expect(metadataUrl('https://gw.example:8443/team', FILES)).toBe(
      'https://gw.example:8443/.well-known/oauth-protected-resource/team/mcp/files',
    );
  });

  it('stand in the document as the client used them', () => {
    const { jwt } = authOf({ mode: 'jwt', jwt: { issuer: 'https://as.example', scopes: ['mcp'] } });
    expect(jwt && resourceMetadata('https://gw.example', FILES, jwt, 'Patchbay')).toEqual({
      resource: 'https://gw.example/mcp/files',
      authorization_servers: ['https://as.example'],
      scopes_supported: ['mcp'],
      bearer_methods_supported: ['header'],
      resource_name: 'Patchbay: files',
    });
    const { jwt: plain } = authOf({ mode: 'jwt', jwt: { issuer: 'https://as.example' } });
    expect(plain && resourceMetadata('https://gw.example', MCP, plain, 'Patchbay')).not.toHaveProperty(
      'scopes_supported',
    );
  });
});

describe('the challenge', () => {
  const jwt = authOf({ mode: 'jwt', jwt: { issuer: 'https://as.example', scopes: ['mcp', 'tools'] } });
  const keys = authOf({ mode: 'keys', keys: [{ id: 'ann', sha256: '0'.repeat(64) }] });
  const none = authOf({ mode: 'none' });
  const written = (auth: typeof jwt, error: GatewayError) => {
    const challenge = challengeOf(error, auth, METADATA);
    return challenge && writeChallenge(challenge);
  };

  it.each([
    [new GatewayError('TOKEN_MISSING'), `Bearer scope="mcp tools", resource_metadata="${METADATA}"`],
    [
      new GatewayError('TOKEN_INVALID'),
      `Bearer error="invalid_token", scope="mcp tools", resource_metadata="${METADATA}"`,
    ],
    [
      new GatewayError('CREDENTIALS_AMBIGUOUS'),
      `Bearer error="invalid_request", scope="mcp tools", resource_metadata="${METADATA}"`,
    ],
    [
      new GatewayError('SCOPE_INSUFFICIENT', { scopes: ['write', 'mcp', 'a"b', 'c\r\nd'] }),
      `Bearer error="insufficient_scope", scope="mcp tools write", resource_metadata="${METADATA}"`,
    ],
    [new GatewayError('AUTH_UNAVAILABLE'), undefined],
    [new GatewayError('NAME_UNKNOWN'), undefined],
  ])('of mode jwt for %s', (error, header) => {
    expect(written(jwt, error)).toBe(header);
  });

  it.each([
    [new GatewayError('TOKEN_MISSING'), 'Bearer'],
    [new GatewayError('TOKEN_INVALID'), 'Bearer error="invalid_token"'],
    [
      new GatewayError('SCOPE_INSUFFICIENT', { scopes: ['write'] }),
      'Bearer error="insufficient_scope", scope="write"',
    ],
  ])('of mode keys for %s names no metadata', (error, header) => {
    expect(written(keys, error)).toBe(header);
  });

  it('of mode none is none', () => {
    expect(written(none, new GatewayError('SCOPE_INSUFFICIENT', { scopes: ['write'] }))).toBeUndefined();
  });
});

describe('a claim', () => {
  const claims = { a: 1, 'b.c': 2, b: { c: 3, 'd.e': 4 }, 'https://x.example/y': { z: 5 }, list: [{ f: 6 }] };

  it.each([
    ['a', 1],
    ['b.c', 2],
    ['b.d.e', 4],
    ['https://x.example/y.z', 5],
    ['list.0.f', undefined],
    ['a.b', undefined],
    ['constructor.name', undefined],
    ['b.constructor', undefined],
    ['.a', undefined],
    ['', undefined],
  ])('at %j is %j', (path, value) => {
    expect(claimAt(claims, path)).toBe(value);
  });
});
