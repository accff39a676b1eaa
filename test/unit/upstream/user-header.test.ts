import { describe, expect, it } from 'vitest';
import { userHeader } from '../../../src/upstream/user-header.ts';
import { user } from './fleet-kit.ts';

const alice = user('alice', { groups: ['dev', 'ops'], scopes: ['read', 'write'] });

describe('a header that names the user', () => {
  it.each([
    [`\${principal.id}`, 'alice'],
    [`\${principal.issuer}#\${principal.id}`, 'https://issuer.example#alice'],
    [`\${principal.groups}`, 'dev,ops'],
    [`u=\${principal.id};s=\${principal.scopes}`, 'u=alice;s=read write'],
    ['static', 'static'],
  ])('%s is filled in', (template, value) => {
    expect(userHeader(template, alice, 'up')).toBe(value);
  });

  it('takes nothing in a value for a placeholder', () => {
    expect(userHeader(`\${principal.id}`, user(`\${principal.issuer}$&`), 'up')).toBe(
      `\${principal.issuer}$&`,
    );
  });

  it.each([
    ['a line break', user('a\r\nx-admin: 1')],
    ['a line feed', user('a\nb')],
    ['a NUL', user('a\0b')],
    ['a sign beyond Latin-1', user('łukasz')],
    ['an emoji', user('a😀')],
    ['a C1 control', user('a\u0085b')],
    ['a blank at its start, which HTTP cuts off', user(' admin')],
    ['a blank at its end', user('admin ')],
    ['a no-break space at its end', user('admin\u00a0')],
  ])('refuses an id with %s', (_what, principal) => {
    expect(() => userHeader(`\${principal.id}`, principal, 'up')).toThrow(
      expect.objectContaining({ code: 'UPSTREAM_AUTH', upstream: 'up' }),
    );
  });

  it.each([
    ['groups', user('a', { groups: ['dev,admin'] })],
    ['groups', user('a', { groups: ['dev', ''] })],
    ['groups', user('a', { groups: ['dev', ' admin'] })],
    ['scopes', user('a', { scopes: ['read admin'] })],
  ])('refuses %s that would read as others', (key, principal) => {
    expect(() => userHeader(`\${principal.${key}}`, principal, 'up')).toThrow(
      expect.objectContaining({ code: 'UPSTREAM_AUTH' }),
    );
  });

  it('Latin-1 passes, and so does having no group', () => {
    expect(userHeader(`\${principal.id}`, user('jürgen müller'), 'up')).toBe('jürgen müller');
    expect(userHeader(`\${principal.groups}`, user('a'), 'up')).toBe('');
  });
});
