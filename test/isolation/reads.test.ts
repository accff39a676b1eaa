import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, stringAt } from '../../src/base/json.ts';
import { told } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Recorded } from '../kit/recorder.ts';
import { secret } from './secrets.ts';
import { diaryServer, serverOf } from './servers.ts';
import { startWorld, type User, type World } from './world.ts';

const OWN = ['mine', 'old'] as const;
const USERS = ['alice', 'amy', 'bob'] as const;

async function read(agent: Agent, uri: string): Promise<string> {
  const { contents } = await agent.result('resources/read', { uri });
  return String((contents as JsonObject[])[0]?.['text']);
}

/** What of that server is not listed. */
function pagesOf(user: User) {
  const { readResults = {}, calls = {} } = diaryServer(user);
  return { readResults, calls };
}

const readsOf =
  (uri: string) =>
  ({ params }: Recorded) =>
    params['uri'] === uri;

/** The link that a result has in it. */
const linkIn = ({ result }: { result: JsonObject }) =>
  stringAt((result['content'] as JsonObject[]).at(-1), 'uri') ?? '';

describe.each(AGENTS)('for a $era client', ({ connect, era }) => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld(['team', 'reds', 'blues', 'mine', 'old', 'diary']);
    // What the gateway has read of it by itself was Alice's; whoever lists from now on is told nothing.
    const plain = { tools: ['write'], prompts: [], resources: ['diary://today'], templates: [] };
    await world.server('diary').change(plain);
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  const as = (user: User, path = '') => world.as(user, connect, path);
  const reached = (method: string) =>
    (['team', 'reds', 'blues', 'diary'] as const).reduce(
      (sum, id) => sum + world.server(id).count(method),
      0,
    ) +
    OWN.flatMap((id) => USERS.map((user) => world.server(id, user).count(method))).reduce((a, b) => a + b, 0);

  describe('a resource', () => {
    it.each(OWN)(
      'of %s under one URI is read by each user from their own server, and kept for them alone',
      async (id) => {
        const uri = `${id}://same`;
        for (let round = 0; round < 2; round += 1) {
          for (const user of USERS) {
            await using agent = await as(user);
            expect(await read(agent, uri)).toBe(secret(user, `${id} read`));
          }
        }
        const asked = USERS.map((user) => world.server(id, user).count('resources/read', readsOf(uri)));
        // Only the modern server says how long its answer is good for.
        expect(asked).toEqual(id === 'mine' ? [1, 1, 1] : [2, 2, 2]);
      },
    );

    it('that one user is reading right now is nobody else’s to wait for and get', async () => {
      const uri = 'mine://page/1';
      const [hers, his] = [world.server('mine', 'alice'), world.server('mine', 'bob')];
      await hers.change({ faults: [{ on: 'resources/read', do: { hold: 'read' } }] });
      await using alice = await as('alice');
      await using bob = await as('bob');
      const running = [alice, alice].map((agent) => read(agent, uri));
      await hers.untilReceived('resources/read', readsOf(uri));
      const other = read(bob, uri);
      await alice.result('ping').catch(() => undefined);
      await expect.poll(() => hers.release('read')).toBeGreaterThan(0);
      await hers.change({ faults: [] });
      expect(await other).toBe(secret('bob', 'mine page'));
      expect(await Promise.all(running)).toEqual([1, 2].map(() => secret('alice', 'mine page')));
      expect(his.count('resources/read', readsOf(uri))).toBe(1);
    });

    it('that its server calls private is kept for each, though all reach it with one identity', async () => {
      const server = world.server('diary');
      await using alice = await as('alice');
      await using bob = await as('bob');
      await server.change(pagesOf('alice'));
      const before = server.count('resources/read');
      expect(await read(alice, 'diary://today')).toBe(secret('alice', 'diary read'));
      await server.change(pagesOf('bob'));
      expect(await read(bob, 'diary://today')).toBe(secret('bob', 'diary read'));
      expect(await read(alice, 'diary://today')).toBe(secret('alice', 'diary read'));
      expect(server.count('resources/read')).toBe(before + 2);
    });
  });

  it('of a server for all is read by whom rules allow, and nobody else’s to keep', async () => {
    for (const [user, group] of [
      ['alice', 'red'],
      ['bob', 'blue'],
    ] as const) {
      await using agent = await as(user);
      const result = await agent.result('resources/read', { uri: `team://${group}` });
      expect(JSON.stringify(result['contents'])).toContain(secret(group, 'team read'));
      expect(result['cacheScope']).toBe(era === 'modern' ? 'private' : undefined);
    }
  });

  describe('a link in a result', () => {
    it.each([...OWN, 'diary'] as const)(
      'of %s is good for whoever got it, and for nobody else',
      async (id) => {
        await using alice = await as('alice');
        await using bob = await as('bob');
        if (id === 'diary') {
          await world.server(id).change(pagesOf('alice'));
        }
        const uri = linkIn(await alice.call(id === 'diary' ? 'diary.write' : `${id}.note`));
        expect(uri).toContain('slip');
        const nothing = `${id}://nothing/at/all`;
        const before = reached('resources/read');
        for (const thief of [bob, await as('amy')]) {
          const stolen = await thief.request('resources/read', { uri });
          const madeUp = await thief.request('resources/read', { uri: nothing });
          expect(told(stolen, uri)).toBe(told(madeUp, nothing));
          const complete = (about: string) =>
            thief.request('completion/complete', {
              ref: { type: 'ref/resource', uri: about },
              argument: { name: 'number', value: '' },
            });
          expect(told(await complete(uri), uri)).toBe(told(await complete(nothing), nothing));
        }
        expect(reached('resources/read')).toBe(before);
        expect(await read(alice, uri)).toBe(secret('alice', `${id} slip`));
      },
    );
  });

  describe('a tool for pages of apps, by its bare name,', () => {
    it('is called by whoever may see it', async () => {
      for (const [user, name, words] of [
        ['alice', 'red_page', secret('red', 'team call of apps')],
        ['bob', 'blue_page', secret('blue', 'team call of apps')],
      ] as const) {
        await using agent = await as(user, '/team');
        expect((await agent.call(name)).text).toBe(words);
      }
      for (const user of ['alice', 'bob'] as const) {
        await using agent = await as(user);
        expect((await agent.call(user === 'bob' ? 'blue_page' : 'red_page')).text).toContain('call of apps');
      }
    });

    it.each(['', '/team', '/near'])('is unknown to anybody else at /mcp%s', async (path) => {
      await using alice = await as('alice');
      await using bob = await as('bob', path);
      await alice.names();
      for (const name of ['red_page', 'page_of_alice', 'note_of_alice']) {
        const stolen = await bob.request('tools/call', { name, arguments: {} });
        const madeUp = await bob.request('tools/call', { name: 'made_up', arguments: {} });
        expect(told(stolen, name)).toBe(told(madeUp, 'made_up'));
      }
    });
  });

  describe('what is forbidden, and what another has, are like what does not exist:', () => {
    const request = (agent: Agent, method: string, name: string) => {
      const ref = method.endsWith('complete prompt')
        ? { type: 'ref/prompt', name }
        : { type: 'ref/resource', uri: name };
      const argument = { name: 'number', value: '' };
      switch (method) {
        case 'tools/call':
        case 'prompts/get':
          return agent.request(method, { name, arguments: {} });
        case 'complete prompt':
        case 'complete resource':
          return agent.request('completion/complete', { ref, argument });
        default:
          return agent.request(method, { uri: name });
      }
    };

    it.each<readonly [string, string, string]>([
      ['tools/call', 'team.red_tool', 'team.red_toll'],
      ['tools/call', 'team__red_tool', 'team__red_toll'],
      ['tools/call', 'reds.look', 'reds.lock'],
      ['tools/call', 'reds.look', 'none.look'],
      ['tools/call', 'mine.note_of_alice', 'mine.note_of_carol'],
      ['tools/call', 'old.note_of_alice', 'old.note_of_carol'],
      ['prompts/get', 'team.red_brief', 'team.red_grief'],
      ['prompts/get', 'reds.brief', 'reds.grief'],
      ['complete prompt', 'team.red_brief', 'team.red_grief'],
      ['complete resource', 'team://red', 'team://rad'],
      ['complete resource', 'team://red/{page}', 'team://rad/{page}'],
      ['resources/read', 'team://red', 'team://rad'],
      ['resources/read', 'team://red/1', 'team://rad/1'],
      ['resources/read', 'mine://of_alice', 'mine://of_carol'],
      ['resources/read', 'old://of_alice', 'old://of_carol'],
      ...(era === 'legacy' ? [['resources/subscribe', 'team://red', 'team://rad'] as const] : []),
    ])('%s of %s', async (method, forbidden, unknown) => {
      await using alice = await as('alice');
      await using bob = await as('bob');
      await Promise.all([alice.names(), bob.names()]);
      const real = method.startsWith('complete') ? 'completion/complete' : method;
      const before = reached(real);
      const one = await request(bob, method, forbidden);
      const other = await request(bob, method, unknown);
      expect(told(one, forbidden)).toBe(told(other, unknown));
      expect(one.error).toBeDefined();
      expect(reached(real)).toBe(before);
    });

    it('the same at the endpoint of the server itself, where it could be nobody else’s', async () => {
      await using bob = await as('bob', '/team');
      await bob.names();
      const before = ['tools/call', 'prompts/get', 'resources/read', 'completion/complete'].map(reached);
      for (const [method, forbidden, unknown] of [
        ['tools/call', 'red_tool', 'red_toll'],
        ['prompts/get', 'red_brief', 'red_grief'],
        ['complete prompt', 'red_brief', 'red_grief'],
        ['complete resource', 'team://red/{page}', 'team://rad/{page}'],
        ['complete resource', 'team://red', 'team://rad'],
        ['resources/read', 'team://red', 'team://rad'],
        ['resources/read', 'team://red/1', 'team://rad/1'],
        ['resources/read', 'team://blue/closed', 'team://black/closed'],
      ] as const) {
        const one = await request(bob, method, forbidden);
        expect([method, told(one, forbidden)]).toEqual([
          method,
          told(await request(bob, method, unknown), unknown),
        ]);
        expect(one.error).toBeDefined();
      }
      const after = ['tools/call', 'prompts/get', 'resources/read', 'completion/complete'].map(reached);
      expect(after).toEqual(before);
    });

    it('a resource that a method of an extension is asked for', async () => {
      await using bob = await as('bob', '/team');
      const ask = (uri: string) => bob.request('pages/get', { uri });
      const [forbidden, unknown] = [await ask('team://red'), await ask('team://rad')];
      expect(told(forbidden, 'team://red')).toBe(told(unknown, 'team://rad'));
      expect(world.server('team').count('pages/get', readsOf('team://red'))).toBe(0);
      expect((await ask('team://blue')).result === undefined).toBe(era === 'legacy');
    });

    it('a method of an extension that only servers of others have', async () => {
      await using alice = await as('alice');
      await using bob = await as('bob');
      const [hers, his] = [await alice.request('notes/list'), await bob.request('notes/list')];
      expect(hers.error?.code).toBe(-32601);
      expect(his.result === undefined).toBe(era === 'legacy');
    });
  });

  it.each(OWN)('errors and completions of %s are those of the user’s own server', async (id) => {
    for (const user of USERS) {
      await using agent = await as(user);
      expect((await agent.call(`${id}.fail`)).text).toBe(secret(user, `${id} failure`));
      expect((await agent.request('tools/call', { name: `${id}.break`, arguments: {} })).error).toMatchObject(
        {
          message: expect.stringContaining(secret(user, `${id} error`)),
          data: { why: secret(user, `${id} error data`) },
        },
      );
      const complete = (ref: JsonObject) =>
        agent.result('completion/complete', { ref, argument: { name: 'topic', value: '' } });
      for (const ref of [
        { type: 'ref/prompt', name: `${id}.brief` },
        { type: 'ref/resource', uri: `${id}://page/{number}` },
      ]) {
        expect(await complete(ref)).toMatchObject({
          completion: { values: [secret(user, `${id} completion`)] },
        });
      }
      const { messages } = await agent.result('prompts/get', { name: `${id}.brief` });
      expect(JSON.stringify(messages)).toContain(secret(user, `${id} prompt text`));
    }
  });

  it('a server that fails one user is as good as ever for the others, who hear nothing of it', async () => {
    for (const id of OWN) {
      const words = { code: -32000, message: secret('alice', `${id} list error`) };
      const server = world.server(id, 'alice');
      await server.change({ faults: [{ on: 'tools/list', do: { error: words } }] });
      await server.notify('tools');
      await using alice = await as('alice', `/${id}`);
      await alice.request('tools/list');
      await using bob = await as('bob', `/${id}`);
      expect(await bob.names()).toContain('note_of_bob');
      await server.change(serverOf(id, 'alice', id === 'mine' ? 'modern' : 'legacy', { faults: [] }));
    }
  });

  it('nobody has ever received anything of somebody else', () => {
    const { alice, amy, bob } = world.sweep();
    const places = OWN.flatMap((id) =>
      ['read', 'failure', 'error', 'error data', 'completion', 'prompt text'].map(
        (place) => `${id} ${place}`,
      ),
    );
    expect(alice).toEqual(
      expect.arrayContaining([...places, 'diary read', 'diary slip', 'mine slip', 'old slip']),
    );
    expect(amy).toEqual(expect.arrayContaining(places));
    expect(bob).toEqual(expect.arrayContaining([...places, 'diary read']));
  });
});
