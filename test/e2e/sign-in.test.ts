import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuthorizationServer, startAuthorizationServer } from '../kit/authorization-server.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { signIn } from '../kit/oauth-clients.ts';
import { SDK_CLIENTS } from '../kit/sdk-clients.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';

/** `write` is a scope that one tool needs besides `mcp`, which everything needs. */
const ACCESS = [
  { who: { groups: ['eng'] }, allow: ['up.write'], scopes: ['write'] },
  { who: { groups: ['eng'] }, allow: ['up.echo', 'up.whoami'] },
  { who: { groups: ['sales'] }, allow: ['up.whoami'] },
];

describe.each(SDK_CLIENTS)('an official client (%s) that knows nothing but the URL', (label) => {
  const secrets: string[] = [];
  const scope = new AsyncDisposableStack();
  let server: AuthorizationServer;
  let up: ScriptedHttp;
  let gateway: StartedGateway;

  beforeAll(async () => {
    server = scope.use(await startAuthorizationServer({ ttl: 300, refresh: label !== 'v1' }));
    server.groups.set('ann', ['eng']);
    up = scope.use(
      await startHttpUpstream({ id: 'up', tools: ['echo', 'whoami', 'write', { name: 'secret' }] }),
    );
    gateway = scope.use(
      await startGateway({
        auth: { mode: 'jwt', jwt: { issuer: server.issuer, scopes: ['mcp'] } },
        access: ACCESS,
        upstreams: { up: up.config },
      }),
    );
    await gateway.gateway.settled();
  });

  afterAll(() => scope.disposeAsync());

  const gaveOut = (secret: string) => secrets.push(secret);

  it('is led to the authorization server, signs its user in, lists and calls', async () => {
    server.user = 'ann';
    await using client = await signIn(label, gateway.url, server, { gaveOut });
    expect(client.visits).toEqual(['mcp']);
    expect(server.asked).toEqual(expect.arrayContaining(['/reg', '/auth', '/token', '/jwks']));
    expect(await client.names()).toEqual(['up.echo', 'up.whoami', 'up.write']);
    expect(await client.call('up.echo', { n: 1 })).not.toHaveProperty('isError', true);
  });

  it('is told which scopes a call needs, gets them, and calls', async () => {
    await using client = await signIn(label, gateway.url, server, { as: 'known', gaveOut });
    expect(await client.call('up.write')).not.toHaveProperty('isError', true);
    expect(client.visits).toEqual(['mcp', 'mcp write']);
    expect(await client.call('up.echo')).not.toHaveProperty('isError', true);
    expect(client.visits).toHaveLength(2);
  });

  it('gets a token for one server alone at the URL of that server', async () => {
    await using client = await signIn(label, `${gateway.url}/up`, server, { gaveOut });
    expect(await client.names()).toEqual(['echo', 'whoami', 'write']);
    const elsewhere = await fetch(gateway.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.token}` },
    });
    expect(elsewhere.status).toBe(401);
  });

  it('shows another user what that one may use', async () => {
    server.user = 'bob';
    server.groups.set('bob', ['sales']);
    await using client = await signIn(label, gateway.url, server, { gaveOut });
    expect(await client.names()).toEqual(['up.whoami']);
    await expect(client.call('up.echo')).rejects.toThrow('no such name');
    server.user = 'ann';
  });

  it('C-050: none of what it signed in with reaches an upstream', () => {
    const heard = JSON.stringify(up.received);
    expect(heard).toContain('tools/call');
    for (const secret of secrets) {
      expect(heard).not.toContain(secret.slice(-12));
    }
    expect(heard.toLowerCase()).not.toContain('"authorization"');
  });

  it('C-095: none of it stands in the log at debug, nor any code or token of the authorization server', () => {
    const logged = JSON.stringify(gateway.logged);
    expect(logged).toContain('TOKEN_MISSING');
    expect(secrets.length).toBeGreaterThan(4);
    for (const secret of [...secrets, ...server.secrets]) {
      const pieces = [secret.slice(-6), ...secret.split('.').map((part) => part.slice(0, 24))];
      for (const piece of pieces.filter(({ length }) => length >= 6)) {
        expect(logged).not.toContain(piece);
      }
    }
  });
});

describe('a token that ends while its client works', () => {
  it.each(['v2-legacy', 'v2-modern', 'v1'] as const)(
    'is renewed by %s, which goes on without its user',
    async (label) => {
      await using server = await startAuthorizationServer({ ttl: 2 });
      await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
      await using gateway = await startGateway({
        auth: { mode: 'jwt', jwt: { issuer: server.issuer, clockTolerance: '0s', scopes: ['mcp'] } },
        upstreams: { up: up.config },
      });
      await gateway.gateway.settled();
      await using client = await signIn(label, gateway.url, server);
      const first = client.token;
      await expect.poll(async () => (await client.call('up.echo')) && client.token !== first).toBe(true);
      expect(await client.names()).toEqual(['up.echo']);
      expect(client.visits).toHaveLength(1);
    },
  );
});

describe('a machine that signs in as itself', () => {
  it('is let in with client credentials', async () => {
    await using server = await startAuthorizationServer();
    await using gateway = await startGateway({
      auth: { mode: 'jwt', jwt: { issuer: server.issuer, scopes: ['mcp'] } },
      upstreams: {},
    });
    const token = await server.clientToken(gateway.url);
    const ask = (headers: Record<string, string>) => fetch(gateway.url, { method: 'GET', headers });
    expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(405);
    const narrow = await server.clientToken(gateway.url, 'write');
    expect((await ask({ authorization: `Bearer ${narrow}` })).status).toBe(403);
  });
});
