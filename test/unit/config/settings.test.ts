// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, report, upstream } from './kit.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../fixtures/config/${name}`, import.meta.url), 'utf8');

const COMMON_DEFAULTS = {
  enabled: true,
  optional: false,
  protocol: 'auto',
  isolation: 'shared',
  instructions: true,
  timeouts: { connect: 10_000, probe: 3000, call: 60_000, idle: 300_000, total: 600_000, health: 30_000 },
  limits: { concurrency: 16, queue: 256, maxMessageBytes: 16 * 1024 * 1024, connections: 32 },
  cache: { ttl: 300_000, staleFor: 600_000, scope: 'auto', trustPublic: false },
  tools: { allow: ['*'], deny: [], rename: {}, describe: {}, annotate: {} },
  trust: { annotations: false },
  restart: { base: 500, cap: 30_000, breakAfter: 5 },
  start: 'eager',
  retry: 'never',
  stop: { grace: 3000 },
};

describe('defaults', () => {
  it.each(['', '# nothing\n', '{}', 'upstreams:\n  # a: {}\nauth:\n'])('of %j', (text) => {
    expect(parse(text)).toEqual({
      settings: {
        name: 'patchbay',
        listen: { host: '127.0.0.1', port: 3333, allowedHosts: [], allowedOrigins: [] },
        auth: { mode: 'none', allowAnonymous: false, keys: [] },
        access: [],
        operators: { groups: [] },
        views: {},
        naming: { style: 'dotted', separator: '.', maxLength: 128 },
        pins: { onChange: 'warn' },
        lists: { pageSize: 0, maxTtl: 60_000, firstWait: 2000 },
        changes: { debounce: 50 },
        sessions: { idle: 1_800_000, maxAge: 2_592_000_000, max: 10_000 },
        streams: {
          keepAlive: 15_000,
          max: 5000,
          bufferBytes: 1024 * 1024,
          openAfter: 2000,
          resumeFor: 120_000,
          replayEvents: 1000,
          replayBytes: 1024 * 1024,
          unreadBytes: 256 * 1024 * 1024,
        },
        legacySse: { enabled: false, path: '/sse' },
        questions: { ttl: 300_000, perPrincipal: 16, rounds: 10 },
        limits: {
          maxBodyBytes: 8 * 1024 * 1024,
          bodiesBytes: 256 * 1024 * 1024,
          bodyTimeout: 60_000,
          cacheBytes: 64 * 1024 * 1024,
          perPrincipal: { requestsPerSecond: 0, burst: 0, concurrency: 0, streams: 0 },
        },
        shutdown: { grace: 10_000 },
        upstreams: {},
      },
      secrets: [],
    });
  });

  it('of a process', () => {
    expect(upstream(parse('upstreams: {a: {command: node}}'), 'a')).toEqual({
      kind: 'stdio',
      id: 'a',
      namespace: 'a',
      command: 'node',
      args: [],
      env: {},
      passEnv: [],
      cwd: '/etc/patchbay',
      idleStop: 0,
      ...COMMON_DEFAULTS,
    });
  });

  it('of a server over HTTP', () => {
    expect(upstream(parse('upstreams: {a: {url: "http://h/mcp"}}'), 'a')).toEqual({
      kind: 'http',
      id: 'a',
      namespace: 'a',
      url: 'http://h/mcp',
      headers: {},
      transport: 'auto',
      credentials: { type: 'none' },
      ...COMMON_DEFAULTS,
    });
  });
});

it('reads every key there is', () => {
  const { settings } = parse(fixture('everything.yaml'));
  expect(settings).toEqual({
    name: 'front desk',
    instructions: 'Ask before you delete.',
    listen: {
      host: '127.0.0.2',
      port: 0,
      publicUrl: 'https://mcp.example.com',
      allowedHosts: ['mcp.internal', 'mcp.internal:8443'],
      allowedOrigins: ['https://app.example.com'],
    },
    sealingKey: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
    stateDir: '/etc/patchbay/state',
    auth: {
      mode: 'jwt',
      allowAnonymous: true,
      keys: [
        {
          id: 'ci',
          sha256: '2C26B46B68FFC68FF99B453C1D30413413422D706483BFA0F98A5E886266E7AE',
          groups: ['build'],
          scopes: ['read'],
        },
      ],
      jwt: {
        issuer: 'https://login.example.com/realms/team',
        audience: ['https://mcp.example.com/mcp'],
        jwksUri: 'https://login.example.com/keys',
        algorithms: ['ES256'],
        clockTolerance: 60_000,
        scopes: ['mcp'],
        claims: { id: 'email', groups: 'realm.roles', scopes: 'scp' },
      },
    },
    access: [
      {
        who: { groups: ['eng'], scopes: ['read'], ids: ['ann'], anyone: true },
        allow: ['local.*', 'tool:remote.create_*'],
        deny: ['resource:local.file:///etc/*'],
        where: { readOnly: true, destructive: false, openWorld: 'missing' },
        scopes: ['write'],
      },
    ],
    operators: { groups: ['ops'] },
    views: {
      default: {
        include: ['remote.*'],
        exclude: ['prompt:*'],
        naming: 'dotted',
        instructions: 'Hello.',
        upstreamInstructions: false,
      },
      slim: { include: ['*'], exclude: [], naming: 'strict', upstreamInstructions: true },
    },
    naming: { style: 'strict', separator: '__', maxLength: 64 },
    pins: { onChange: 'allow' },
    lists: { pageSize: 50, maxTtl: 300_000, firstWait: 500 },
    changes: { debounce: 1000 },
    sessions: { idle: 3_600_000, maxAge: 604_800_000, max: 10 },
    streams: {
      keepAlive: 5000,
      max: 20,
      bufferBytes: 64_000,
      openAfter: 1000,
      resumeFor: 60_000,
      replayEvents: 10,
      replayBytes: 1000,
      unreadBytes: 1_000_000,
    },
    legacySse: { enabled: true, path: '/old' },
    questions: { ttl: 60_000, perPrincipal: 2, rounds: 3 },
    limits: {
      maxBodyBytes: 100,
      bodiesBytes: 1024,
      bodyTimeout: 5000,
      cacheBytes: 1024 * 1024,
      perPrincipal: { requestsPerSecond: 5, burst: 10, concurrency: 2, streams: 3 },
    },
    shutdown: { grace: 0 },
    upstreams: {
      local: {
        kind: 'stdio',
        id: 'local',
        command: './server',
        args: ['--fast'],
        env: { MODE: 'test' },
        passEnv: ['SSH_AUTH_SOCK'],
        cwd: '/etc/work',
        enabled: false,
        optional: true,
        namespace: '',
        protocol: '2025-06-18',
        isolation: 'session',
        tools: {
          allow: ['read_*'],
          deny: ['read_all'],
          rename: { read_file: 'cat' },
          describe: { read_file: 'Reads.' },
          annotate: {
            read_file: {
              title: 'Read',
              readOnly: true,
              destructive: false,
              idempotent: true,
              openWorld: false,
            },
          },
        },
        trust: { annotations: true },
        instructions: false,
        timeouts: {
          connect: 1000,
          probe: 200,
          call: 120_000,
          idle: 60_000,
          total: 3_600_000,
          health: 0,
        },
        limits: { concurrency: 1, queue: 0, maxMessageBytes: 1024 ** 3, connections: 4 },
        cache: { ttl: 1500, staleFor: 0, scope: 'private', trustPublic: true },
        restart: { base: 1000, cap: 60_000, breakAfter: 2 },
        start: 'lazy',
        retry: 'safe',
        idleStop: 600_000,
        stop: { grace: 1000 },
      },
      remote: {
        kind: 'http',
        id: 'remote',
        namespace: 'remote',
        url: 'HTTPS://tickets.example.com/mcp',
        headers: { 'X-Team': 'core' },
        ...COMMON_DEFAULTS,
        transport: 'sse',
        isolation: 'user',
        credentials: {
          type: 'tokenExchange',
          issuer: 'https://login.example.com/realms/team',
          clientId: 'gateway',
          clientSecret: 'not-a-secret',
          scope: 'tickets',
          resource: 'https://tickets.example.com/',
          audience: 'tickets',
        },
      },
    },
  });
});

it('keeps upstreams in the order of the file', () => {
  const { settings } = parse('upstreams: {z: {command: a}, m: {command: a}, a: {command: a}}');
  expect(Object.keys(settings.upstreams)).toEqual(['z', 'm', 'a']);
});

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
    ['listen: {allowedHosts: [a, ""]}', '1:28 listen.allowedHosts[1]: must not be empty'],
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
