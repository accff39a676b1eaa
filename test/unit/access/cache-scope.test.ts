import { describe, expect, it } from 'vitest';
import { isForEverybody, scopeKey } from '../../../src/access/cache-scope.ts';
import { ANONYMOUS, createPrincipal } from '../../../src/access/principal.ts';
import { person } from './people.ts';

describe('whose an answer is', () => {
  it.each([
    // own, scope, trustPublic, hinted, for everybody
    [false, 'auto', false, undefined, true],
    [false, 'auto', false, 'public', true],
    [false, 'auto', false, 'private', false],
    [false, 'auto', true, undefined, true],
    [false, 'auto', true, 'private', false],
    [true, 'auto', false, undefined, false],
    [true, 'auto', false, 'public', false],
    [true, 'auto', false, 'private', false],
    [true, 'auto', true, undefined, false],
    [true, 'auto', true, 'public', true],
    [true, 'auto', true, 'private', false],
    [false, 'private', true, 'public', false],
    [false, 'private', false, undefined, false],
    [true, 'private', true, 'public', false],
  ] as const)(
    'own %s, scope %s, trustPublic %s, hinted %s: for everybody %s',
    (own, scope, trustPublic, hinted, expected) => {
      expect(isForEverybody({ own, scope, trustPublic }, hinted)).toBe(expected);
    },
  );
});

describe('C-052: the name of an answer', () => {
  const asked = { upstream: 'a', method: 'resources/read', params: { uri: 'note://1' } };

  it('is another one for each upstream, method, params and owner', () => {
    const others = [
      scopeKey(asked, undefined),
      scopeKey(asked, ANONYMOUS),
      scopeKey(asked, person({ id: 'ann' })),
      scopeKey(asked, person({ id: 'ann', scopes: ['more'] })),
      scopeKey(asked, person({ id: 'ann', groups: ['more'] })),
      scopeKey(asked, person({ id: 'bob' })),
      scopeKey({ ...asked, upstream: 'b' }, undefined),
      scopeKey({ ...asked, method: 'tools/list' }, undefined),
      scopeKey({ ...asked, params: { uri: 'note://2' } }, undefined),
      scopeKey({ upstream: 'a', method: 'resources/read' }, undefined),
    ];
    expect(new Set(others).size).toBe(others.length);
    expect(scopeKey({ ...asked }, person({ id: 'ann' }))).toBe(others[2]);
  });

  it('cannot be forged by whatever stands in one of them', () => {
    const key = scopeKey({ upstream: 'a', method: 'm' }, createPrincipal({ ...ANONYMOUS, key: 'k' }));
    for (const method of ['m","k', 'm",null,"k', 'm\\",\\"k']) {
      expect(scopeKey({ upstream: 'a', method }, undefined)).not.toBe(key);
    }
    expect(scopeKey({ upstream: 'a', method: 'm' }, createPrincipal({ ...ANONYMOUS, key: 'null' }))).not.toBe(
      scopeKey({ upstream: 'a', method: 'm' }, undefined),
    );
  });

  it('holds nothing that somebody signed in with', () => {
    const bare = person({ id: 'ann', groups: ['g'], scopes: ['s'] });
    const ann = { ...bare, presented: () => 'canary-token' };
    expect(scopeKey(asked, ann)).toBe(scopeKey(asked, bare));
    expect(scopeKey(asked, ann)).not.toContain('canary');
  });
});
