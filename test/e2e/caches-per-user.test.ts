import { describe, expect, it } from 'vitest';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startGate } from '../kit/gate.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type GatewayConfig, startGateway } from '../kit/start-gateway.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';
import { authFor, connectAs } from './access-world.ts';

const PUBLIC = { ttlMs: 600_000, cacheScope: 'public' };
const PRIVATE = { ttlMs: 600_000, cacheScope: 'private' };
const CROWD = Array.from({ length: 40 }, (_, n) => `user-${n}`);
const TOOLS = 'notifications/tools/list_changed';
const uri = 'note://x';

const crowdOf = (ids: readonly string[]) => authFor(Object.fromEntries(ids.map((id) => [id, {}])));
const requests = (up: ScriptedUpstream, method: string) =>
  up.received.filter((entry) => entry.method === method).length;

/** A gateway whose users are these, when it has read what it reads by itself. */
async function startFor(ids: readonly string[], upstreams: GatewayConfig['upstreams']) {
  // Whoever waits for a crowd waits as long as it takes.
  const gateway = await startGateway({
    auth: crowdOf(ids),
    lists: { firstWait: '1m' },
    upstreams,
  });
  await gateway.gateway.settled();
  return gateway;
}

type Act = (agent: Agent) => Promise<unknown>;

/** A client for each of the crowd; what it returns makes every one of them do something twice at once. */
async function connectCrowd(url: string, crowd: readonly string[] = CROWD) {
  const agents = await Promise.all(crowd.map((id) => connectAs(connectModern, id, url)));
  return {
    everybody: (act: Act): Promise<unknown[]> => Promise.all([...agents, ...agents].map(act)),
    async [Symbol.asyncDispose]() {
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
    },
  };
}

const many: Script = { id: 'up', era: 'modern', tools: ['a', 'count'], resources: [uri], prompts: ['p'] };

describe('C-052: 40 users, each twice at once', () => {
  it.each([
    { what: 'public', script: { hints: PUBLIC }, walks: 1 },
    { what: 'without hints, of a legacy server', script: { era: 'legacy' as const }, walks: 1 },
    { what: 'private', script: { hints: PRIVATE }, walks: 1 + CROWD.length },
  ])('a list that is $what costs $walks walks', async ({ script, walks }) => {
    await using up = await startHttpUpstream({ ...many, ...script });
    await using gateway = await startFor(CROWD, { up: up.config });
    await using crowd = await connectCrowd(gateway.url);
    const listed = await crowd.everybody((agent) => agent.names());
    expect(new Set(listed.map(String))).toEqual(new Set(['up.a,up.count']));
    await crowd.everybody((agent) => agent.names());
    expect(requests(up, 'tools/list')).toBe(walks);
    expect(requests(up, 'prompts/list')).toBe(walks);
  });

  it.each([
    { what: 'public', hints: PUBLIC, reads: 1 },
    { what: 'private', hints: PRIVATE, reads: CROWD.length },
  ])('a resource that is $what costs $reads reads', async ({ hints, reads }) => {
    await using up = await startHttpUpstream({ ...many, hintsFor: { 'resources/read': hints } });
    await using gateway = await startFor(CROWD, { up: up.config });
    await using crowd = await connectCrowd(gateway.url);
    await crowd.everybody((agent) => agent.result('resources/read', { uri }));
    await crowd.everybody((agent) => agent.result('resources/read', { uri }));
    expect(requests(up, 'resources/read')).toBe(reads);
  });

  it('a resource that is never fresh costs a read each time', async () => {
    await using up = await startHttpUpstream({
      ...many,
      hintsFor: { 'resources/read': { ttlMs: 0, cacheScope: 'public' } },
    });
    const few = CROWD.slice(0, 20);
    await using gateway = await startFor(few, { up: up.config });
    await using crowd = await connectCrowd(gateway.url, few);
    await crowd.everybody((agent) => agent.result('resources/read', { uri }));
    await crowd.everybody((agent) => agent.result('resources/read', { uri }));
    expect(requests(up, 'resources/read')).toBe(4 * few.length);
  });

  it('a call costs a call', async () => {
    await using up = await startHttpUpstream({ ...many, hints: PUBLIC });
    await using gateway = await startFor(CROWD, { up: up.config });
    await using crowd = await connectCrowd(gateway.url);
    await crowd.everybody((agent) => agent.call('up.count'));
    expect(requests(up, 'tools/call')).toBe(2 * CROWD.length);
  });
});

describe('a notice of a server', () => {
  it('makes what is kept old at once: a list of each user, and a resource', async () => {
    await using up = await startHttpUpstream({ ...many, hints: PRIVATE });
    await using gateway = await startFor(['ann', 'bob'], { up: up.config });
    await up.untilListening();
    await using ann = await connectAs(connectModern, 'ann', gateway.url);
    await using bob = await connectAs(connectModern, 'bob', gateway.url);
    await using notices = await ann.listen({ tools: true, resources: true, uris: [uri] });
    for (const agent of [ann, bob, ann, bob]) {
      expect(await agent.names()).toEqual(['up.a', 'up.count']);
      await agent.result('resources/read', { uri });
    }
    expect(requests(up, 'tools/list')).toBe(3);
    expect(requests(up, 'resources/read')).toBe(2);
    await up.addTool('late');
    await up.notify('tools');
    await notices.next(TOOLS);
    expect(await ann.names()).toEqual(['up.a', 'up.count', 'up.late']);
    expect(await bob.names()).toEqual(['up.a', 'up.count', 'up.late']);
    await up.change({ readResults: { [uri]: { contents: [{ uri, text: 'edited' }] } } });
    await up.untilReceived('subscriptions/listen', ({ message }) => JSON.stringify(message).includes(uri));
    await up.notify({ updated: uri });
    await notices.next('notifications/resources/updated');
    for (const agent of [ann, bob]) {
      expect(JSON.stringify(await agent.result('resources/read', { uri }))).toContain('edited');
    }
  });

  it('a server that was away: nothing from before is served as fresh', async () => {
    await using up = await startHttpUpstream({ ...many, hints: PRIVATE });
    await using gateway = await startFor(['ann'], {
      up: { ...up.config, restart: { base: '20ms', cap: '50ms' } },
    });
    await using ann = await connectAs(connectModern, 'ann', gateway.url);
    await ann.names();
    await ann.result('resources/read', { uri });
    await up.restart({
      tools: ['other'],
      readResults: { [uri]: { contents: [{ uri, text: 'new' }] } },
    });
    await expect.poll(() => ann.names(), { timeout: 20_000 }).toEqual(['up.other']);
    expect(JSON.stringify(await ann.result('resources/read', { uri }))).toContain('new');
  });
});

/** Behind one address a server for each user, told apart by a header; eve is refused. */
async function startOwn(era: 'modern' | 'legacy', config: object = {}) {
  const stack = new AsyncDisposableStack();
  const script: Script = { ...many, era, hints: PUBLIC };
  const rich = stack.use(await startHttpUpstream({ ...script, tools: ['a', 'b'] }));
  const poor = stack.use(await startHttpUpstream({ ...script, tools: ['a'] }));
  const other = stack.use(await startHttpUpstream({ id: 'other', tools: ['t'], hints: PUBLIC }));
  const gate = stack.use(
    await startGate(
      (name) => (name === 'ann' ? rich.url : poor.url),
      ({ 'x-user': name }) => (name === 'eve' ? 403 : String(name)),
    ),
  );
  const own = {
    url: gate.url('/mcp'),
    credentials: { type: 'userHeader', name: 'x-user' },
    restart: { base: '20ms', cap: '50ms' },
    ...config,
  };
  const gateway = stack.use(await startFor(['ann', 'bob', 'eve'], { own, other: other.config }));
  return { stack, rich, poor, other, gate, gateway };
}

describe.each(['modern', 'legacy'] as const)('a %s server that is reached as the user', (era) => {
  describe.each(AGENTS)('a $era client', ({ connect }) => {
    it('sees its own list, read once for it, and hears of its own changes only', async () => {
      const { stack, rich, poor, gateway } = await startOwn(era);
      await using _all = stack;
      await using ann = await connectAs(connect, 'ann', gateway.url);
      await using bob = await connectAs(connect, 'bob', gateway.url);
      expect([await ann.names(), await bob.names()]).toEqual([
        ['own.a', 'own.b', 'other.t'],
        ['own.a', 'other.t'],
      ]);
      await using mine = await ann.listen({ tools: true, prompts: true });
      await using theirs = await bob.listen({ tools: true, prompts: true });
      expect(await ann.names()).toHaveLength(3);
      expect([requests(rich, 'tools/list'), requests(poor, 'tools/list')]).toEqual([1, 1]);
      await rich.untilListening();
      await rich.addTool('late');
      await rich.notify('tools');
      await mine.next(TOOLS);
      expect(await ann.names()).toEqual(['own.a', 'own.b', 'own.late', 'other.t']);
      // A fence: what was told to the other one before has arrived by then.
      await poor.untilListening();
      await poor.setList('prompts', ['fence']);
      await poor.notify('prompts');
      await theirs.next('notifications/prompts/list_changed');
      expect([mine.count(TOOLS), theirs.count(TOOLS)]).toEqual([1, 0]);
      expect(await bob.names()).toEqual(['own.a', 'other.t']);
      expect(requests(poor, 'tools/list')).toBe(1);
    });

    it('C-091: sees what its own connection declares, whoever connected last', async () => {
      const { stack, poor, gateway } = await startOwn(era);
      await using _all = stack;
      await poor.change({ capabilities: { prompts: null } });
      await using bob = await connectAs(connect, 'bob', gateway.url);
      expect(await bob.names()).toEqual(['own.a', 'other.t']);
      await using ann = await connectAs(connect, 'ann', gateway.url);
      expect(await ann.names('prompts')).toEqual(['own.p']);
      expect(await bob.names('prompts')).toEqual([]);
      expect(requests(poor, 'prompts/list')).toBe(0);
    });

    it('that is refused sees nothing of it, and is told why where it is served alone', async () => {
      const { stack, gateway } = await startOwn(era);
      await using _all = stack;
      await using eve = await connectAs(connect, 'eve', gateway.url);
      expect(await eve.names()).toEqual(['other.t']);
      await using alone = await connectAs(connect, 'eve', `${gateway.url}/own`);
      const { error, result } = await alone.request('tools/list');
      expect(result).toBeUndefined();
      expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('refuses access') });
      const called = await eve.request('tools/call', { name: 'own.a', arguments: {} });
      expect(called.result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^\[own\]/) }],
      });
      await using ann = await connectAs(connect, 'ann', `${gateway.url}/own`);
      expect(await ann.names()).toEqual(['a', 'b']);
    });
  });
});

describe('cache hints for users', () => {
  it('are private where a list is of one user, and nobody is told to keep one with something missing', async () => {
    const { stack, gateway, gate } = await startOwn('modern');
    await using _all = stack;
    await using ann = await connectAs(connectModern, 'ann', gateway.url);
    await using eve = await connectAs(connectModern, 'eve', gateway.url);
    expect(await ann.result('tools/list')).toMatchObject({
      ttlMs: expect.any(Number),
      cacheScope: 'private',
    });
    expect((await ann.result('tools/list'))['ttlMs']).toBeGreaterThan(0);
    expect(await eve.result('tools/list')).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    await using other = await connectAs(connectModern, 'eve', `${gateway.url}/other`);
    expect(await other.result('tools/list')).toMatchObject({ cacheScope: 'public' });
    expect(gate.knocks.some(({ user }) => user === 'ann')).toBe(true);
  });

  it('are public where public is trusted, and one user reads for all', async () => {
    const { stack, gateway, poor } = await startOwn('modern', { cache: { trustPublic: true } });
    await using _all = stack;
    await using bob = await connectAs(connectModern, 'bob', gateway.url);
    expect(await bob.result('tools/list')).toMatchObject({ cacheScope: 'public' });
    await using ann = await connectAs(connectModern, 'ann', gateway.url);
    // It said that its answer holds for everybody.
    expect(await ann.names()).toEqual(['own.a', 'other.t']);
    expect(requests(poor, 'tools/list')).toBe(1);
  });
});
