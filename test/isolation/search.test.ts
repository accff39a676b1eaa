import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { foreignIn, secretsIn } from './secrets.ts';
import { startWorld, type User, type World } from './world.ts';

const OTHERS: Readonly<Record<User, User>> = { alice: 'bob', amy: 'bob', bob: 'alice' };
const USERS = Object.keys(OTHERS) as User[];
const JOINED = 'notifications/tools/list_changed';

const namesIn = ({ structured }: { readonly structured: JsonObject }): readonly string[] =>
  (Array.isArray(structured['tools']) ? structured['tools'] : [])
    .filter(isObject)
    .map(({ name }) => String(name));

describe('search', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld(['team', 'reds', 'blues', 'mine', 'old'], {
      config: { views: { found: { mode: 'search' }, grows: { mode: 'progressive', found: { most: 8 } } } },
    });
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  describe.each(AGENTS)('of a $era client', ({ connect, era }) => {
    const as = (user: User, path = '/found') => world.as(user, connect, path);
    const everything = (agent: Agent) => agent.call('search_tools', { limit: 50, schemas: true });

    it.each(USERS)(
      'finds for %s what the lists of that user hold for a model, and nothing else',
      async (user) => {
        await using agent = await as(user);
        await using whole = await as(user, '');
        const found = await everything(agent);
        expect(foreignIn(found.result, user)).toEqual([]);
        expect(secretsIn(found.text).get(user)?.size).toBeGreaterThan(0);
        const listed = (await whole.names()).filter((name) => !/\bpage_of_/.test(name));
        expect(namesIn(found).toSorted()).toEqual(
          listed.filter((name) => namesIn(found).includes(name)).toSorted(),
        );
        expect(listed.filter((name) => !namesIn(found).includes(name) && !/_page$/.test(name))).toEqual([]);
      },
    );

    it.each(USERS)(
      'what is meant for another is found by no words, described by no name, called by none: %s',
      async (user) => {
        const other = OTHERS[user];
        await using agent = await as(user);
        // Whose it is has it in the index, under the same words.
        await using owner = await as(other);
        const name = `mine.note_of_${other}`;
        expect(namesIn(await owner.call('search_tools', { query: `note of ${other}` }))).toContain(name);
        for (const query of [`note of ${other}`, `note_of_${other}`, other, name]) {
          const found = await agent.call('search_tools', { query, limit: 50, schemas: true });
          expect(foreignIn(found.result, user), query).toEqual([]);
          expect(namesIn(found)).not.toContain(name);
        }
        const described = await agent.call('describe_tools', { names: [name, 'mine.note_of_nobody'] });
        expect(described.structured).toEqual({ tools: [], unknown: [name, 'mine.note_of_nobody'] });
        const called = await agent.call('call_tool', { name, arguments: {} });
        const unknown = await agent.call('call_tool', { name: 'mine.note_of_nobody', arguments: {} });
        expect(foreignIn([called.result, unknown.result], user)).toEqual([]);
        expect([called, unknown].map(({ result }) => result['isError'])).toEqual([true, true]);
      },
    );

    it('calls through call_tool reach the server of whoever calls', async () => {
      for (const user of USERS) {
        await using agent = await as(user);
        const { result } = await agent.call('call_tool', { name: 'mine.note', arguments: {} });
        expect(foreignIn(result, user)).toEqual([]);
        expect(secretsIn(JSON.stringify(result)).get(user)?.size).toBeGreaterThan(0);
      }
    });

    it('what one finds joins the list of that user alone, and nobody else is told', async () => {
      await using alice = await as('alice', '/grows');
      await using again = await as('alice', '/grows');
      await using bob = await as('bob', '/grows');
      await using hers = await again.listen({ tools: true });
      await using his = await bob.listen({ tools: true });
      const before = await bob.names();
      const id = era === 'modern' ? 'mine' : 'old';
      await alice.call('describe_tools', {
        names: [`${id}.note_of_alice`, `${id}.count`],
      });
      await hers.next(JOINED);
      expect(await again.names()).toContain(`${id}.count`);
      expect(await bob.names()).toEqual(before);
      // The first that he hears is of what he named himself.
      expect(his.count(JOINED)).toBe(0);
      await bob.call(`${id}.echo`);
      await his.next(JOINED);
      expect(foreignIn(await bob.list('tools'), 'bob')).toEqual([]);
    });
  });

  it('in the end nobody holds what is another’s', () => {
    world.sweep();
  });
});
