import { describe, expect, it } from 'vitest';
import { credentialsOf, literalSecrets } from '../../../src/config/literal-secrets.ts';
import { parse } from './kit.ts';

const env = {
  KEY: 'k-0123456789',
  DIR: '/data/projects',
  TEAM: 'core-platform',
  HOOK: 'hook-8c1f',
  PASSED_TOKEN: 'p-0123',
};

/** `<X>` in the text stands for a reference to the variable X. */
function found(upstream: string): readonly string[] {
  const text = upstream.replaceAll(/<(\w+)>/g, (_, name: string) => `\${env:${name}}`);
  const { settings, secrets } = parse(`upstreams:\n  up: ${text}`, { env });
  return credentialsOf(settings, secrets, env);
}

describe('what of a configuration signs somebody in', () => {
  it.each([
    ['a variable with a telling name', '{ command: x, env: { API_KEY: abcd-1234 } }', ['abcd-1234']],
    ['one that is passed on', '{ command: x, passEnv: [PASSED_TOKEN, TEAM] }', ['p-0123']],
    ['an option', '{ command: x, args: [--api-key=abcd-1, --token, abcd-2, -v, x] }', ['abcd-1', 'abcd-2']],
    ['a header as an option', '{ command: x, args: [--header, "Authorization: Bearer abcd-1"] }', ['abcd-1']],
    ['a password in a URL', '{ command: x, args: ["postgres://me:p%40ss@db/x"] }', ['p@ss']],
    [
      'a header with a telling name',
      '{ url: "http://h/", headers: { Authorization: Bearer abcd-1 } }',
      ['abcd-1'],
    ],
    ['any header, from a variable', '{ url: "http://h/", headers: { X-A: "<KEY>" } }', ['k-0123456789']],
    ['a part of a query', '{ url: "http://h/?token=abcd-1&b=<KEY>&c=d" }', ['abcd-1', 'k-0123456789']],
    ['a part of a path, from a variable', '{ url: "http://h/x/<HOOK>/mcp" }', ['hook-8c1f']],
    ['a credential', '{ url: "http://h/", credentials: { type: bearer, token: abcd-1 } }', ['abcd-1']],
  ])('%s', (_what, upstream, credentials) => {
    expect(found(upstream)).toEqual(credentials);
  });

  it.each([
    ['a folder, from a variable', '{ command: x, args: ["<DIR>"], cwd: "<DIR>" }'],
    [
      'where a key is',
      '{ command: x, env: { GOOGLE_CREDENTIALS_FILE: /run/key.json, TOKEN_URL: "http://h/t" } }',
    ],
    [
      'a header without a secret',
      '{ url: "http://h/", headers: { X-Team: core, Accept: application/json } }',
    ],
    ['another variable', '{ command: x, env: { TEAM: "<TEAM>" } }'],
  ])('not %s', (_what, upstream) => {
    expect(found(upstream)).toEqual([]);
  });

  it('the sealing key', () => {
    const key = Buffer.alloc(32, 7).toString('base64');
    const { settings, secrets } = parse(`sealingKey: ${key}`);
    expect(credentialsOf(settings, secrets, {})).toEqual([key]);
  });

  it('the keys before it, and what signs in to the shared state', () => {
    const [key, old] = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64'));
    const state = 'state: { type: redis, url: "redis://u:first%20word@h", password: second-word }';
    const { settings } = parse(`sealingKey: ${key}\noldSealingKeys: ["${old}"]\n${state}`);
    const all = [old, 'second-word', 'first word'];
    expect(credentialsOf(settings, [], {})).toEqual([key, ...all]);
    expect(literalSecrets(settings)).toEqual(expect.arrayContaining(all));
  });
});

it('an upstream that is off, since a variable in its URL is not set, has none and stops nobody', () => {
  expect(
    found('{ optional: true, url: "https://<UNSET>.example.com/mcp", headers: { X-Key: abcd-1 } }'),
  ).toEqual(['abcd-1']);
});
