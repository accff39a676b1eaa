// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { type LoadOptions, loadSettings } from '../../../src/config/load.ts';
import { ConfigError, formatProblems } from '../../../src/config/problems.ts';
import { parse, refusal, report, upstream } from './kit.ts';

const fixtures = fileURLToPath(new URL('../../fixtures/config/', import.meta.url));

async function loadFixture(name: string, options: LoadOptions = { env: {} }) {
  return loadSettings(join(fixtures, name), options);
}

async function reportOf(name: string, options: LoadOptions = { env: {} }): Promise<readonly string[]> {
  const thrown = await loadFixture(name, options).catch((error: unknown) => error);
  if (!(thrown instanceof ConfigError)) {
    throw new Error('not refused', { cause: thrown });
  }
  return formatProblems(thrown.problems, name).split('\n');
}

describe('whole files', () => {
  it('hard but legal YAML arrives as it is meant', async () => {
    const loaded = await loadFixture('torture.yaml', {
      env: { GIT_TOKEN: 'git-token', WEB_TOKEN: 'web-token' },
    });
    const base = { LANG: 'C.UTF-8', COUNTRY: 'NO', VERSION: '1.10', ZIP: '01234', ON_OFF: 'on' };
    expect(loaded.settings.upstreams).toMatchObject({
      files: {
        kind: 'stdio',
        args: ['-y', '@example-org/files-mcp', '--root', '/srv/a b'],
        env: { ...base, UNUSED: 'gone' },
        restart: { base: 500, cap: 30_000, breakAfter: 5 },
        cwd: fixtures.replace(/\/$/, ''),
      },
      git: { kind: 'stdio', restart: { base: 500, cap: 30_000, breakAfter: 5 } },
      web: {
        kind: 'http',
        url: 'http://127.0.0.1:18080/mcp',
        headers: { Authorization: 'Bearer web-token', 'x-team': 'core', 'X-Note': 'folded text' },
        timeouts: { connect: 2000, call: 10_000, total: 120_000 },
      },
      constructor: { kind: 'http', enabled: false },
    });
    expect(upstream(loaded, 'git')).toHaveProperty('env', {
      ...base,
      GIT_TOKEN: 'git-token',
      TEMPLATE: '${NOT_A_VARIABLE}',
      SHELL_STYLE: '$NOT_EXPANDED',
    });
    expect(upstream(loaded, 'constructor')).not.toHaveProperty('disabledReason');
    expect(loaded.secrets).toEqual(['git-token', 'web-token']);
  });

  it('C-080: every mistake is in the one report, with line, path and what was meant', async () => {
    expect(await reportOf('typos.yaml')).toEqual([
      'typos.yaml:3:6 upstreams.a: needs "command" or "url"',
      'typos.yaml:3:8 upstreams.a.commandd: unknown key (did you mean "command"?)',
      'typos.yaml:4:50 upstreams.b.transport: must be one of auto, streamable-http, sse',
      'typos.yaml:5:51 upstreams.c.timeouts.callms: unknown key (did you mean "call"?)',
      'typos.yaml:6:33 upstreams.d.env.A: must be text, not a list or a mapping',
      'typos.yaml:7:3 upstreams.d: this key stands here twice',
      'typos.yaml:8:39 upstreams.e.timeoutt: unknown key (did you mean "timeouts"?)',
      'typos.yaml:11:3 auth.enabledd: unknown key',
      'typos.yaml:12:1 authh: unknown key (did you mean "auth"?)',
    ]);
  });

  it('contradictions, repeated keys and impossible ids too', async () => {
    const id = 'must be 1 to 32 of a-z, 0-9, "_" and "-", and begin with a letter or digit';
    expect(
      (await reportOf('contradictions.json')).map((line) => line.replace(/^[^:]+:(\d+):\d+ /, '$1 ')),
    ).toEqual([
      '3 upstreams.both-kinds: "command" and "url" exclude each other',
      '4 upstreams.both-flags.disabled: unknown key',
      '5 upstreams.string-flag.enabled: must be true or false, without quotes',
      '6 upstreams.args-string.args: must be a list, such as [a, b]',
      '7 upstreams.env-array.env: must be a mapping (key: value)',
      '8 upstreams.env-number.env.PORT: must be text: put it in quotes',
      '8 upstreams.env-number.env.DEBUG: must be text: put it in quotes',
      '9 upstreams.empty: needs "command" or "url"',
      `10 upstreams[""]: ${id}`,
      '12 upstreams.dup: this key stands here twice',
      `13 upstreams.Dup: ${id}`,
      `14 upstreams["with.dot"]: ${id}`,
      `15 upstreams["ends."]: ${id}`,
      `16 upstreams["with space"]: ${id}`,
      `17 upstreams.über-dienst: ${id}`,
      `18 upstreams.__proto__: ${id}`,
      '19 upstreams.mixed.headers: only for an entry with "url"',
      '21 servers: unknown key',
    ]);
    expect({}).not.toHaveProperty('namespace');
  });

  it('no value is ever repeated, wherever the mistake is', async () => {
    const options = { env: { CANARY: 'canary-of-the-environment' } };
    const lines = await reportOf('secrets.yaml', options);
    expect(lines).toHaveLength(17);
    const thrown = await loadFixture('secrets.yaml', options).catch((error: unknown) => error);
    const everything = JSON.stringify([lines, thrown, String(thrown), (thrown as GatewayError).logged]);
    expect(everything.toLowerCase()).not.toContain('canary');
  });

  it('what is left over after the end is refused with its line, a byte order mark is not', async () => {
    expect(await reportOf('trailing-text.json')).toEqual([
      'trailing-text.json:2:1: unexpected text; is it left over, or in need of quotes?',
    ]);
    expect(upstream(await loadFixture('bom.json'), 'bom')).toMatchObject({ args: ['s.js'] });
  });
});

describe('x- keys', () => {
  it('are ignored wherever the keys are ours, with whatever they hold', () => {
    const text =
      'x-a: ["${env:UNSET}"]\nlisten: {x-b: 1}\nupstreams: {x-c: {nonsense: 1}, a: {command: x, x-d: , timeouts: {x-e: 1}}}';
    expect(Object.keys(parse(text).settings.upstreams)).toEqual(['a']);
  });

  it('are names like any other where keys are the user’s', () => {
    const loaded = parse(
      'upstreams: {a: {url: "http://h", headers: {x-key: v}}, b: {command: c, env: {x-key: v}}}',
    );
    expect(upstream(loaded, 'a')).toHaveProperty('headers', { 'x-key': 'v' });
    expect(upstream(loaded, 'b')).toHaveProperty('env', { 'x-key': 'v' });
  });
});

describe('C-079: references in all fields', () => {
  const env = {
    TOK: 'secret-token',
    URL_OF: 'http://h/mcp',
    PORT: '8080',
    FLAG: 'true',
    TIME: '5s',
    INJECT: 'a\nb: {c: d}',
  };

  it('command, args, env, url, headers and everything else', () => {
    const loaded = parse(
      `upstreams:
  a: { command: "\${env:TOK}", args: ["--\${env:TOK}"], env: { T: "\${env:TOK}" }, cwd: "/\${env:TOK}" }
  b: { url: "\${env:URL_OF}", headers: { T: "\${env:TOK}" }, protocol: "\${env:NONE:-2025-11-25}" }
listen: { port: "\${env:PORT}" }
auth: { allowAnonymous: "\${env:FLAG}" }
changes: { debounce: "\${env:TIME}" }
limits: { maxBodyBytes: "\${env:PORT}" }`,
      { env },
    );
    expect(upstream(loaded, 'a')).toMatchObject({
      command: 'secret-token',
      args: ['--secret-token'],
      env: { T: 'secret-token' },
      cwd: '/secret-token',
    });
    expect(upstream(loaded, 'b')).toMatchObject({
      url: 'http://h/mcp',
      headers: { T: 'secret-token' },
      protocol: '2025-11-25',
    });
    expect(loaded.settings).toMatchObject({
      listen: { port: 8080 },
      auth: { allowAnonymous: true },
      changes: { debounce: 5000 },
      limits: { maxBodyBytes: 8080 },
    });
  });

  it('a value cannot become YAML', () => {
    const loaded = parse('upstreams: {a: {command: x, args: ["${env:INJECT}"]}}', { env });
    expect(upstream(loaded, 'a')).toHaveProperty('args', ['a\nb: {c: d}']);
  });

  it('a secret file is found from the folder of the config file', () => {
    const asked: string[] = [];
    const readFile = (path: string) => {
      asked.push(path);
      return 'from-a-file\n';
    };
    const text = 'upstreams: {a: {command: x, args: ["${file:secrets/t}", "${file:/run/secrets/t}"]}}';
    const loaded = parse(text, { readFile });
    expect(upstream(loaded, 'a')).toHaveProperty('args', ['from-a-file', 'from-a-file']);
    expect(asked).toEqual(['/etc/patchbay/secrets/t', '/run/secrets/t']);
    expect(loaded.secrets).toEqual(['from-a-file']);
  });

  it('secrets are what came from outside, once each, unless too short to mask', () => {
    const text =
      'upstreams: {a: {command: x, args: ["${env:TOK} ${env:TOK}", "${env:FLAG}", "${env:NONE:-standard}"]}}';
    expect(parse(text, { env }).secrets).toEqual(['secret-token']);
  });

  it('keys are taken as they are', () => {
    expect(
      upstream(parse('upstreams: {a: {command: x, env: {"${env:TOK}": v}}}', { env }), 'a'),
    ).toHaveProperty('env', {
      '${env:TOK}': 'v',
    });
  });
});

describe('C-079: variables that are not set', () => {
  const text = (more: string) =>
    `upstreams:\n  a: { url: "\${env:URL_OF}", headers: { T: "x \${env:TOK}", F: "\${file:/nowhere}" }${more} }\n  b: { command: y }`;

  it('are mistakes', () => {
    expect(report(text(''))).toEqual([
      '2:13 upstreams.a.url: the variable URL_OF is not set',
      '2:44 upstreams.a.headers.T: the variable TOK is not set',
      '2:63 upstreams.a.headers.F: its file cannot be read (ENOENT)',
    ]);
  });

  it('turn an optional upstream off, with a reason that names field and variable; the others start', () => {
    const loaded = parse(text(', optional: true'));
    expect(upstream(loaded, 'a')).toMatchObject({
      enabled: false,
      disabledReason:
        'upstreams.a.url: the variable URL_OF is not set; upstreams.a.headers.T: the variable TOK is not set; upstreams.a.headers.F: its file cannot be read (ENOENT)',
    });
    expect(upstream(loaded, 'b')).toMatchObject({ enabled: true });
    expect(JSON.stringify(upstream(loaded, 'a'))).not.toContain('${');
  });

  it('do not matter to one that is off', () => {
    const found = upstream(parse(text(', enabled: false')), 'a');
    expect(found.enabled).toBe(false);
    expect(found).not.toHaveProperty('disabledReason');
  });

  it('hide no other mistake of an optional upstream', () => {
    expect(report(text(', optional: true, transport: sses'))).toEqual([
      '2:112 upstreams.a.transport: must be one of auto, streamable-http, sse (did you mean "sse"?)',
    ]);
  });

  it('outside of upstreams are always mistakes', () => {
    expect(report('name: "${env:NAME_OF}"')).toEqual(['1:7 name: the variable NAME_OF is not set']);
  });

  it('a plain ${X} is a mistake even in an optional upstream', () => {
    expect(report('upstreams: {a: {command: "${TOK}", optional: true}}')).toEqual([
      '1:26 upstreams.a.command: write ${env:TOK} for a variable, or $${ for a literal ${',
    ]);
  });
});

it('a wrong anchor is a mistake with its place', () => {
  expect(report('name: *nope\nlisten: *no')).toEqual([
    '1:7 name: there is no such anchor before this place',
    '2:9 listen: there is no such anchor before this place',
  ]);
});

it('mistakes in merged keys stand where they are written, under the path where they count', () => {
  expect(
    report('x-a: &a {instructions: 1}\nupstreams:\n  a: {<<: *a, command: x}\n  b: {<<: *a, command: x}'),
  ).toEqual([
    '1:24 upstreams.a.instructions: must be true or false, without quotes',
    '1:24 upstreams.b.instructions: must be true or false, without quotes',
  ]);
});

describe('host and port from outside', () => {
  it('outrank the file; port 0 takes any free one', () => {
    const { settings } = parse('listen: {host: 10.0.0.1, port: 1}', { overrides: { host: '::1', port: 0 } });
    expect(settings.listen).toMatchObject({ host: '::1', port: 0 });
  });

  it('are judged too', () => {
    expect(report('', { overrides: { host: '0.0.0.0' } })).toEqual([
      '1:1 listen.host: on an address that is not loopback, "auth.mode: none" needs "auth.allowAnonymous: true"',
    ]);
    expect(report('', { overrides: { port: 65_536 } })).toEqual([
      ' listen.port: the port given from outside must be a whole number from 0 to 65535',
    ]);
    expect(report('', { overrides: { port: Number.NaN, host: '' } })[0]).toBe(
      ' listen.host: the host given from outside is empty',
    );
  });
});

describe('a state that replicas share', () => {
  const key = `sealingKey: ${Buffer.alloc(32, 7).toString('base64')}`;

  it.each([
    ['type: redis', key, '1:9 state.url: "state.type: redis" needs it'],
    [
      'type: redis, url: "redis://state:6379"',
      'name: x',
      '1:8 state.type: "redis" needs a "sealingKey", the same for all replicas',
    ],
    ['url: "http://state"', key, '1:27 state.url: must be a URL that begins with redis:// or rediss://'],
    ...['redis://[bad', 'redis://h:99999', 'redis:///1', 'redis://h/one', 'redis://a%zz@h'].map((url) => [
      `url: "${url}"`,
      key,
      `1:27 state.url: ${url === 'redis:///1' ? 'must be a URL that begins with redis:// or rediss://' : 'must be a complete URL, such as redis://host:6379, with nothing or a number after the host'}`,
    ]),
    ['prefix: "a b"', key, '1:17 state.prefix: must be 1 to 64 of "A-Z a-z 0-9 . _ : -"'],
  ])('{ %s } with %s is refused', (state, other, problem) => {
    const [found, ...more] = report(`state: { ${state} }\n${other}`);
    expect(found?.replace(/^\d+:\d+ /, '')).toBe(problem.replace(/^\d+:\d+ /, ''));
    expect(more).toEqual([]);
  });

  it('is in memory unless it is said where', () => {
    expect(parse('').settings.state).toEqual({ type: 'memory', prefix: 'patchbay' });
    expect(parse('').settings.oldSealingKeys).toEqual([]);
  });
});

it('the result is frozen all the way down', () => {
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every((member) => frozen(member)));
  const { settings } = parse('upstreams: {a: {command: x, args: [b], env: {C: d}}, e: {url: "http://h"}}');
  expect(frozen(settings)).toBe(true);
  expect(() => Object.assign(settings.listen, { port: 1 })).toThrow(TypeError);
});

it('an id that nobody has is not found, whatever it is called', () => {
  const { upstreams } = parse('upstreams: {a: {command: x}}').settings;
  for (const id of ['constructor', '__proto__', 'toString']) {
    expect(upstreams[id]).toBeUndefined();
  }
});

describe('errors', () => {
  it('are gateway errors whose text for strangers holds nothing of the file', () => {
    const thrown = refusal('authh: 1');
    expect(thrown).toBeInstanceOf(GatewayError);
    expect(thrown).toMatchObject({ code: 'CONFIG_INVALID', message: 'The configuration is not valid.' });
    expect(thrown.logged).toBe('/etc/patchbay/gateway.yaml:1:1 authh: unknown key (did you mean "auth"?)');
  });

  it('quote odd keys and cut long ones, so that a report keeps its lines', () => {
    const [problem] = refusal(`"a\\nb: ${'c'.repeat(100)}": 1`).problems;
    expect(problem?.path).toBe(`["a\\nb: ${'c'.repeat(55)}…"]`);
  });
});

describe('files', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'patchbay-config-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('reads the file, and secret files beside it', async () => {
    await writeFile(join(folder, 'token'), 'beside-the-config\n');
    await writeFile(join(folder, 'gateway.yaml'), 'upstreams: {a: {command: x, env: {T: "${file:token}"}}}');
    const loaded = await loadSettings(join(folder, 'gateway.yaml'), { env: {} });
    expect(upstream(loaded, 'a')).toMatchObject({ env: { T: 'beside-the-config' }, cwd: folder });
  });

  it.each([
    ['missing.yaml', undefined, 'there is no such file'],
    ['.', undefined, 'the file cannot be read (EISDIR)'],
    ['utf16.yaml', Buffer.from('\uFEFFname: x', 'utf16le'), 'the file is not UTF-8 text'],
  ])('%s is refused', async (name, content, message) => {
    const path = join(folder, name);
    if (content !== undefined) {
      await writeFile(path, content);
    }
    const thrown = await loadSettings(path, { env: {} }).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(ConfigError);
    expect(formatProblems((thrown as ConfigError).problems, 'f')).toBe(`f: ${message}`);
  });
});
