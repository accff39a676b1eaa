import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { told } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Recorded } from '../kit/recorder.ts';
import { secret } from './secrets.ts';
import { startWorld, type User, type World } from './world.ts';

const USERS = ['alice', 'amy', 'bob'] as const;

const readsOf =
  (uri: string) =>
  ({ params }: Recorded) =>
    params['uri'] === uri;

describe.each(AGENTS)('for a $era client', ({ connect, era }) => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld(['team', 'reds', 'blues', 'mine', 'old']);
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  const as = (user: User, path = '') => world.as(user, connect, path);
  /** How often a method came to any server. */
  const reached = (method: string) => {
    const shared = (['team', 'reds', 'blues'] as const).map((id) => world.server(id));
    const own = (['mine', 'old'] as const).flatMap((id) => USERS.map((user) => world.server(id, user)));
    return [...shared, ...own].reduce((sum, server) => sum + server.count(method), 0);
  };

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

    it('a method of an extension that only others may use', async () => {
      await using alice = await as('alice');
      await using bob = await as('bob');
      const [forbidden, unknown] = [await bob.request('pages/red'), await bob.request('posters/red')];
      expect(told(forbidden)).toBe(told(unknown));
      expect(world.server('team').count('pages/red')).toBe(0);
      const { result } = await alice.request('pages/red');
      expect(result?.['pages']).toEqual(era === 'modern' ? [secret('red', 'team pages')] : undefined);
    });

    it('a method of an extension that only servers of others have', async () => {
      await using alice = await as('alice');
      await using bob = await as('bob');
      const [hers, his] = [await alice.request('notes/list'), await bob.request('notes/list')];
      expect(hers.error?.code).toBe(-32601);
      expect(his.result === undefined).toBe(era === 'legacy');
    });
  });

  it('nobody has ever received anything of somebody else', () => {
    const { alice, bob } = world.sweep();
    expect(alice).toEqual(expect.arrayContaining(['team call of apps', 'mine tool', 'old tool']));
    expect(bob).toEqual(expect.arrayContaining(['team call of apps', 'mine tool', 'old tool']));
  });
});
