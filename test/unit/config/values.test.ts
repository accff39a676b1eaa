// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { describe, expect, it } from 'vitest';
import { parse, report, upstream } from './kit.ts';

describe('single values', () => {
  it.each([
    ['name: ""', '1:7 name: must not be empty'],
    ['name:', '1:6 name: must be text, and nothing stands here'],
    ['name: 12', '1:7 name: must be text: put it in quotes'],
    ['name: true', '1:7 name: must be text: put it in quotes'],
    ['name: [a]', '1:7 name: must be text, not a list or a mapping'],
    ['listen: 3333', '1:9 listen: must be a mapping (key: value)'],
    ['listen: {port: 65536}', '1:16 listen.port: must be a whole number from 0 to 65535'],
    ['listen: {port: 1.5}', '1:16 listen.port: must be a whole number from 0 to 65535'],
    ['listen: {port: "80"}', '1:16 listen.port: must be a whole number from 0 to 65535'],
    [
      'listen: {publicUrl: mcp.example.com}',
      '1:21 listen.publicUrl: must be a URL that begins with http:// or https://',
    ],
    ['listen: {allowedHosts: a}', '1:24 listen.allowedHosts: must be a list, such as [a, b]'],
    ...['""', 'https://a.example.com', 'a.example.com/', '"*.example.com"', 'a b', '"::1"', 'a:b'].map(
      (host) => [
        `listen: {allowedHosts: [a, ${host}]}`,
        '1:28 listen.allowedHosts[1]: must be a host name, optionally with a port, such as mcp.example.com:8443, or "*"',
      ],
    ),
    ...['HTTPS://a.example.com', 'https://A.example.com', 'https://a.example.com:443', 'http://a:b'].map(
      (origin) => [
        `listen: {allowedOrigins: ["https://b.example.com:8443", "vscode-webview://Abc", "${origin}"]}`,
        '1:81 listen.allowedOrigins[2]: browsers send it in small letters and without the port that its scheme has anyway: this never matches',
      ],
    ),
    [
      'listen: {allowedOrigins: [https://a/]}',
      '1:27 listen.allowedOrigins[0]: must be an origin without a path, such as https://app.example.com',
    ],
    ['auth: {mode: key}', '1:14 auth.mode: must be one of none, keys, jwt (did you mean "keys"?)'],
    ['auth: {allowAnonymous: yes}', '1:24 auth.allowAnonymous: must be true or false, without quotes'],
    ['auth: {allowAnonymous: "true"}', '1:24 auth.allowAnonymous: must be true or false, without quotes'],
    ['naming: {style: strickt}', '1:17 naming.style: must be one of dotted, strict (did you mean "strict"?)'],
    [
      'naming: {separator: /}',
      '1:21 naming.separator: must be 1 to 3 of ".", "_" and "-", the signs the specification allows in names',
    ],
    ['naming: {maxLength: 129}', '1:21 naming.maxLength: must be a whole number from 16 to 128'],
    ['lists: {pageSize: -1}', '1:19 lists.pageSize: must be a whole number of at least 0'],
    ['sessions: {idle: 0}', '1:18 sessions.idle: must be at least 1ms'],
    ['streams: {keepAlive: 25d}', '1:22 streams.keepAlive: must be at most 24d'],
    ['limits: {maxBodyBytes: 0B}', '1:24 limits.maxBodyBytes: must be at least 1B'],
    [
      'limits: {maxBodyBytes: 8MiBs}',
      '1:24 limits.maxBodyBytes: must be a size: a number with B, kB, MB, GB, KiB, MiB or GiB, such as 512KiB (a bare number is bytes)',
    ],
    [
      'shutdown: {grace: 10 s}',
      '1:19 shutdown.grace: must be a duration: a number with ms, s, m, h or d, such as 500ms or 10s (a bare number is ms)',
    ],
    [
      'sealingKey: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==',
      '1:13 sealingKey: must be 32 bytes in base64 (make one with: openssl rand -base64 32)',
    ],
  ])('%s', (text, expected) => {
    expect(report(text)).toEqual([expected]);
  });

  it.each([
    ['command: ""', 'command: must name a program'],
    ['command: "a\\0b"', 'command: must name a program'],
    ['command: a, args: [8080]', 'args[0]: must be text: put it in quotes'],
    ['command: a, args: ["\\0"]', 'args[0]: must not hold a NUL character'],
    ['command: a, env: {PORT: 8080}', 'env.PORT: must be text: put it in quotes'],
    ['command: a, env: {VERSION: 1.10}', 'env.VERSION: must be text: put it in quotes'],
    ['command: a, env: {"A=B": x}', 'env["A=B"]: this cannot be a name here'],
    ['command: a, env: {"": x}', 'env[""]: this cannot be a name here'],
    ['command: a, passEnv: [A=B]', 'passEnv[0]: must be the name of a variable'],
    ['command: a, cwd: ""', 'cwd: must be a folder'],
    [
      'command: a, protocol: 2025-11-26',
      'protocol: must be one of auto, 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28 (did you mean "2025-11-25"?)',
    ],
    [
      'command: a, namespace: A.b',
      'namespace: must be 1 to 32 of a-z, 0-9, "_" and "-", and begin with a letter or digit; or be ""',
    ],
    ['command: a, limits: {concurrency: 0}', 'limits.concurrency: must be a whole number of at least 1'],
    [
      'command: a, timeouts: {call: 11m}',
      'timeouts: "call" is longer than "total", which bounds it: raise "total" too',
    ],
    [
      'command: a, restart: {base: 1m}',
      'restart: "base" is longer than "cap", which bounds it: raise "cap" too',
    ],
    ['url: file:///etc/passwd', 'url: must be a URL that begins with http:// or https://'],
    ['url: "http://"', 'url: must be a complete URL'],
    [
      'url: "https://u:p@h/"',
      'url: must not hold a user name or password, since URLs end up in logs: send them in a header',
    ],
    ['url: "http://h", headers: {"X A": b}', 'headers["X A"]: this cannot be a name here'],
    [
      'url: "http://h", headers: {X: "a\\nb"}',
      'headers.X: must not hold line breaks, control characters or signs beyond Latin-1',
    ],
    [
      'url: "http://h", headers: {X: "☃"}',
      'headers.X: must not hold line breaks, control characters or signs beyond Latin-1',
    ],
    [
      'url: "http://h", headers: {X-A: a, x-a: b}',
      'headers.x-a: this header stands here twice; case does not count',
    ],
  ])('of an upstream: %s', (entry, expected) => {
    const [found, ...more] = report(`upstreams: {a: {${entry}}}`);
    expect(found?.replace(/^\d+:\d+ upstreams\.a\./, '')).toBe(expected);
    expect(more).toEqual([]);
  });
});

describe('what no header can carry', () => {
  const rule = 'must not hold line breaks, control characters or signs beyond Latin-1';
  const keys = `auth: {mode: keys, keys: [{id: a, sha256: "${'a'.repeat(64)}"}]}`;
  const upstream = (credentials: string) =>
    `upstreams: {a: {url: "http://h", credentials: {${credentials}}}}`;

  it.each([
    [
      upstream('type: bearer, token: "a\\r\\nb"'),
      `upstreams.a.credentials.token: must not be empty, and ${rule}`,
    ],
    [upstream('type: bearer, token: "☃"'), `upstreams.a.credentials.token: must not be empty, and ${rule}`],
    [
      `${keys}\n${upstream('type: userHeader, name: X-U, value: "☃ ${principal.id}"')}`,
      `upstreams.a.credentials.value: must not be empty, and ${rule}`,
    ],
    ['tracing: {headers: {X: "a\\nb"}}', `tracing.headers.X: ${rule}`],
  ])('%s', (text, expected) => {
    expect(report(text).map((line) => line.replace(/^\d+:\d+ /, ''))).toContain(expected);
  });
});

describe('ids and namespaces', () => {
  it.each(['a', '0', 'a_b-c', 'a'.repeat(32), 'constructor', 'to-string'])('%s can be an id', (id) => {
    expect(upstream(parse(`upstreams: {"${id}": {command: a}}`), id).namespace).toBe(id);
  });

  it.each(['a.b', 'redis.ft', 'ends.', '', 'A', '-a', '_a', 'a b', 'a/b', 'ü', 'a'.repeat(33), '__proto__'])(
    'C-002: %j cannot, and the report names it',
    (id) => {
      const [found, ...more] = report(`upstreams: {"${id}": {command: a}}`);
      expect(found).toMatch(/^1:13 upstreams.*must be 1 to 32 of a-z, 0-9, "_" and "-"/);
      expect(found).toContain(id);
      expect(more).toEqual([]);
    },
  );

  it('two upstreams cannot have one namespace, given or by default', () => {
    expect(report('upstreams:\n  a: {command: x}\n  b: {command: x, namespace: a}')).toEqual([
      '3:30 upstreams.b.namespace: it is taken, and "a" has it',
    ]);
    expect(report('upstreams:\n  a: {command: x, namespace: b}\n  b: {command: x}')).toEqual([
      '3:6 upstreams.b.namespace: it is taken, and "a" has it',
    ]);
  });

  it('only one can have the empty one', () => {
    expect(report('upstreams:\n  a: {command: x, namespace: ""}\n  b: {command: x, namespace: ""}')).toEqual([
      '3:30 upstreams.b.namespace: only one upstream can have the empty one, and "a" has it',
    ]);
  });
});

describe('kinds of upstream', () => {
  it('needs a command or a url, not both, and only the keys of its kind', () => {
    const entries = [
      'a: {}',
      'b:',
      'c: {command: x, url: "http://h"}',
      'd: {command: x, headers: {}}',
      'e: {url: "http://h", cwd: x}',
    ];
    expect(report(`upstreams:\n  ${entries.join('\n  ')}`)).toEqual([
      '2:6 upstreams.a: needs "command" or "url"',
      '3:5 upstreams.b: needs "command" or "url"',
      '4:6 upstreams.c: "command" and "url" exclude each other',
      '5:19 upstreams.d.headers: only for an entry with "url"',
      '6:24 upstreams.e.cwd: only for an entry with "command"',
    ]);
  });
});

describe('who may be left open', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', 'localhost', 'LocalHost'])(
    '%s is loopback',
    (host) => {
      expect(parse(`listen: {host: "${host}"}`).settings.listen.host).toBe(host);
    },
  );

  it.each([
    '0.0.0.0',
    '::',
    '10.0.0.1',
    'localhost.example.com',
    '127.0.0.1.example.com',
    '[::1]',
    'fe80::1',
  ])('%s is not, so "mode: none" needs a word of consent', (host) => {
    expect(report(`listen: {host: "${host}"}`)).toEqual([
      '1:16 listen.host: on an address that is not loopback, "auth.mode: none" needs "auth.allowAnonymous: true"',
    ]);
    expect(parse(`{listen: {host: "${host}"}, auth: {allowAnonymous: true}}`).settings.listen.host).toBe(
      host,
    );
  });
});
