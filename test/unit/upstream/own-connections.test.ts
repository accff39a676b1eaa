import { describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/access/principal.ts';
import { type Doorkeeper, startGate } from '../../kit/gate.ts';
import { type ScriptedHttp, startHttpUpstream } from '../../kit/http-upstream.ts';
import { startTokenServer, type TokenServer } from '../../kit/token-server.ts';
import type { Script } from '../../kit/upstream.ts';
import { OPTIONS, partyOf, startFleet, user } from './fleet-kit.ts';

/** Both eras, and the old transport. */
const FORMS: readonly { readonly form: string; readonly script: Script }[] = [
  { form: 'a modern server', script: { era: 'modern' } },
  { form: 'a legacy server', script: { era: 'legacy' } },
  { form: 'a server of the 2024-11-05 transport', script: { era: 'legacy', http: { sse: 'only' } } },
];

const TOOLS = ['whoami', 'count', 'slow'];

/** Lets in whoever has a token of this server, as its subject. */
const tokensOf =
  (server: TokenServer): Doorkeeper =>
  ({ authorization = '' }) =>
    server.whois(authorization.replace('Bearer ', ''))?.subject ?? 401;

/** An upstream of this form that lets in users with an exchanged token, and a fleet before it. */
async function setUp(script: Script, more: Record<string, unknown> = {}) {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await startTokenServer());
  const up = stack.use(
    await startHttpUpstream({ id: 'up', tools: TOOLS, resources: ['file:///a'], ...script }),
  );
  const gate = stack.use(await startGate(up.url, tokensOf(server)));
  const { issuer, clientId, clientSecret } = server;
  const started = startFleet({
    url: gate.url(script.http?.sse === 'only' ? '/sse' : '/mcp'),
    credentials: { type: 'tokenExchange', issuer, clientId, clientSecret },
    restart: { base: '20ms', cap: '50ms' },
    ...more,
  });
  const person = (id: string, about: Partial<Principal> = {}) =>
    user(id, { token: server.subjectToken(id), ...about });
  return { stack, server, up, gate, person, ...started };
}

const structured = (result: Record<string, unknown>) =>
  result['structuredContent'] as Record<string, Record<string, unknown>>;

describe.each(FORMS)('token exchange, towards $form', ({ script }) => {
  it('each user is let in with a token of their own, and none came with the user', async () => {
    const world = await setUp(script);
    await using _ = world.stack;
    const { person, gate, call, list, server } = world;
    const people = [person('alice'), person('bob')];
    for (const someone of people) {
      expect(await list(partyOf(someone))).toEqual(TOOLS);
      await call(partyOf(someone), 'count');
    }
    const users = new Set(gate.knocks.map((knock) => knock.user));
    expect(users).toEqual(new Set(['alice', 'bob']));
    const all = JSON.stringify(gate.knocks);
    for (const someone of people) {
      expect(all).not.toContain(someone.presented?.());
    }
    expect(server.requests).toHaveLength(2);
  });

  it('the shared connection is not started, and what the newest connection told is known', async () => {
    const world = await setUp({ ...script, instructions: 'Be kind.' });
    await using _ = world.stack;
    const { fleet, gate, told, person, call } = world;
    expect(told).toEqual([['failedFirst', 'up']]);
    expect(fleet.statuses().get('up')).toMatchObject({ state: 'idle', own: true });
    expect([fleet.isPending('up'), fleet.reach('up'), fleet.terms('up')]).toEqual([
      false,
      { own: true },
      undefined,
    ]);
    expect(gate.knocks).toEqual([]);
    await expect(fleet.request('up', 'tools/list', {}, OPTIONS)).rejects.toMatchObject({
      code: 'UPSTREAM_DOWN',
    });
    await call(partyOf(person('alice')), 'whoami');
    expect(fleet.statuses().get('up')).toMatchObject({ state: 'connected' });
    expect(fleet.capabilities('up')).toHaveProperty('tools');
    // They may be meant for alice alone, and nobody could tell.
    expect(fleet.toldTo('up', person('alice'))).toMatchObject({ instructions: 'Be kind.' });
    expect(fleet.toldTo('up', person('bob'))).toBeUndefined();
  });

  it('C-055: ten calls that find the token refused lead to one request for another, and all succeed', async () => {
    const world = await setUp(script);
    await using _ = world.stack;
    const { person, call, server } = world;
    const alice = partyOf(person('alice'));
    await call(alice, 'whoami');
    server.revokeAll();
    const results = await Promise.all(Array.from({ length: 10 }, () => call(alice, 'whoami')));
    expect(results).toHaveLength(10);
    expect(server.requests).toHaveLength(2);
  });

  it('a user whom the server refuses is told so after one renewal, and others are not', async () => {
    const world = await setUp(script);
    await using _ = world.stack;
    const { person, call, server, gate, fleet, lines } = world;
    const [alice, mallory] = [partyOf(person('alice')), partyOf(person('mallory'))];
    gate.guardedBy((headers) => {
      const found = tokensOf(server)(headers);
      return found === 'mallory' ? 401 : found;
    });
    await call(alice, 'whoami');
    await expect(call(mallory, 'whoami')).rejects.toMatchObject({
      code: 'UPSTREAM_AUTH',
      upstream: 'up',
      message: expect.stringContaining('sign in again'),
    });
    await expect(call(mallory, 'whoami')).rejects.toMatchObject({ code: 'UPSTREAM_AUTH' });
    const formallory = server.requests.filter(({ params }) =>
      params['subject_token']?.includes(mallory.principal.presented?.() ?? '-'),
    );
    expect(formallory).toHaveLength(2);
    await call(alice, 'whoami');
    expect(fleet.statuses().get('up')).toMatchObject({ state: 'connected', lastError: undefined });
    for (const token of [...server.tokens, alice.principal.presented?.() ?? '-']) {
      expect(lines().join('')).not.toContain(token);
    }
  });

  it('a user who is refused later loses what was opened before, and others keep theirs', async () => {
    const world = await setUp(script);
    await using _ = world.stack;
    const { person, call, server, gate, told } = world;
    const [alice, mallory] = [person('alice'), person('mallory')];
    await call(partyOf(alice), 'whoami');
    await call(partyOf(mallory), 'whoami');
    gate.guardedBy((headers) => {
      const found = tokensOf(server)(headers);
      return found === 'mallory' ? 401 : found;
    });
    await expect(call(partyOf(mallory), 'whoami')).rejects.toMatchObject({ code: 'UPSTREAM_AUTH' });
    expect(told.filter(([event]) => event === 'lost')).toEqual([['lost', 'up', mallory.grant]]);
    await call(partyOf(alice), 'whoami');
  });

  it.each(['call', 'list'] as const)(
    'a user who comes with a newer token is served with that one, on the same connection: %s',
    async (what) => {
      const world = await setUp(script);
      await using _ = world.stack;
      const { person, call, list, server, told } = world;
      const [before, after] = [person('alice'), person('alice')];
      await call(partyOf(before), 'whoami');
      server.distrust(before.presented?.() ?? '');
      server.revokeAll();
      await (what === 'call' ? call(partyOf(after), 'whoami') : list(partyOf(after)));
      expect(server.requests.at(-1)?.params['subject_token']).toBe(after.presented?.());
      expect(told.filter(([event]) => event === 'lost')).toEqual([]);
    },
  );

  it("nothing of a user's rights is got with another token of the same user", async () => {
    const world = await setUp(script);
    await using _ = world.stack;
    const { person, call, server } = world;
    await call(partyOf(person('alice', { scopes: ['all'] })), 'whoami');
    await call(partyOf(person('alice', { scopes: ['some'] })), 'whoami');
    expect(server.requests).toHaveLength(2);
  });

  it('a connection ends with the sign-in of its user, and the next one opens another', async () => {
    const world = await setUp(script);
    await using _ = world.stack;
    const { person, call, told, fleet } = world;
    const alice = person('alice', { expires: Date.now() + 1_500 });
    await call(partyOf(alice), 'whoami');
    await expect.poll(() => told, { timeout: 10_000 }).toContainEqual(['lost', 'up', alice.grant]);
    await expect.poll(() => fleet.statuses().get('up')?.state).toBe('idle');
    await call(partyOf(person('alice')), 'whoami');
    expect(fleet.statuses().get('up')?.state).toBe('connected');
  });

  it('an authorization server that is down is told as that, and its users are served again after it', async () => {
    const world = await setUp(script);
    await using _ = world.stack;
    const { person, call, server } = world;
    const alice = partyOf(person('alice'));
    server.change({ answer: { status: 503 } });
    await expect(call(alice, 'whoami')).rejects.toMatchObject({ code: 'UPSTREAM_TOKEN', upstream: 'up' });
    server.change({});
    await expect
      .poll(() => call(alice, 'whoami').catch(() => undefined), { timeout: 10_000 })
      .toHaveProperty('structuredContent');
  });

  it('a server that is down is not tried by each call, and shown as down', async () => {
    const world = await setUp(script, { restart: { base: '1m', cap: '1m' } });
    await using _ = world.stack;
    const { person, call, gate, fleet } = world;
    await gate.kill();
    const alice = partyOf(person('alice'));
    await expect(call(alice, 'whoami')).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
    await expect(call(alice, 'whoami')).rejects.toMatchObject({
      code: 'UPSTREAM_DOWN',
      data: { retryAfterMs: expect.any(Number) },
    });
    expect(fleet.statuses().get('up')).toMatchObject({
      state: 'backoff',
      lastError: expect.stringContaining('UPSTREAM_DOWN'),
    });
  });

  it('a change that the server tells one user of concerns that user', async () => {
    const world = await setUp(script);
    await using _ = world.stack;
    const { person, call, told, up } = world;
    const alice = person('alice');
    await call(partyOf(alice), 'whoami');
    await up.untilListening();
    await up.notify('tools');
    await expect.poll(() => told).toContainEqual(['changed', 'up', 'tools', alice.grant]);
    expect(told.filter(([event]) => event === 'connected')).toEqual([]);
  });

  it('what one user watches is watched on a connection of that user, for as long as it is wanted', async () => {
    const world = await setUp(script, { timeouts: { idle: '100ms' } });
    await using _ = world.stack;
    const { person, told, up, fleet, call } = world;
    const alice = person('alice');
    fleet.watch('up', new Set(['file:///a']), partyOf(alice));
    await untilWatching(up);
    await expect
      .poll(async () => {
        await up.notify({ updated: 'file:///a' });
        return told;
      })
      .toContainEqual(['updated', 'up', 'file:///a', alice.grant]);
    await call(partyOf(alice), 'whoami');
    fleet.watch('up', new Set(), partyOf(alice));
    await expect.poll(() => fleet.statuses().get('up')?.state, { timeout: 5_000 }).toBe('idle');
    expect(told).toContainEqual(['lost', 'up', alice.grant]);
  });
});

async function untilWatching(up: ScriptedHttp): Promise<void> {
  await up.untilReceived(
    ['resources/subscribe', 'subscriptions/listen'],
    ({ method, params }) =>
      method === 'resources/subscribe' || JSON.stringify(params).includes('resourceSubscriptions'),
  );
}

describe('connections of users', () => {
  it('modern: one for all clients of a user', async () => {
    const world = await setUp({ era: 'modern' });
    await using _ = world.stack;
    const { person, call, up } = world;
    const alice = person('alice');
    await call(partyOf(alice), 'whoami');
    await call(partyOf(alice, { capabilities: { sampling: {} } }), 'whoami');
    await call(partyOf(alice, { info: { name: 'other', version: '2' } }), 'whoami');
    expect(up.count('server/discover')).toBe(1);
  });

  it('legacy: one for each kind of client of a user, whose era is asked once for all', async () => {
    const world = await setUp({ era: 'legacy' });
    await using _ = world.stack;
    const { person, call, up } = world;
    await call(partyOf(person('alice')), 'whoami');
    await call(partyOf(person('alice'), { capabilities: { sampling: {} } }), 'whoami');
    await call(partyOf(person('bob')), 'whoami');
    expect([up.count('server/discover'), up.count('initialize')]).toEqual([1, 3]);
  });

  it('C-051: state of one is not seen by another, and a cancelled call is the own one', async () => {
    const world = await setUp({ era: 'legacy' });
    await using _ = world.stack;
    const { person, call, fleet, up } = world;
    const [alice, bob] = [partyOf(person('alice')), partyOf(person('bob'))];
    for (const party of [alice, alice, bob]) {
      await call(party, 'count');
    }
    expect(structured(await call(bob, 'count'))).toMatchObject({ count: 2 });
    const control = new AbortController();
    const params = { name: 'slow', arguments: {} };
    const given = fleet.call('up', 'tools/call', params, { ...OPTIONS, signal: control.signal }, alice);
    const kept = call(bob, 'slow');
    await up.untilReceived('tools/call', ({ params: asked }) => asked['name'] === 'slow', { times: 2 });
    control.abort();
    await expect(given).rejects.toMatchObject({ code: 'CANCELLED' });
    await up.release('slow');
    expect(structured(await kept)).toMatchObject({ done: true });
  });

  it('are bounded: the one that was idle longest makes room', async () => {
    const world = await setUp({ era: 'legacy' }, { limits: { connections: 2 } });
    await using _ = world.stack;
    const { person, call, told, up } = world;
    const people = ['alice', 'bob', 'carol'].map((id) => person(id));
    for (const someone of [people[0], people[1], people[0], people[2]]) {
      await call(partyOf(someone ?? expect.unreachable()), 'whoami');
    }
    expect(told.filter(([event]) => event === 'lost')).toEqual([['lost', 'up', people[1]?.grant]]);
    const [, bob] = people;
    const busy = [
      call(partyOf(people[0] ?? expect.unreachable()), 'slow'),
      call(partyOf(people[2] ?? expect.unreachable()), 'slow'),
    ];
    await up.untilReceived('tools/call', ({ params }) => params['name'] === 'slow', { times: 2 });
    await expect(call(partyOf(bob ?? expect.unreachable()), 'whoami')).rejects.toMatchObject({
      code: 'UPSTREAM_CONNECTIONS',
    });
    await up.release('slow');
    await Promise.all(busy);
  });

  it('a legacy server that has become a modern one is asked anew at once', async () => {
    const world = await setUp({ era: 'legacy' });
    await using _ = world.stack;
    const { person, call, up, fleet } = world;
    const alice = partyOf(person('alice'));
    await call(alice, 'whoami');
    await up.restart({ era: 'modern' });
    await expect(call(alice, 'whoami')).rejects.toThrow();
    await call(alice, 'whoami');
    expect(fleet.terms('up')?.era).toBe('modern');
  });

  it('a server that changes its era is asked anew', async () => {
    const world = await setUp({ era: 'modern' });
    await using _ = world.stack;
    const { person, call, up, fleet } = world;
    const alice = partyOf(person('alice'));
    await call(alice, 'whoami');
    await up.restart({ era: 'legacy' });
    await expect
      .poll(() => call(alice, 'whoami').catch(() => undefined), { timeout: 10_000 })
      .toHaveProperty('structuredContent');
    expect(fleet.terms('up')?.era).toBe('legacy');
  });
});

describe('a header that names the user', () => {
  it.each(FORMS)('goes with every request, towards $form', async ({ script }) => {
    await using up = await startHttpUpstream({ id: 'up', tools: TOOLS, ...script });
    await using gate = await startGate(up.url, (headers) => String(headers['x-user'] ?? 'nobody'));
    const { call } = startFleet({
      url: gate.url(script.http?.sse === 'only' ? '/sse' : '/mcp'),
      credentials: { type: 'userHeader', name: 'X-User' },
    });
    for (const id of ['alice', 'bob']) {
      await call(partyOf(user(id, { token: 'canary-of-the-user' })), 'whoami');
    }
    expect(new Set(gate.knocks.map((knock) => knock.user))).toEqual(new Set(['alice', 'bob']));
    expect(JSON.stringify(gate.knocks)).not.toContain('canary');
    await expect(call(partyOf(user('a\nb')), 'whoami')).rejects.toMatchObject({ code: 'UPSTREAM_AUTH' });
    expect(gate.knocks.filter((knock) => knock.user?.startsWith('a\n'))).toEqual([]);
  });
});

describe('a credential of the gateway', () => {
  const setUpShared = async (script: Script, answer?: { status: number }) => {
    const stack = new AsyncDisposableStack();
    const server = stack.use(await startTokenServer(answer === undefined ? {} : { answer }));
    const up = stack.use(await startHttpUpstream({ id: 'up', tools: TOOLS, ...script }));
    const gate = stack.use(await startGate(up.url, tokensOf(server)));
    const { issuer, clientId, clientSecret } = server;
    const started = startFleet({
      url: gate.url(script.http?.sse === 'only' ? '/sse' : '/mcp'),
      credentials: { type: 'clientCredentials', issuer, clientId, clientSecret },
      restart: { base: '20ms', cap: '50ms' },
    });
    return { stack, server, up, gate, ...started };
  };

  it.each(FORMS)(
    'serves everybody, towards $form, and is renewed once when it is refused',
    async ({ script }) => {
      const world = await setUpShared(script);
      await using _ = world.stack;
      const { server, fleet, call, told, gate } = world;
      await expect.poll(() => told).toContainEqual(['connected', 'up']);
      const alice = partyOf(user('alice', { token: 'canary-of-the-user' }));
      await call(alice, 'whoami');
      expect(fleet.reach('up')).toEqual({ own: false });
      server.revokeAll();
      const results = await Promise.all(Array.from({ length: 10 }, () => call(alice, 'whoami')));
      expect(results).toHaveLength(10);
      expect(server.requests).toHaveLength(2);
      expect(JSON.stringify(gate.knocks)).not.toContain('canary');
    },
  );

  it('that the server refuses is the state of that server', async () => {
    const world = await setUpShared({ era: 'modern' });
    await using _ = world.stack;
    const { gate, fleet, call, told } = world;
    await expect.poll(() => told).toContainEqual(['connected', 'up']);
    gate.guardedBy(() => 403);
    await expect(call(partyOf(user('alice')), 'whoami')).rejects.toMatchObject({
      code: 'UPSTREAM_AUTH',
      message: expect.stringContaining('this gateway'),
    });
    expect(fleet.statuses().get('up')?.lastError).toContain('UPSTREAM_AUTH');
  });

  it('that cannot be got is the state of that server, until it can', async () => {
    const world = await setUpShared({ era: 'modern' }, { status: 503 });
    await using _ = world.stack;
    const { fleet, server, told } = world;
    await expect.poll(() => fleet.statuses().get('up')?.lastError).toContain('UPSTREAM_TOKEN');
    server.change({});
    await expect.poll(() => told, { timeout: 10_000 }).toContainEqual(['connected', 'up']);
    expect(fleet.statuses().get('up')).toMatchObject({ state: 'connected', lastError: undefined });
  });
});

describe('one credential for everybody, and `isolation`', () => {
  it('a server pinned to the modern era serves all on the shared connection, each with their own capabilities', async () => {
    await using up = await startHttpUpstream({ id: 'up', era: 'modern', tools: TOOLS });
    const { call, told, fleet } = startFleet({ ...up.config, protocol: '2026-07-28', isolation: 'user' });
    await expect.poll(() => told).toContainEqual(['connected', 'up']);
    const plain = partyOf(user('alice'));
    const able = partyOf(user('bob'), { capabilities: { sampling: {} } });
    await call(plain, 'whoami');
    const options = { ...OPTIONS, envelope: { ...OPTIONS.envelope, clientCapabilities: able.capabilities } };
    const params = { name: 'whoami', arguments: {} };
    const told2 = await fleet.call('up', 'tools/call', params, options, able);
    expect(structured(told2)['capabilities']).toEqual({ sampling: {} });
    expect(up.count('server/discover')).toBe(1);
    expect(fleet.reach('up')).toEqual({ own: false });
  });

  it('a legacy server is reached by each user on their own, for lists too', async () => {
    await using up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: TOOLS });
    const { call, list, told, fleet } = startFleet({ ...up.config, isolation: 'user' });
    await expect.poll(() => told).toContainEqual(['connected', 'up']);
    expect(fleet.reach('up')).toEqual({ own: true });
    const alice = partyOf(user('alice'), { era: 'legacy' });
    const mine = structured(await call(alice, 'whoami'))['connection'];
    const before = up.mark();
    expect(await list(partyOf(user('alice'), { info: { name: 'lister', version: '1' } }))).toEqual(TOOLS);
    const asked = up.received.slice(before).find(({ method }) => method === 'tools/list');
    expect(asked?.connection).toBe(mine);
  });
});
