import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { AGENTS } from '../kit/agents.ts';
import { compileCache } from '../kit/compile-cache.ts';
import { refusingPort, silentPort } from '../kit/faults.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { MAIN } from '../kit/program.ts';
import { createWaits } from '../kit/waits.ts';

/** The places a secret can stand in a configuration or in a request. */
const PLACES = [
  'path',
  'query',
  'header',
  'bearer',
  'environment',
  'argument',
  'option',
  'credential',
  'cookie',
  'key',
  'password',
  'broken',
] as const;
type Place = (typeof PLACES)[number];

/** Letters and digits alone, so that no place has to escape them. Six of them come up nowhere by chance. */
const canary = () =>
  randomBytes(48)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .slice(0, 32);
const canaries = () => Object.fromEntries(PLACES.map((place) => [place, canary()])) as Record<Place, string>;

/** Places whose secret, or whose first or last six characters, stand in the text. */
function leaks(text: string, secrets: Record<Place, string>): string[] {
  return Object.entries(secrets).flatMap(([place, secret]) =>
    [secret, secret.slice(0, 6), secret.slice(-6)].some((piece) => text.includes(piece)) ? [place] : [],
  );
}

/**
 * Answers in the way that the path names, and repeats all it was told, as servers in debug mode do: once at the start of
 * the body, and once across the place where an excerpt would end.
 */
async function startEcho() {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const { url = '', headers, rawHeaders } = request;
      const [, how = ''] = /[?&]how=(\w+)/.exec(url) ?? [];
      const told = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      const edges = [180, 195, 480, 980].map((at) => `${'.'.repeat(at)}${rawHeaders.join(' ')} ${url}`);
      const body = [url, ...told, ...edges].join('\n');
      const type = how === 'html' ? 'text/html' : how === 'garbage' ? 'application/json' : 'text/plain';
      const location = how === 'redirect' ? { location: `https://elsewhere.example${url}` } : {};
      const status = /^\d+$/.test(how) ? Number(how) : how === 'redirect' ? 307 : 200;
      const challenge = { 'www-authenticate': `Bearer realm="${headers['x-team'] ?? ''}"` };
      response.writeHead(status, { 'content-type': type, ...challenge, ...location });
      response.end(how === 'garbage' ? `{"jsonrpc": ${body}` : body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Of these, what stands in the file itself is known to be secret; of the others only what came by reference is. */
const KNOWN: readonly Place[] = [
  'query',
  'header',
  'bearer',
  'environment',
  'credential',
  'cookie',
  'key',
  'password',
  'broken',
];

const HOWS = ['401', '403', '404', '429', '500', '502', 'html', 'garbage', 'redirect', 'text'];

describe.each([
  { written: 'as references', reference: true },
  { written: 'in the file itself', reference: false },
])('C-095: secrets of the configuration, written $written', ({ reference }) => {
  const secrets = canaries();
  const variable = (place: Place) => `CANARY_${place.toUpperCase()}`;
  const write = (place: Place) => (reference ? `\${env:${variable(place)}}` : secrets[place]);
  const restart = { base: '100ms', cap: '5s' };
  const timeouts = { connect: '1s', probe: '500ms', call: '1s' };
  const known = Object.fromEntries(
    Object.entries(secrets).filter(([place]) => reference || KNOWN.includes(place as Place)),
  ) as typeof secrets;
  /** Lines about servers that repeat what they were told may hold what nobody could know to be secret. */
  const ownWords = () =>
    output()
      .split('\n')
      .filter((line) => !/"upstream":"(?:echo-|sse-echo|talking|cut|broken)/.test(line))
      .join('\n');
  const logged = () => [...leaks(output(), known), ...leaks(ownWords(), secrets)];
  const scope = new AsyncDisposableStack();
  let url: string;
  let output = () => '';
  let end: () => Promise<unknown>;

  beforeAll(async () => {
    const echo = scope.use(await startEcho());
    const silent = scope.use(await silentPort());
    const parrot = scope.use(await startHttpUpstream({ tools: ['echo', 'whoami'] }));
    const folder = await mkdtemp(join(tmpdir(), 'patchbay-secrets-'));
    scope.defer(() => rm(folder, { recursive: true }));
    const http = (origin: string, how = '') => ({
      url: `${origin}/${write('path')}/mcp?token=${write('query')}&how=${how}`,
      headers: { 'X-Team': write('header'), Authorization: `Bearer ${write('bearer')}` },
      restart,
      timeouts,
    });
    const program = (script: string, more: object = {}) => ({
      command: 'sh',
      args: ['-c', script, 'server', `--token=${write('argument')}`, write('option')],
      env: { TOKEN: write('environment') },
      restart,
      timeouts,
      ...more,
    });
    const config = join(folder, 'gateway.yaml');
    const broken = {
      refused: http(`http://127.0.0.1:${await refusingPort()}`),
      unsafe: http(echo.origin.replace('http:', 'https:')),
      silent: http(`http://127.0.0.1:${silent.port}`),
      nowhere: http('http://no-such-host.invalid'),
      ...Object.fromEntries(HOWS.map((how) => [`echo-${how}`, http(echo.origin, how)])),
      'sse-echo': { ...http(echo.origin, '500'), transport: 'sse' },
      missing: { ...program(''), command: 'no-such-command-here' },
      folder: program('', { cwd: '/no-such-folder-here' }),
      talking: program('printf "%s\\n" "$TOKEN" "$@" >&2; printf "noise %s\\n" "$TOKEN" "$@"; exit 3'),
      cut: program(
        `printf "%0190d%s %0990d%s\\n" 0 "$TOKEN" 0 "$1" >&2; printf "%0190d%s\\n" 0 "$TOKEN"; exit 3`,
      ),
      broken: program(`printf '{"jsonrpc":"2.0","id":0,"result":%s' "$TOKEN"; exit 3`),
      hanging: program('cat >/dev/null'),
    };
    const upstreams = {
      ...broken,
      parrot: { ...http(''), url: `${parrot.config['url']}?token=${write('query')}` },
    };
    const sealingKey = randomBytes(32).toString('base64');
    await writeFile(config, stringify({ sealingKey, lists: { firstWait: '100ms' }, upstreams }));
    const env = Object.fromEntries(PLACES.map((place) => [variable(place), secrets[place]]));
    const child = spawn(
      process.execPath,
      [MAIN, 'serve', '-c', config, '--port', '0', '--json', '--log-level', 'debug'],
      {
        env: { PATH: process.env['PATH'], ...compileCache, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const waits = createWaits();
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        waits.check();
      });
    }
    output = () => text;
    const closed = once(child, 'close');
    end = () => {
      child.kill('SIGTERM');
      return closed;
    };
    scope.defer(async () => {
      await end();
    });
    url = await waits.until(
      () => /"url":"(http[^"]+)"/.exec(text)?.[1],
      () => `it does not listen: ${text}`,
      25_000,
    );
    // Every one of them has failed several times by then.
    const failed = () => Object.keys(broken).filter((id) => text.split(`"upstream":"${id}"`).length > 3);
    await waits.until(
      () => (failed().length >= Object.keys(broken).length - 1 ? true : undefined),
      () => `only these have failed: ${failed()}`,
      25_000,
    );
  }, 60_000);

  afterAll(() => scope.disposeAsync());

  it('stand in no line of the log, whatever fails, not even cut short', () => {
    expect(output()).toContain('"level":20');
    expect(output().length).toBeGreaterThan(10_000);
    expect(logged()).toEqual([]);
  });

  it('stand in no status', async () => {
    const ready = await (await fetch(new URL('/readyz', url))).text();
    expect(ready).toContain('lastError');
    expect(leaks(ready, secrets)).toEqual([]);
  });

  it.each(AGENTS)(
    'stand in no answer to a $era client; nor does anything that it sends stand in the log',
    async (client) => {
      const headers = {
        authorization: `Bearer ${secrets.credential}`,
        cookie: `sid=${secrets.cookie}`,
        'x-api-key': secrets.key,
      };
      await using agent = await client.connect(url, { headers });
      const texts: string[] = [JSON.stringify(agent.hello)];
      const args = { password: secrets.password };
      for (const id of ['refused', 'silent', 'echo-401', 'echo-html', 'missing', 'talking', 'nobody']) {
        texts.push((await agent.request('tools/call', { name: `${id}.any`, arguments: args })).text);
        texts.push((await agent.request('prompts/get', { name: `${id}.any`, arguments: args })).text);
      }
      texts.push(
        (await agent.request('resources/read', { uri: `note://${secrets.password}` })).error?.message ?? '',
      );
      texts.push((await agent.request('com.example/strange', args)).text);
      texts.push((await agent.request('tools/list', { cursor: secrets.password })).text);
      for (const broken of [
        `{"password": ${secrets.broken}}`,
        `${secrets.broken}`,
        `{"a":"${secrets.broken}`,
        `{"id":"${secrets.broken}"}`,
      ]) {
        texts.push((await agent.post(broken)).error?.message ?? '');
      }
      await agent.post('{}', { 'mcp-session-id': secrets.key });
      await agent.post('{}', { 'content-type': `text/${secrets.key}` });
      await agent.post('{}', { origin: `https://${secrets.key}.example` });
      await agent.post('{}', { host: `${secrets.key}.example` });
      await fetch(`${url}?token=${secrets.key}`).catch(() => undefined);
      const told = texts.join('\n');
      expect(told).toContain('[refused]');
      expect(leaks(told, secrets)).toEqual([]);
      expect(logged()).toEqual([]);
    },
  );

  it.each(AGENTS)('stand in nothing that a server repeats to a $era client', async (client) => {
    await using agent = await client.connect(url);
    await agent.untilNames((names) => names.includes('parrot.whoami'));
    const given = PLACES.filter((place) => ['query', 'bearer', 'environment'].includes(place));
    const message = given.map((place) => `${secrets[place]} ${btoa(`me:${secrets[place]}`)}`).join(' ');
    const texts = [
      (await agent.request('tools/call', { name: 'parrot.whoami', arguments: {} })).text,
      (await agent.request('tools/call', { name: 'parrot.echo', arguments: { message } })).text,
    ];
    expect(texts.map((text) => text.includes('[secret]'))).toEqual([true, true]);
    expect(
      texts.flatMap((text) => leaks(text, secrets)).filter((place) => given.includes(place as Place)),
    ).toEqual([]);
  });

  it('stand in nothing that is written at the end', async () => {
    await end();
    expect(logged()).toEqual([]);
  });
});
