import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script } from '../kit/upstream.ts';

const TEXT = 'Grüße—é🎉読み';
const ERAS = [{ era: 'legacy' }, { era: 'modern' }] as const;

describe.each(ERAS)('a $era server on stdout', ({ era }) => {
  const script: Script = {
    id: 'up',
    era,
    tools: [{ name: 'echo', description: TEXT, inputSchema: { type: 'object' } }],
    resources: [{ uri: 'note://x', name: TEXT }],
  };

  it.each(AGENTS)('C-028: a $era client hears no noise, and invents no answer', async ({ connect }) => {
    const noise = [
      'Server listening!\n',
      '\n',
      '[info] a line of a log\n',
      '\u001b[32mgreen\u001b[0m\r\n',
      '[1,2,3]\n',
      '"a string"\n',
      '{"level":"info","msg":"no jsonrpc"}\n',
      `${'x'.repeat(200_000)}\n`,
      '{"jsonrpc":"2.0","id":999999,"result":{}}\n',
    ];
    await using up = await startStdioUpstream({ ...script, stdio: { banner: noise, noise } });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await using agent = await connect(gateway.url);
    expect(await agent.untilNames((names) => names.length > 0)).toEqual(['up.echo']);
    for (let n = 0; n < 20; n += 1) {
      expect((await agent.call('up.echo', { n })).structured).toEqual({ n });
    }
    expect(up.starts).toBe(1);
    const lines = gateway.logged
      .filter(({ upstream }) => upstream === 'up')
      .map((line) => JSON.stringify(line));
    const noisy = lines.filter((line) => /no jsonrpc|a line of a log|xxxxx/.test(line));
    expect(noisy.length).toBeGreaterThan(0);
    expect(noisy.length).toBeLessThan(30);
    expect(Math.max(...noisy.map((line) => line.length))).toBeLessThan(2_000);
  });

  it('C-028: a message glued to a log line fails that call at most; the server lives on', async () => {
    await using up = await startStdioUpstream(script);
    const timeouts = { call: '1s' };
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, timeouts } } });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    // Without a line end of its own: the answer follows on the same line.
    await up.change({ stdio: { noise: ['loading... '] } });
    const { result } = await agent.request('tools/call', { name: 'up.echo', arguments: { n: 1 } });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('[up]') }] });
    await up.change({ stdio: {} });
    expect((await agent.call('up.echo', { n: 2 })).structured).toEqual({ n: 2 });
    expect(up.starts).toBe(1);
  });

  it.each(AGENTS)(
    'C-029: a $era client gets text exactly as written, in whatever pieces it came',
    async ({ connect }) => {
      for (const stdio of [{ splitCharacters: true }, { chunkBytes: 1 }] as const) {
        await using up = await startStdioUpstream({ ...script, stdio });
        await using gateway = await startGateway({ upstreams: { up: up.config } });
        await using agent = await connect(gateway.url);
        await agent.untilNames((names) => names.length > 0);
        expect(await agent.list('tools')).toMatchObject([{ description: TEXT }]);
        expect(await agent.list('resources')).toMatchObject([{ name: TEXT }]);
        expect((await agent.call('up.echo', { [TEXT]: TEXT })).structured).toEqual({ [TEXT]: TEXT });
      }
    },
  );
});

describe('C-030: stderr that is not read would block the child', () => {
  it.each(AGENTS)('10 MB of it before the answer cost a $era client nothing', async ({ connect }) => {
    const calls = { loud: { does: 'stderr', bytes: 10_000_000 } } as const;
    await using up = await startStdioUpstream({ id: 'up', tools: ['loud', 'echo'], calls });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await using agent = await connect(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    expect((await agent.call('up.loud')).structured).toEqual({ done: true });
    expect((await agent.call('up.echo', { n: 1 })).structured).toEqual({ n: 1 });
    const logged = JSON.stringify(gateway.logged.filter(({ upstream }) => upstream === 'up'));
    expect(logged).toContain('"stderr":');
    expect(logged.length).toBeLessThan(600_000);
  });

  it('its end is in the log when the child dies, secrets masked; the client hears none of it', async () => {
    const secret = `token-${randomUUID()}`;
    const calls = { sigh: { does: 'stderr', text: `cannot open the database with ${secret}\n` } } as const;
    await using up = await startStdioUpstream({ id: 'up', tools: ['sigh', 'crash'], calls });
    const env = { ...objectAt(up.config, 'env'), DATABASE_TOKEN: secret };
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, env } } });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    await agent.call('up.sigh');
    const { result } = await agent.request('tools/call', { name: 'up.crash', arguments: {} });
    expect(result).toMatchObject({ isError: true });
    const died = () => JSON.stringify(gateway.logged.filter(({ msg }) => /not reachable/.test(String(msg))));
    await expect.poll(died).toContain('cannot open the database with');
    expect(JSON.stringify([gateway.logged, result])).not.toContain(secret);
    expect(JSON.stringify([result, gateway.gateway.readiness()])).not.toContain('database');
  });
});

describe('C-037: what a child sees of the environment', () => {
  const mine = {
    GW_SECRET: 'gateway-secret-x',
    AWS_SECRET_ACCESS_KEY: 'aws-secret-y',
    PATCHBAY_SEALING_KEY: 'sealing-z',
    HTTPS_PROXY: 'http://proxy.example:3128',
    NODE_EXTRA_CA_CERTS: '/dev/null',
    LC_ALL: 'C.UTF-8',
    TZ: 'Etc/UTC',
  };
  const before = Object.fromEntries(Object.keys(mine).map((name) => [name, process.env[name]]));

  beforeAll(() => {
    Object.assign(process.env, mine);
  });

  afterAll(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) {
        delete process.env[name];
      } else {
        process.env[name] = value;
      }
    }
  });

  async function seen(more: JsonObject): Promise<JsonObject> {
    await using up = await startStdioUpstream({ id: 'up', tools: ['env'] });
    const env = { ...objectAt(up.config, 'env'), ...objectAt(more, 'env') };
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, ...more, env } } });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    return objectAt((await agent.call('up.env')).structured, 'env') ?? {};
  }

  it('is what programs need and what the configuration gives it, and no secret', async () => {
    const env = await seen({ env: { A: '1', 'WITH SPACE': 'b c' } });
    expect(env).toMatchObject({ A: '1', 'WITH SPACE': 'b c' });
    for (const name of [
      'PATH',
      'HOME',
      'USER',
      'LOGNAME',
      'SHELL',
      'TERM',
      'LANG',
      'LC_ALL',
      'TMPDIR',
      'TZ',
    ]) {
      expect(env[name], name).toBe(process.env[name]);
    }
    expect(env).not.toHaveProperty('GW_SECRET');
    expect(env).not.toHaveProperty('AWS_SECRET_ACCESS_KEY');
    expect(env).not.toHaveProperty('PATCHBAY_SEALING_KEY');
    expect(JSON.stringify(env)).not.toMatch(/gateway-secret-x|aws-secret-y|sealing-z/);
  });

  it('has the proxy and certificates of the gateway by one line each', async () => {
    const env = await seen({ passEnv: ['HTTPS_PROXY', 'NODE_EXTRA_CA_CERTS', 'NOT_SET_ANYWHERE'] });
    expect(env).toMatchObject({ HTTPS_PROXY: mine.HTTPS_PROXY, NODE_EXTRA_CA_CERTS: '/dev/null' });
    expect(env).not.toHaveProperty('GW_SECRET');
    expect(env).not.toHaveProperty('NOT_SET_ANYWHERE');
  });
});

describe('C-038: commands that do not exist', () => {
  const absent = `no-such-command-${randomUUID()}`;
  const restart = { base: '100ms', cap: '200ms' };

  it.each(AGENTS)('a $era client gets all others, and is told which one is missing', async ({ connect }) => {
    await using good = await startHttpUpstream({ id: 'good', tools: ['fine'] });
    await using gateway = await startGateway({
      upstreams: {
        gone: { command: absent, args: ['--token=x'], restart },
        wrapped: { command: 'sh', args: ['-c', absent], restart },
        folder: { command: process.execPath, cwd: `/${absent}`, restart },
        good: good.config,
      },
    });
    await using agent = await connect(gateway.url);
    expect(await agent.untilNames((names) => names.length > 0)).toEqual(['good.fine']);
    const lastError = (id: string) => gateway.gateway.readiness().upstreams[id]?.lastError;
    await expect.poll(() => lastError('gone')).toMatch(new RegExp(`command not found: ${absent}$`));
    await expect.poll(() => lastError('wrapped')).toMatch(/^UPSTREAM_COMMAND: /);
    await expect
      .poll(() => lastError('folder'))
      .toMatch(/^UPSTREAM_COMMAND: .*working folder does not exist/);
    const { result } = await agent.request('tools/call', { name: 'gone.any', arguments: {} });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('[gone]') }] });
    const searched = gateway.logged
      .filter(({ upstream }) => upstream === 'gone')
      .map((line) => JSON.stringify(line));
    expect(searched.join()).toContain(process.env['PATH']);
    expect(searched.join()).not.toContain('--token=x');
    // Tried again, but each time after a pause.
    const waits = () =>
      gateway.logged.filter(({ upstream, retryInMs }) => upstream === 'gone' && retryInMs !== undefined);
    await expect.poll(() => waits().length).toBeGreaterThan(2);
    expect(waits().filter(({ retryInMs }) => Number(retryInMs) < 50)).toEqual([]);
  });
});
