import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { KIND_FACTS, KINDS, type Kind } from '../../src/protocol/model.ts';
import { headersOf } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { expectOnce } from './replicas.ts';
import { foreignIn, type Person, secret, secretsIn } from './secrets.ts';
import { diaryServer } from './servers.ts';
import { startWorld, type User, type World } from './world.ts';

const OTHERS: Readonly<Record<User, User>> = { alice: 'bob', amy: 'bob', bob: 'alice' };
const COLOUR: Readonly<Record<User, 'red' | 'blue'>> = { alice: 'red', amy: 'red', bob: 'blue' };
const USERS = Object.keys(OTHERS) as User[];

/** Where what is listed was said, by the server and the kind. */
const listedBy = (id: string) => ['tool', 'prompt', 'resource', 'template'].map((place) => `${id} ${place}`);

/** All four lists of a client, as they are. */
async function all(agent: Agent): Promise<Record<Kind, JsonObject[]>> {
  const lists = await Promise.all(KINDS.map(async (kind) => [kind, await agent.list(kind)]));
  return Object.fromEntries(lists) as Record<Kind, JsonObject[]>;
}

describe('lists', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld(['team', 'reds', 'blues', 'mine', 'old']);
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  describe.each(AGENTS)('of a $era client', ({ connect, era }) => {
    it.each(USERS)('hold what is for %s, and nothing else', async (user) => {
      await using agent = await world.as(user, connect);
      const lists = await all(agent);
      expect(foreignIn(lists, user)).toEqual([]);
      const own = secretsIn(JSON.stringify(lists)).get(user);
      expect([...(own ?? [])]).toEqual(expect.arrayContaining([...listedBy('mine'), ...listedBy('old')]));
      const shared = secretsIn(JSON.stringify(lists)).get(COLOUR[user]);
      expect([...(shared ?? [])]).toEqual(expect.arrayContaining(listedBy('team')));
      const names = lists.tools
        .map(({ name }) => String(name))
        .filter((name) => /_(of|tool|page)/.test(name));
      expect(names.toSorted()).toEqual(
        [
          ...['tool', 'page'].map((name) => `team.${COLOUR[user]}_${name}`),
          ...['mine', 'old'].flatMap((id) => [`${id}.note_of_${user}`, `${id}.page_of_${user}`]),
        ].toSorted(),
      );
    });

    it('are right for each of many that ask at once, again and again', async () => {
      const agents = await Promise.all(
        [...USERS, ...USERS, ...USERS].map(async (user) => ({ user, agent: await world.as(user, connect) })),
      );
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(
          agents.map(async ({ user, agent }) => {
            expect(foreignIn(await all(agent), user)).toEqual([]);
          }),
        );
      }
      await Promise.all(agents.map(({ agent }) => agent[Symbol.asyncDispose]()));
    });

    it('are nobody else’s to keep', async () => {
      await using agent = await world.as('alice', connect);
      for (const kind of KINDS) {
        const { cacheScope } = await agent.result(KIND_FACTS[kind].list);
        expect([kind, cacheScope]).toEqual([kind, era === 'modern' ? 'private' : undefined]);
      }
    });

    it('at the endpoint of one server hold what is for that user', async () => {
      for (const user of USERS) {
        await using agent = await world.as(user, connect, '/mine');
        const lists = await all(agent);
        expect(foreignIn(lists, user)).toEqual([]);
        expect(lists.tools.map(({ name }) => name)).toContain(`note_of_${user}`);
        await using team = await world.as(user, connect, '/team');
        expect(foreignIn(await all(team), user)).toEqual([]);
      }
    });

    it('in a view hold no more than rules allow', async () => {
      for (const user of USERS) {
        await using agent = await world.as(user, connect, '/near');
        expect(foreignIn(await all(agent), user)).toEqual([]);
      }
    });

    it('what is said of servers that one may not see is not told: instructions, capabilities, extensions', async () => {
      const hello = async (person: Person) => {
        await using agent = await world.as(person, connect);
        return agent.hello;
      };
      const [alice, bob, ops] = [await hello('alice'), await hello('bob'), await hello('ops')];
      expect(alice['instructions']).toContain(secret('red', 'reds instructions'));
      expect(bob['instructions']).toContain(secret('blue', 'blues instructions'));
      expect(foreignIn(alice, 'alice')).toEqual([]);
      expect(foreignIn(bob, 'bob')).toEqual([]);
      expect(foreignIn(ops, 'ops')).toEqual([]);
      // Extensions are for clients of the modern era.
      const told = era === 'modern' ? [['blues extension'], []] : [[], []];
      expect(
        [bob, ops].map((each) => [
          ...(secretsIn(JSON.stringify(objectAt(each, 'capabilities'))).get('blue') ?? []),
        ]),
      ).toEqual(told);
    });

    it('the endpoint of a server of which nothing may be seen is like one of no server', async () => {
      for (const [person, hidden, seen] of [
        ['alice', 'blues', 'reds'],
        ['bob', 'reds', 'blues'],
      ] as const) {
        const knock = async (path: string, method: string) => {
          const answer = await fetch(`${world.gateway.origin}/mcp/${path}`, {
            method,
            headers: {
              ...headersOf(person),
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
            },
            ...(method === 'POST' ? { body: '{}' } : {}),
          });
          return [answer.status, (await answer.text()).replaceAll(path, '<name>')];
        };
        for (const method of ['POST', 'GET', 'DELETE']) {
          expect(await knock(hidden, method)).toEqual(await knock('nothing', method));
        }
        expect((await knock(seen, 'POST'))[0]).toBe(400);
      }
    });
  });

  it('nobody has ever received anything of somebody else', () => {
    const { alice, bob } = world.sweep();
    const own = [...listedBy('mine'), ...listedBy('old'), ...listedBy('team')];
    expect(alice).toEqual(expect.arrayContaining([...own, 'reds instructions', 'reds tool']));
    expect(bob).toEqual(expect.arrayContaining([...own, 'blues instructions', 'blues tool']));
  });
});

describe.each(AGENTS)('of $era clients, where all have one catalog and only rules differ,', ({ connect }) => {
  it('lists are those of the rights of each, whoever asked before', async () => {
    await using world = await startWorld(['team']);
    for (const user of [...USERS, ...USERS]) {
      await using agent = await world.as(user, connect);
      const lists = await all(agent);
      expect(foreignIn(lists, user)).toEqual([]);
      const shown = secretsIn(JSON.stringify(lists)).get(COLOUR[user]);
      expect([...(shown ?? [])]).toEqual(expect.arrayContaining(listedBy('team')));
      const { text } = await agent.request('tools/call', { name: 'team.red_tool', arguments: {} });
      expect(foreignIn(text, user)).toEqual([]);
    }
    world.sweep();
  });
});

describe.each(AGENTS)('answers that a server calls private, for $era clients', ({ connect }) => {
  it('are read for each user, though all reach it with one identity', async () => {
    await using world = await startWorld(['diary', 'team']);
    const server = world.server('diary');
    await using alice = await world.as('alice', connect);
    const hers = await all(alice);
    expect([...(secretsIn(JSON.stringify(hers)).get('alice') ?? [])]).toEqual(listedBy('diary'));
    await server.change(diaryServer('bob'));
    await using bob = await world.as('bob', connect);
    const his = await all(bob);
    expect(foreignIn(his, 'bob')).toEqual([]);
    expect([...(secretsIn(JSON.stringify(his)).get('bob') ?? [])]).toEqual(listedBy('diary'));
    // Hers are fresh for a minute, whoever asked meanwhile.
    const asked = server.count('tools/list');
    expect(await all(alice)).toEqual(hers);
    expect(server.count('tools/list')).toBe(asked);
    world.sweep();
  });
});

describe.each(AGENTS)(
  'answers that a server calls public though they are not, for $era clients',
  ({ connect, era }) => {
    it('are each user’s own, unless the configuration says that it is to be believed', async () => {
      await using world = await startWorld(['fib'], { config: { access: [] } });
      for (const user of [...USERS, ...USERS]) {
        await using agent = await world.as(user, connect);
        const lists = await all(agent);
        expect(foreignIn(lists, user)).toEqual([]);
        expect([...(secretsIn(JSON.stringify(lists)).get(user) ?? [])]).toEqual(
          expect.arrayContaining(listedBy('fib')),
        );
        const { contents, cacheScope } = await agent.result('resources/read', { uri: 'fib://same' });
        expect(JSON.stringify(contents)).toContain(secret(user, 'fib read'));
        // Nor is anybody told that others may have it.
        const scopes = [cacheScope, (await agent.result('tools/list'))['cacheScope']];
        expect(scopes).toEqual(era === 'modern' ? ['private', 'private'] : [undefined, undefined]);
      }
      world.sweep();
    });
  },
);

describe.each(AGENTS)('answers that a server calls public, for $era clients', ({ connect }) => {
  it('are shared, and no others of the same server', async () => {
    await using world = await startWorld(['pub', 'team']);
    for (const user of USERS) {
      await using agent = await world.as(user, connect);
      const lists = await all(agent);
      expect(foreignIn(lists, user)).toEqual([]);
      expect([...(secretsIn(JSON.stringify(lists)).get(user) ?? [])]).toEqual(
        expect.arrayContaining(['pub prompt', 'pub resource', 'pub template']),
      );
      expect(lists.tools.map(({ name }) => name)).toContain('pub.common');
    }
    // As whoever came first, and nobody else.
    const walks = USERS.map((user) => world.server('pub', user).count('tools/list'));
    expectOnce([walks.reduce((sum, each) => sum + each, 0)]);
    world.sweep();
  });

  it('are not for whom the server refuses', async () => {
    await using world = await startWorld(['pub', 'team']);
    world.gate('pub').guardedBy(({ 'x-user': user }) => (user === 'bob' ? 401 : String(user)));
    await using bob = await world.as('bob', connect);
    await using alice = await world.as('alice', connect);
    expect(await bob.names()).not.toContain('pub.common');
    expect(await alice.names()).toContain('pub.common');
    expect(await bob.names()).not.toContain('pub.common');
    world.sweep();
  });
});
