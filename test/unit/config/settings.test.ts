// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, upstream } from './kit.ts';

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
  validate: { arguments: 'enforce', results: 'warn' },
  vetting: { credentials: 'flag', errorDetails: 'flag' },
  pins: { onChange: 'warn' },
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
        vetting: { credentials: 'flag', errorDetails: 'flag' },
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
          connections: 10_000,
          cacheBytes: 64 * 1024 * 1024,
          perPrincipal: { requestsPerSecond: 0, burst: 0, concurrency: 0, streams: 0 },
        },
        metrics: { enabled: true, public: false, tools: 0 },
        tracing: {
          enabled: false,
          endpoint: 'http://localhost:4318/v1/traces',
          headers: {},
          percent: 100,
          follow: true,
          queue: 2048,
        },
        audit: {
          arguments: 'digest',
          lists: true,
          rotateBytes: 64 * 1024 * 1024,
          keep: 5,
          bufferBytes: 8 * 1024 * 1024,
          onFailure: 'log',
        },
        oldSealingKeys: [],
        state: { type: 'memory', prefix: 'patchbay' },
        ui: { enabled: true },
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
    oldSealingKeys: ['ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8='],
    state: {
      type: 'redis',
      url: 'rediss://state.example.com/1',
      username: 'patchbay',
      password: 'of the state',
      prefix: 'team',
    },
    ui: { enabled: false },
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
        mode: 'progressive',
        pinned: ['remote.find'],
        maxTokens: 4000,
        found: { keep: 60_000, most: 5 },
      },
      slim: {
        include: ['*'],
        exclude: [],
        naming: 'strict',
        upstreamInstructions: true,
        mode: 'list',
        pinned: [],
        maxTokens: 0,
        found: { keep: 3_600_000, most: 32 },
      },
    },
    naming: { style: 'strict', separator: '__', maxLength: 64 },
    pins: { onChange: 'allow' },
    vetting: { credentials: 'mask', errorDetails: 'trim' },
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
      connections: 50,
      cacheBytes: 1024 * 1024,
      perPrincipal: { requestsPerSecond: 5, burst: 10, concurrency: 2, streams: 3 },
    },
    metrics: { enabled: false, public: true, tokenSha256: 'ab'.repeat(32), tools: 200 },
    tracing: {
      enabled: true,
      endpoint: 'https://collector.example.com/v1/traces',
      headers: { 'X-Key': 'of-a-collector' },
      percent: 10,
      follow: false,
      queue: 100,
    },
    audit: {
      file: '/var/log/patchbay/audit.jsonl',
      arguments: 'full',
      lists: false,
      rotateBytes: 1024 ** 3,
      keep: 0,
      bufferBytes: 1024 * 1024,
      onFailure: 'refuse',
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
        validate: { arguments: 'warn', results: 'enforce' },
        vetting: { credentials: 'off', errorDetails: 'flag' },
        pins: { onChange: 'quarantine' },
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
        // Those of the gateway.
        vetting: { credentials: 'mask', errorDetails: 'trim' },
        pins: { onChange: 'allow' },
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
