import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, stringAt } from '../../src/base/json.ts';
import { told } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Recorded } from '../kit/recorder.ts';
import { expectOnce } from './replicas.ts';
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
    world = await startWorld(['team', 'mine', 'old', 'diary']);
    // What the gateway has read of it by itself was Alice's; whoever lists from now on is told nothing.
    const plain = { tools: ['write'], prompts: [], resources: ['diary://today'], templates: [] };
    await world.server('diary').change(plain);
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  const as = (user: User, path = '') => world.as(user, connect, path);
  /** How often a method came to any server. */
  const reached = (method: string) => {
    const shared = (['team', 'diary'] as const).map((id) => world.server(id));
    const own = OWN.flatMap((id) => USERS.map((user) => world.server(id, user)));
    return [...shared, ...own].reduce((sum, server) => sum + server.count(method), 0);
  };

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
        if (id === 'mine') {
          expectOnce(asked);
        } else {
          expect(asked).toEqual([2, 2, 2]);
        }
      },
    );

    it('that one user is reading right now is nobody else’s to get, nor to wait for', async () => {
      // Nothing is known yet of what the server says of its answers.
      await using fresh = await startWorld(['mine', 'team']);
      const uri = 'mine://same';
      const server = fresh.server('mine', 'alice');
      await server.change({ faults: [{ on: 'resources/read', do: { hold: 'read' } }] });
      await using alice = await fresh.as('alice', connect);
      await using bob = await fresh.as('bob', connect);
      const running = [read(alice, uri), read(alice, uri)];
      await server.untilReceived('resources/read');
      expect(await read(bob, uri)).toBe(secret('bob', 'mine read'));
      await server.change({ faults: [] });
      await expect.poll(() => server.release('read')).toBeGreaterThan(0);
      expect(await Promise.all(running)).toEqual([1, 2].map(() => secret('alice', 'mine read')));
      fresh.sweep();
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
