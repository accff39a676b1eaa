import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newKey } from '../../src/access/keys.ts';
import { troublesOf } from '../../src/cli/reach.ts';
import { AGENTS } from '../kit/agents.ts';
import { startGate } from '../kit/gate.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startTokenIssuer } from '../kit/token-issuer.ts';
import { startTokenServer, type TokenServer } from '../kit/token-server.ts';

const AUDIENCE = 'https://gateway.example/mcp';
const canary = () => `canary-${randomBytes(12).toString('hex')}`;

/** Two servers of this era behind one sign-in: alice has x and y there, everybody else x. */
async function setUp(era: 'modern' | 'legacy', lifetime = 3_600) {
  const stack = new AsyncDisposableStack();
  const issuer = stack.use(await startTokenIssuer());
  const tokens = stack.use(await startTokenServer({ lifetime }));
  const own = (more: readonly string[]) =>
    startHttpUpstream({ id: 'up', era, tools: ['whoami', 'count', 'x', ...more] });
  const rich = stack.use(await own(['y']));
  const poor = stack.use(await own([]));
  const gate = stack.use(
    await startGate(
      (name) => (name === 'alice' ? rich.url : poor.url),
      (headers) => tokens.whois((headers.authorization ?? '').replace('Bearer ', ''))?.subject ?? 401,
    ),
  );
  const { clientId, clientSecret } = tokens;
  const gateway = stack.use(
    await startGateway({
      auth: { mode: 'jwt', jwt: { issuer: issuer.issuer, audience: [AUDIENCE] } },
      upstreams: {
        up: {
          url: gate.url('/mcp'),
          credentials: { type: 'tokenExchange', issuer: tokens.issuer, clientId, clientSecret },
          restart: { base: '20ms', cap: '50ms' },
        },
      },
    }),
  );
  /** What a user signs in to the gateway with. */
  const signIn = async (sub: string, known = true) => {
    const token = await issuer.token(AUDIENCE, { claims: { sub, jti: canary() } });
    if (known) {
      tokens.trust(token, sub);
    }
    return token;
  };
  return { stack, issuer, tokens, rich, poor, gate, gateway, signIn };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const exchanges = (tokens: TokenServer, token: string) =>
  tokens.requests.filter(({ params }) => params['subject_token'] === token).length;

describe.each(AGENTS)('two users with tokens of their own, $era clients', ({ connect }) => {
  describe.each(['modern', 'legacy'] as const)('%s server', (era) => {
    it('each is let in as who they are, sees their own tools and has their own state (C-051, C-052)', async () => {
      const world = await setUp(era);
      await using _ = world.stack;
      const { gateway, signIn, gate, tokens } = world;
      const [tokenA, tokenB] = [await signIn('alice'), await signIn('bob')];
      await using alice = await connect(gateway.url, bearer(tokenA));
      await using bob = await connect(gateway.url, bearer(tokenB));
      await alice.untilNames((names) => names.includes('up.y'));
      await bob.untilNames((names) => names.includes('up.x'));
      expect((await bob.list('tools')).map(({ name }) => name)).not.toContain('up.y');
      expect((await alice.call('up.y')).result['isError']).not.toBe(true);
      expect((await bob.request('tools/call', { name: 'up.y', arguments: {} })).error?.code).toBe(-32602);
      expect(new Set(gate.knocks.map((knock) => knock.user))).toEqual(new Set(['alice', 'bob']));
      expect([exchanges(tokens, tokenA), exchanges(tokens, tokenB)]).toEqual([1, 1]);
      const readiness = JSON.stringify(gateway.gateway.readiness());
      for (const secret of [tokenA, tokenB, tokens.clientSecret, ...tokens.tokens]) {
        expect(JSON.stringify(gateway.logged)).not.toContain(secret);
        expect(readiness).not.toContain(secret);
      }
    });

    it('C-055: ten calls of one after their token has ended lead to one token request, and all succeed', async () => {
      const world = await setUp(era);
      await using _ = world.stack;
      const { gateway, signIn, tokens } = world;
      const token = await signIn('alice');
      await using alice = await connect(gateway.url, bearer(token));
      await alice.untilNames((names) => names.includes('up.y'));
      tokens.revokeAll();
      const answers = await Promise.all(Array.from({ length: 10 }, () => alice.call('up.whoami')));
      expect(answers.filter(({ result }) => result['isError'] === true)).toEqual([]);
      expect(exchanges(tokens, token)).toBe(2);
    });

    it('what a server tells one user of a resource reaches that user alone', async () => {
      const world = await setUp(era);
      await using _ = world.stack;
      const { gateway, signIn, rich, poor } = world;
      const uri = 'file:///shared';
      for (const up of [rich, poor]) {
        await up.change({ resources: [uri], capabilities: { resources: { subscribe: true } } });
      }
      await using alice = await connect(gateway.url, bearer(await signIn('alice')));
      await using bob = await connect(gateway.url, bearer(await signIn('bob')));
      for (const agent of [alice, bob]) {
        await agent.untilNames((names) => names.length > 0, 'resources');
      }
      await using mine = await alice.listen({ uris: [uri] });
      await using theirs = await bob.listen({ uris: [uri] });
      for (const up of [rich, poor]) {
        await up.untilReceived(['resources/subscribe', 'subscriptions/listen'], ({ message }) =>
          JSON.stringify(message).includes(uri),
        );
      }
      const updated = 'notifications/resources/updated';
      await rich.notify({ updated: uri });
      await mine.next(updated);
      expect(theirs.count(updated)).toBe(0);
      await poor.notify({ updated: uri });
      await theirs.next(updated);
      expect([mine.count(updated), theirs.count(updated)]).toEqual([1, 1]);
    });

    it('C-050: nothing that a client sent goes to a server, but for its token to the authorization server', async () => {
      const world = await setUp(era);
      await using _ = world.stack;
      const { gateway, signIn, gate, tokens } = world;
      const token = await signIn('alice');
      const sent = {
        cookie: `session=${canary()}`,
        'x-forwarded-for': canary(),
        'x-user': canary(),
        'x-api-secret': canary(),
        forwarded: `for=${canary()}`,
        'mcp-param-foo': canary(),
        'proxy-authorization': canary(),
      };
      await using alice = await connect(gateway.url, {
        headers: { ...sent, authorization: `Bearer ${token}` },
      });
      await alice.untilNames((names) => names.includes('up.y'));
      await alice.call('up.whoami');
      const there = JSON.stringify(gate.knocks);
      expect(there.match(/canary-/g)).toBeNull();
      expect(there).not.toContain(token);
      expect(JSON.stringify(tokens.requests.map(({ headers }) => headers))).not.toContain('canary-');
      expect(exchanges(tokens, token)).toBe(1);
    });
  });

  it('a user whom the authorization server does not know is told what to do; others are served', async () => {
    const world = await setUp('modern');
    await using _ = world.stack;
    const { gateway, signIn, gate } = world;
    const token = await signIn('mallory', false);
    await using mallory = await connect(gateway.url, bearer(token));
    await using alice = await connect(gateway.url, bearer(await signIn('alice')));
    await alice.untilNames((names) => names.includes('up.y'));
    expect((await mallory.list('tools')).map(({ name }) => name)).toEqual([]);
    expect(gate.knocks.map((knock) => knock.user)).not.toContain(undefined);
    expect(JSON.stringify(gateway.logged)).toContain('UPSTREAM_AUTH');
    expect(JSON.stringify(gateway.logged)).not.toContain(token);
  });
});

describe('a server that is told who the user is', () => {
  it.each(['modern', 'legacy'] as const)('%s: with keys, by a header', async (era) => {
    const [a, b] = [newKey(), newKey()];
    await using up = await startHttpUpstream({ id: 'up', era, tools: ['whoami'] });
    await using gateway = await startGateway({
      auth: {
        mode: 'keys',
        keys: [
          { id: 'alice', sha256: a.sha256, groups: ['dev', 'ops'] },
          { id: 'bob', sha256: b.sha256 },
        ],
      },
      upstreams: {
        up: {
          ...up.config,
          credentials: {
            type: 'userHeader',
            name: 'X-Who',
            value: `\${principal.id} (\${principal.groups})`,
          },
        },
      },
    });
    for (const [connect, key, who] of [
      [connectLegacy, a.key, 'alice (dev,ops)'],
      [connectModern, b.key, 'bob ()'],
    ] as const) {
      await using agent = await connect(gateway.url, bearer(key));
      await agent.untilNames((names) => names.includes('up.whoami'));
      const { structured } = await agent.call('up.whoami');
      expect(structured['headers']).toMatchObject({ 'x-who': who });
      expect(JSON.stringify(structured['headers'])).not.toContain(key);
    }
  });
});

it('a server that waits for its first user is neither awaited nor in trouble', async () => {
  const world = await setUp('modern');
  await using _ = world.stack;
  const { gateway } = world.gateway;
  await gateway.settled();
  expect(gateway.readiness()).toMatchObject({
    status: 'ready',
    ready: true,
    upstreams: { up: { state: 'idle', tools: 0 } },
  });
  expect(troublesOf(gateway)).toEqual([]);
  expect(world.gate.knocks).toEqual([]);
});

it('tokens are renewed before they end: a server that is asked all the time refuses none', async () => {
  const world = await setUp('modern', 5);
  await using _ = world.stack;
  const { gateway, signIn, gate, tokens } = world;
  await using alice = await connectModern(gateway.url, bearer(await signIn('alice')));
  await alice.untilNames((names) => names.includes('up.y'));
  await expect
    .poll(
      async () => {
        await alice.call('up.whoami');
        return tokens.requests.length;
      },
      { timeout: 20_000, interval: 50 },
    )
    .toBeGreaterThan(1);
  expect(gate.knocks.filter((knock) => knock.user === undefined)).toEqual([]);
});
