// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { describe, expect, it } from 'vitest';
import { parse, report, upstream } from './kit.ts';

const DIGEST = 'a'.repeat(64);
const URL_OF_A = 'url: "http://h/mcp"';
const PATTERN_SAYS =
  'must be a pattern such as github.*, tool:github.create_issue or resource:files.file:///data/*';
const ALGORITHMS = 'RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519';

describe('single values', () => {
  it.each([
    [`auth: {keys: [{id: "", sha256: ${DIGEST}}]}`, 'auth.keys[0].id: must not be empty'],
    [
      'auth: {keys: [{id: a, sha256: abc}]}',
      'auth.keys[0].sha256: must be the SHA-256 of the key in hex (64 digits)',
    ],
    [`auth: {keys: [{id: a, sha256: ${DIGEST}, groups: [""]}]}`, 'auth.keys[0].groups[0]: must not be empty'],
    [
      `auth: {keys: [{id: a, sha256: ${DIGEST}, scope: x}]}`,
      'auth.keys[0].scope: unknown key (did you mean "scopes"?)',
    ],
    ['auth: {keys: [a]}', 'auth.keys[0]: must be a mapping (key: value)'],
    [
      'auth: {jwt: {issuer: login.example.com}}',
      'auth.jwt.issuer: must be a URL that begins with http:// or https://',
    ],
    [
      'auth: {jwt: {issuer: "https://i", algorithms: [HS256]}}',
      `auth.jwt.algorithms[0]: must be one of ${ALGORITHMS} (did you mean "RS256"?)`,
    ],
    [
      'auth: {jwt: {issuer: "https://i", algorithms: [none]}}',
      `auth.jwt.algorithms[0]: must be one of ${ALGORITHMS}`,
    ],
    [
      'auth: {jwt: {issuer: "https://i", scopes: ["a b"]}}',
      'auth.jwt.scopes[0]: must be a scope: no blanks, quotes or backslashes (RFC 6749, 3.3)',
    ],
    ['access: [{who: {anyone: true}, allow: ["a b"]}]', `access[0].allow[0]: ${PATTERN_SAYS}`],
    ['access: [{who: {anyone: true}, allow: [""]}]', `access[0].allow[0]: ${PATTERN_SAYS}`],
    [
      'access: [{who: {anyone: true}, deny: [a.b], allow: a.b}]',
      'access[0].allow: must be a list, such as [a, b]',
    ],
    [
      'access: [{who: {group: [a], anyone: true}, allow: [a.b]}]',
      'access[0].who.group: unknown key (did you mean "groups"?)',
    ],
    [
      'access: [{who: {anyone: true}, allow: [a.b], where: {readonly: true}}]',
      'access[0].where.readonly: unknown key (did you mean "readOnly"?)',
    ],
    [
      'access: [{who: {anyone: true}, allow: [a.b], where: {readOnly: absent}}]',
      'access[0].where.readOnly: must be one of true, false, missing',
    ],
    [
      'access: [{who: {anyone: true}, allow: [a.b], where: {readOnly: "true"}}]',
      'access[0].where.readOnly: must be one of true, false, missing',
    ],
    [
      'views: {a.b: {}}',
      'views["a.b"]: must be 1 to 32 of a-z, 0-9, "_" and "-", and begin with a letter or digit',
    ],
    // They could never match anything: a rule that denies nothing is worse than none.
    ...['github', 'tools:x.*', 'tool:', 'prompt:github', 'GitHub.read'].map((pattern) => [
      `access: [{who: {anyone: true}, deny: ["${pattern}"]}]`,
      `access[0].deny[0]: ${PATTERN_SAYS}`,
    ]),
    ['views: {a: {include: ["x y"]}}', `views.a.include[0]: ${PATTERN_SAYS}`],
    ['views: {a: {naming: bare}}', 'views.a.naming: must be one of dotted, strict'],
    ['views: {a: {instruction: x}}', 'views.a.instruction: unknown key (did you mean "instructions"?)'],
    [
      `upstreams: {a: {${URL_OF_A}, tools: {allow: ["a b"]}}}`,
      'upstreams.a.tools.allow[0]: must be the name of a tool, with * for any text and ? for one sign',
    ],
    [
      `upstreams: {a: {${URL_OF_A}, tools: {rename: {a: "b c"}}}}`,
      'upstreams.a.tools.rename.a: must be 1 to 128 of A-Z, a-z, 0-9, "_", "-" and "."',
    ],
    [
      `upstreams: {a: {${URL_OF_A}, tools: {describe: {a: ""}}}}`,
      'upstreams.a.tools.describe.a: must not be empty',
    ],
    [
      `upstreams: {a: {${URL_OF_A}, tools: {annotate: {a: {readOnlyHint: true}}}}}`,
      'upstreams.a.tools.annotate.a.readOnlyHint: unknown key (did you mean "readOnly"?)',
    ],
    [
      `upstreams: {a: {${URL_OF_A}, tools: {annotate: {a: {readOnly: missing}}}}}`,
      'upstreams.a.tools.annotate.a.readOnly: must be true or false, without quotes',
    ],
    [
      `upstreams: {a: {${URL_OF_A}, trust: {annotations: maybe}}}`,
      'upstreams.a.trust.annotations: must be true or false, without quotes',
    ],
    [
      `upstreams: {a: {${URL_OF_A}, cache: {scope: public}}}`,
      'upstreams.a.cache.scope: must be one of auto, private',
    ],
  ])('%s', (text, expected) => {
    expect(report(text).map((line) => line.replace(/^\d+:\d+ /, ''))).toEqual([expected]);
  });
});

describe('sign-in and rules together', () => {
  it.each([
    [
      'auth: {mode: keys}',
      '1:7 auth.keys: "auth.mode: keys" needs at least one key: make it with `patchbay keys new ID`',
    ],
    ...['0.0.0.0', '"::"'].map((host) => [
      `listen: {host: ${host}}\nauth: {mode: jwt, jwt: {issuer: "https://i"}}`,
      `1:9 listen: with "auth.mode: jwt" and "host: ${host.replaceAll('"', '')}", "publicUrl" has to say what clients use`,
    ]),
    ['auth: {mode: jwt}', '1:14 auth.mode: "auth.mode: jwt" needs "auth.jwt" with an issuer'],
    [
      `auth: {keys: [{id: a, sha256: ${DIGEST}}, {id: b, sha256: ${DIGEST.toUpperCase()}}]}`,
      '1:114 auth.keys[1].sha256: another entry has this key: it could stand for either',
    ],
    [
      'access: [{allow: [a.b]}]',
      '1:10 access[0].who: names nobody: give "groups", "scopes", "ids" or "anyone: true"',
    ],
    [
      'access: [{who: {anyone: false}, allow: [a.b]}]',
      '1:16 access[0].who: names nobody: give "groups", "scopes", "ids" or "anyone: true"',
    ],
    ['access: [{who: {anyone: true}}]', '1:10 access[0]: needs "allow" or "deny"'],
    [
      'views: {a: {}}\nupstreams: {a: {command: x}}',
      '1:12 views.a: an upstream has this name, and "/mcp/a" can be only one of them',
    ],
  ])('%s', (text, expected) => {
    expect(report(text)).toEqual([expected]);
  });

  it('a view takes its style from naming.style, or has its own', () => {
    const { views } = parse('naming: {style: strict}\nviews: {a: {}, b: {naming: dotted}}').settings;
    expect([views['a']?.naming, views['b']?.naming]).toEqual(['strict', 'dotted']);
  });

  it('names of tools are keys like any other, whatever they look like', () => {
    const { tools } = upstream(
      parse(
        `upstreams: {a: {${URL_OF_A}, tools: {rename: {__proto__: a, constructor: b, "with blank": c, x-y: d}}}}`,
      ),
      'a',
    );
    expect(Object.entries(tools.rename)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['with blank', 'c'],
      ['x-y', 'd'],
    ]);
  });
});

describe('credentials', () => {
  const JWT = 'auth: {mode: jwt, jwt: {issuer: "https://i"}}\n';
  const KEYS = `auth: {mode: keys, keys: [{id: a, sha256: ${DIGEST}}]}\n`;
  const EXCHANGE = 'type: tokenExchange, tokenUrl: "https://i/t", clientId: c, clientSecret: s';
  const refused = (head: string, credentials: string, more = '') =>
    report(`${head}upstreams: {a: {${URL_OF_A}, credentials: {${credentials}}${more}}}`).map((line) =>
      line.replace(/^\d+:\d+ upstreams\.a\./, ''),
    );

  it.each([
    ['', 'type: bearer', '', 'credentials: "type: bearer" needs "token"'],
    ['', 'type: none, token: x', '', 'credentials.token: "type: none" does not use this'],
    ['', 'type: bearer, token: x, clientId: y', '', 'credentials.clientId: "type: bearer" does not use this'],
    [
      '',
      'type: clientCredentials, clientId: c, clientSecret: s',
      '',
      'credentials: "type: clientCredentials" needs either "issuer" or "tokenUrl"',
    ],
    [
      '',
      'type: clientCredentials, clientId: c, clientSecret: s, issuer: "https://i", tokenUrl: "https://i/t"',
      '',
      'credentials: "type: clientCredentials" needs either "issuer" or "tokenUrl"',
    ],
    [
      '',
      'type: clientCredentials, clientId: c, issuer: "https://i"',
      '',
      'credentials: "type: clientCredentials" needs either "clientSecret" or "clientKey"',
    ],
    [
      '',
      'type: clientCredentials, clientId: c, clientSecret: s, clientKey: k, issuer: "https://i"',
      '',
      'credentials: "type: clientCredentials" needs either "clientSecret" or "clientKey"',
    ],
    [
      '',
      'type: clientCredentials, clientId: c, clientKey: k, issuer: "https://i"',
      '',
      'credentials.clientKey: is no private key, neither in PEM (PKCS #8, PKCS #1, SEC 1) nor as a JWK',
    ],
    [
      '',
      'type: clientCredentials, clientId: c, clientSecret: s, clientKeyId: k, issuer: "https://i"',
      '',
      'credentials.clientKeyId: is the name of a "clientKey", and there is none',
    ],
    [
      '',
      'type: bearer, token: x, clientKey: k',
      '',
      'credentials.clientKey: "type: bearer" does not use this',
    ],
    [
      '',
      EXCHANGE,
      '',
      'credentials.type: needs "auth.mode: jwt": only then a user comes with a token to exchange',
    ],
    [
      '',
      'type: userHeader, name: X-User',
      '',
      'credentials.type: needs "auth.mode: keys" or "jwt": nobody has a name otherwise',
    ],
    [
      JWT,
      EXCHANGE,
      ', isolation: shared',
      'isolation: cannot be "shared": with "credentials.type: tokenExchange" each user has a connection of their own',
    ],
    [
      '',
      'type: bearer, token: x',
      ', headers: {AUTHORIZATION: Basic y}',
      'headers: "authorization" is what "credentials" sends: give only one',
    ],
    [
      KEYS,
      'type: userHeader, name: X-User',
      ', headers: {x-user: me}',
      'headers: "x-user" is what "credentials" sends: give only one',
    ],
    ['', 'type: userHeader, name: "X User"', '', 'credentials.name: must be the name of a header'],
    ...['Content-Length', 'mcp-session-id', 'HOST', 'Authorization', 'cookie'].map((name) => [
      KEYS,
      `type: userHeader, name: ${name}`,
      '',
      'credentials.name: this header has a meaning of its own: choose another one, such as X-User',
    ]),
    [
      KEYS,
      'type: userHeader, name: X-User, value: "${principal.email}"',
      '',
      'credentials.value: a user has no "email": only id, issuer, groups, scopes',
    ],
  ])('%s%s%s', (head, credentials, more, expected) => {
    expect(refused(head, credentials, more)).toContain(expected);
  });

  it.each([
    ['', 'type: bearer, token: x', 'shared'],
    ['', 'type: clientCredentials, clientId: c, clientSecret: s, issuer: "https://i"', 'shared'],
    [JWT, EXCHANGE, 'user'],
    [KEYS, 'type: userHeader, name: X-User', 'user'],
  ])('%s%s has connections for: %s', (head, credentials, isolation) => {
    const loaded = parse(`${head}upstreams: {a: {${URL_OF_A}, credentials: {${credentials}}}}`);
    expect(upstream(loaded, 'a').isolation).toBe(isolation);
  });

  it('what is to be filled in for each user is left as it stands; everything else is a reference', () => {
    const value = (text: string, env = {}) => {
      const head = `${KEYS}upstreams: {a: {${URL_OF_A}, credentials: {type: userHeader, name: X-User, value: "${text}"}}}`;
      const found = upstream(parse(head, { env }), 'a');
      return found.kind === 'http' ? found.credentials.value : undefined;
    };
    expect(value('${principal.id} of ${env:TEAM}', { TEAM: 'core' })).toBe('${principal.id} of core');
    expect(value('${principal.groups}')).toBe('${principal.groups}');
  });
});
