import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey } from '../../src/access/keys.ts';
import { AGENTS } from '../kit/agents.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectPipe } from '../kit/pipe-agent.ts';
import { MAIN } from '../kit/program.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startTokenIssuer, type TokenIssuer } from '../kit/token-issuer.ts';
import { configFile, run } from '../unit/cli/run.ts';

const nowSeconds = () => Math.floor(Date.now() / 1_000);

describe('with tokens', () => {
  const scope = new AsyncDisposableStack();
  let issuer: TokenIssuer;
  let up: ScriptedHttp;
  let gateway: StartedGateway;

  beforeAll(async () => {
    issuer = scope.use(await startTokenIssuer());
    up = scope.use(await startHttpUpstream({ id: 'up', tools: ['echo', 'slow'] }));
    gateway = scope.use(
      await startGateway({
        auth: { mode: 'jwt', jwt: { issuer: issuer.issuer, clockTolerance: '0s' } },
        operators: { groups: ['ops'] },
        legacySse: { enabled: true },
        upstreams: { up: up.config },
      }),
    );
    await gateway.gateway.settled();
  });

  afterAll(() => scope.disposeAsync());

  const bearer = async (sub: string, claims: object = {}) => ({
    authorization: `Bearer ${await issuer.token(gateway.url, { claims: { sub, ...claims } })}`,
  });
  /** A token that ends soon, and long enough from now to begin something with it. */
  const short = (sub: string) => bearer(sub, { exp: nowSeconds() + 5 });

  describe.concurrent.each(AGENTS)('a $era client', ({ era, connect }) => {
    it('is answered 401 when its token ends, and goes on where it was with the next', async ({ expect }) => {
      await using agent = await connect(gateway.url, { headers: await short('ann') });
      expect((await agent.call('up.echo')).result).toBeTruthy();
      const ask = () => agent.request('tools/call', { name: 'up.echo', arguments: {} });
      await expect.poll(async () => (await ask()).status).toBe(401);
      const refused = await ask();
      expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
      const headers = await bearer('ann');
      expect(
        await agent.request('tools/call', { name: 'up.echo', arguments: {} }, { headers }),
      ).toMatchObject({
        status: 200,
        result: { content: expect.anything() },
      });
    });

    it('has its stream ended in good order with the token that opened it', async ({ expect }) => {
      await using agent = await connect(gateway.url, { headers: await short('ann') });
      const stream = await agent.listen();
      const { ended, messages } = await stream.closed;
      expect(ended).toBe('whole');
      expect(messages.some((message) => 'result' in message)).toBe(era === 'modern');
      await using again = await agent.listen({ tools: true }, { headers: await bearer('ann') });
      await up.addTool({ name: `later_${era}`, inputSchema: { type: 'object' } });
      await up.notify('tools');
      await again.next((message) => message['method'] === 'notifications/tools/list_changed');
    });

    it('is not cut off in a call that began with a good token', async ({ expect }) => {
      await using agent = await connect(gateway.url, { headers: await short('ann') });
      const since = up.mark();
      const running = agent.begin('tools/call', { name: 'up.slow', arguments: {} });
      await up.untilReceived('tools/call', undefined, { after: since });
      await expect.poll(async () => (await agent.request('tools/list')).status).toBe(401);
      await up.release('slow');
      expect(await running.done).toMatchObject({
        status: 200,
        result: { structuredContent: { done: true } },
      });
    });
  });

  it('a session belongs to who opened it, whatever the id is worth to others', async () => {
    await using ann = await connectLegacy(gateway.url, { headers: await bearer('ann') });
    const asBob = { headers: await bearer('bob') };
    const attempts: readonly [string, () => Promise<{ readonly status: number }>][] = [
      ['a request', () => ann.request('tools/list', {}, asBob)],
      ['a notification', () => ann.notify('notifications/cancelled', { requestId: 1 }, asBob)],
      ['the stream', () => ann.http('GET', asBob.headers).done],
      ['the end', () => ann.http('DELETE', asBob.headers).done],
    ];
    for (const [what, attempt] of attempts) {
      expect([what, (await attempt()).status]).toEqual([what, 404]);
    }
    expect((await ann.request('tools/list', {}, { headers: { authorization: null } })).status).toBe(401);
    expect(await ann.names()).toContain('up.echo');
  });

  it('the stream of 2024-11-05 takes messages of its own user alone, and ends with its token', async () => {
    const stream = await fetch(`${gateway.origin}/sse`, {
      headers: { accept: 'text/event-stream', ...(await short('ann')) },
    });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const first = (await reader?.read())?.value ?? '';
    const [, address = ''] = /data: (\S+)/.exec(first) ?? [];
    const post = async (headers: object) => {
      const { status } = await fetch(`${gateway.origin}${address}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
      });
      return status;
    };
    expect(await post(await bearer('bob'))).toBe(404);
    expect(await post({})).toBe(401);
    expect(await post(await bearer('ann'))).toBe(202);
    await expect.poll(async () => (await reader?.read())?.done).toBe(true);
  });

  describe('/readyz', () => {
    const ready = async (headers: Record<string, string>) =>
      (await fetch(`${gateway.origin}/readyz`, { headers })).json();

    it('says to everybody whether traffic may come, and to operators what there is', async () => {
      const config = expect.objectContaining({ status: 'ok', needRestart: [] });
      const gone = { calls: 0, clients: {} };
      const state = expect.objectContaining({ type: 'memory', status: 'ok' });
      const whole = { status: 'ready', config, state, gone, upstreams: { up: expect.anything() } };
      expect(await ready({})).toEqual({ status: 'ready' });
      expect(await ready(await bearer('ann', { groups: ['eng'] }))).toEqual({ status: 'ready' });
      expect(await ready({ authorization: 'Bearer nonsense' })).toEqual({ status: 'ready' });
      expect(await ready(await bearer('ops', { groups: ['eng', 'ops'], exp: 1 }))).toEqual({
        status: 'ready',
      });
      expect(await ready(await bearer('ops', { groups: ['eng', 'ops'] }))).toEqual(whole);
    });
  });
});

describe('patchbay stdio', () => {
  const { key, sha256 } = newKey();
  const KEYS = { mode: 'keys', keys: [{ id: 'ann', sha256, groups: ['eng'] }] };
  const scope = new AsyncDisposableStack();
  let up: ScriptedHttp;
  let path: string;

  beforeAll(async () => {
    up = scope.use(await startHttpUpstream({ id: 'up', tools: ['echo', 'write'] }));
    const access = [{ who: { groups: ['eng'] }, allow: ['up.echo'] }];
    const sealingKey = Buffer.alloc(32, 7).toString('base64');
    const config = { sealingKey, auth: KEYS, access, upstreams: { up: up.config } };
    path = scope.use(await configFile(config)).path;
  });

  afterAll(() => scope.disposeAsync());

  it('serves its client with the key of its environment', async () => {
    const env = { PATH: process.env['PATH'] ?? '', PATCHBAY_TOKEN: key };
    const command = { command: process.execPath, args: [MAIN, 'stdio', '-c', path], env };
    await using agent = await connectPipe(command, { era: 'modern' });
    await expect.poll(() => agent.names()).toEqual(['up.echo']);
  });

  it.each([
    { what: 'nothing', env: {}, says: 'Set PATCHBAY_TOKEN' },
    { what: 'an empty text', env: { PATCHBAY_TOKEN: '' }, says: 'Set PATCHBAY_TOKEN' },
    { what: 'another key', env: { PATCHBAY_TOKEN: `${key}x` }, says: 'not valid here' },
  ])('does not begin with $what in it', async ({ env, says }) => {
    const { code, stdout, stderr } = await run(['stdio', '-c', path], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(says);
    expect(stderr).not.toContain(key.slice(4, 20));
  });

  it('ends with the token that it was started with', async () => {
    await using issuer = await startTokenIssuer();
    await using gateway = await startGateway({
      auth: { mode: 'jwt', jwt: { issuer: issuer.issuer, clockTolerance: '0s' } },
      upstreams: { up: up.config },
    });
    const pipes = () => ({ input: new PassThrough(), output: new PassThrough() });
    const token = await issuer.token(gateway.url, { claims: { exp: nowSeconds() + 3 } });
    const client = await gateway.gateway.stdio({ ...pipes(), token });
    await client.ended;
    await client.close(0, AbortSignal.abort());
    expect(JSON.stringify(gateway.logged)).toContain('the token has ended');
    expect(JSON.stringify(gateway.logged)).not.toContain(token.slice(-12));
    await expect(gateway.gateway.stdio({ ...pipes(), token })).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    });
  });

  it('commands are for whoever has the configuration: they see everything', async () => {
    const { code, stdout } = await run(['tools', '--json', '-c', path]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).map(({ name }: { name: string }) => name)).toEqual(['up.echo', 'up.write']);
  });
});
