import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { told } from '../e2e/access-world.ts';
import { foreignIn, secret } from '../isolation/secrets.ts';
import { startWorld, type User, type World } from '../isolation/world.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';

/**
 * The main cases of test/isolation where each request comes to the other one of two replicas. All of them run so with
 * `PATCHBAY_TEST_REPLICAS=2`; see test/isolation/replicas.ts.
 */

const USERS = ['alice', 'amy', 'bob'] as const;
const OWN = ['mine', 'old'] as const;
const ACCEPTED = { action: 'accept', content: { name: 'me' } };

let world: World;

beforeAll(async () => {
  world = await startWorld([...OWN, 'box', 'sess', 'team'], { replicas: 2 });
  for (const id of OWN) {
    await world.server(id, 'alice').change({ instructions: secret('alice', `${id} instructions`) });
  }
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** What a result says where a thing is that is in no list. */
function linkIn({ result }: { readonly result: JsonObject }): string {
  const [, uri = ''] = /"uri":"([^"]*slip[^"]*)"/.exec(JSON.stringify(result)) ?? [];
  return uri;
}

describe.each(AGENTS)('of $era clients on two replicas', ({ connect }) => {
  const as = (user: User) => world.as(user, connect);

  it('each sees and gets what is theirs, at once and over and over', async () => {
    const agents = await Promise.all(USERS.map(async (user) => ({ user, agent: await as(user) })));
    await Promise.all(
      agents.map(async ({ user, agent }) => {
        for (let round = 0; round < 4; round += 1) {
          const names = await agent.names();
          for (const id of OWN) {
            expect(names).toContain(`${id}.note_of_${user}`);
            expect((await agent.call(`${id}.note`)).text).toBe(secret(user, `${id} call`));
            const read = await agent.result('resources/read', { uri: `${id}://same` });
            expect(JSON.stringify(read)).toContain(secret(user, `${id} read`));
            expect(foreignIn([names, read], user)).toEqual([]);
          }
        }
      }),
    );
    await Promise.all(agents.map(({ agent }) => agent[Symbol.asyncDispose]()));
  });

  it.each(OWN)(
    'a link in a result of %s is good at both for whoever got it, and for nobody else',
    async (id) => {
      await using alice = await as('alice');
      await using bob = await as('bob');
      const uri = linkIn(await alice.call(`${id}.note`));
      expect(uri).toContain('slip');
      for (const _ of [1, 2]) {
        expect(JSON.stringify(await alice.result('resources/read', { uri }))).toContain(
          secret('alice', `${id} slip`),
        );
        expect((await bob.request('resources/read', { uri })).error).toBeDefined();
      }
    },
  );

  it('a server that does not know them counts the calls of each on a connection of theirs', async () => {
    const agents = await Promise.all(USERS.map(as));
    for (const count of [1, 2, 3]) {
      for (const agent of agents) {
        expect((await agent.call('box.count')).structured).toEqual({ count });
      }
    }
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  });
});

it('what a server says of itself to one user is told to that user at both, and to nobody else', async () => {
  await using first = await world.as('alice', connectModern);
  await first.names();
  const told = async (user: User) => {
    // Twice: once at each replica.
    const agents = [await world.as(user, connectLegacy), await world.as(user, connectLegacy)];
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
    return agents.map(({ hello }) =>
      OWN.map((id) => JSON.stringify(hello).includes(secret('alice', `${id} instructions`))),
    );
  };
  const [all, none] = [
    [true, true],
    [false, false],
  ];
  await expect.poll(() => told('alice')).toEqual([all, all]);
  expect(await told('amy')).toEqual([none, none]);
});

describe.each([...OWN, 'box'])('an unfinished call at %s', (id) => {
  it('is gone on with at the other replica by whoever made it, and by nobody else', async () => {
    await using alice = await world.as('alice', connectModern);
    const call = { name: `${id}.ask`, arguments: { tag: 'stolen' } };
    const result = await alice.result('tools/call', call);
    const [key = ''] = Object.keys(result['inputRequests'] as JsonObject);
    const retry = { ...call, inputResponses: { [key]: ACCEPTED }, requestState: result['requestState'] };
    for (const thief of ['amy', 'bob'] as const) {
      await using agent = await world.as(thief, connectModern);
      for (const _ of [1, 2]) {
        const stolen = await agent.request('tools/call', retry);
        const forged = await agent.request('tools/call', { ...retry, requestState: 'made up' });
        expect(stolen.error?.code).toBe(-32602);
        expect(told(stolen)).toBe(told(forged));
      }
    }
    expect(await alice.result('tools/call', retry)).toMatchObject({
      structuredContent: { answers: [{ result: ACCEPTED }] },
    });
  });
});

describe('a session', () => {
  /** Whatever can be sent for a session that is somebody else's, at both replicas. */
  const attempts = (agent: Agent, headers: Record<string, string>, lastEvent: string) => [
    () => agent.request('tools/call', { name: 'mine.note', arguments: {} }, { headers }),
    () => agent.notify('notifications/cancelled', { requestId: 7 }, { headers }),
    () => agent.post({ jsonrpc: '2.0', id: 1, result: {} }, headers),
    () => agent.http('GET', { ...headers, 'last-event-id': lastEvent }).done,
    () => agent.http('DELETE', headers).done,
  ];

  it('is unknown at both to everybody else, and goes on unharmed', async () => {
    await using alice = await world.as('alice', connectLegacy);
    await using heard = await alice.listen();
    const running = alice.begin('tools/call', { name: 'box.slow', arguments: { label: 'held' } }, { id: 7 });
    await world
      .server('box')
      .untilReceived('tools/call', ({ params }) => JSON.stringify(params).includes('held'));
    const headers = { 'mcp-session-id': alice.sessionId ?? '' };
    for (const thief of ['amy', 'bob'] as const) {
      await using agent = await world.as(thief, connectLegacy, '', { greet: false });
      for (const attempt of [...attempts(agent, headers, 'x.1'), ...attempts(agent, headers, 'x.1')]) {
        expect((await attempt()).status).toBe(404);
      }
    }
    expect(await world.server('box').release('held')).toBe(1);
    expect((await running.done).result).toMatchObject({ structuredContent: { done: true } });
    await heard.close();
  });

  it('of one user gives another, who names its events and questions, nothing', async () => {
    const byHand = { answers: { 'elicitation/create': () => new Promise<JsonObject>(() => {}) } };
    await using alice = await world.as('alice', connectLegacy, '', byHand);
    await using bob = await world.as('bob', connectLegacy, '', byHand);
    const running = alice.begin('tools/call', { name: 'box.ask', arguments: {} });
    const { id } = await running.next('elicitation/create');
    const mine = { 'mcp-session-id': bob.sessionId ?? '' };
    // Twice: once at each replica.
    for (const _ of [1, 2]) {
      const answered = await bob.post({ jsonrpc: '2.0', id, result: { action: 'cancel' } }, mine);
      expect(answered.status).toBe(202);
    }
    const rightly = await alice.post(
      { jsonrpc: '2.0', id, result: ACCEPTED },
      { 'mcp-session-id': alice.sessionId ?? '' },
    );
    expect(rightly.status).toBe(202);
    const { result, events } = await running.done;
    expect(result).toMatchObject({ structuredContent: { answers: [{ result: ACCEPTED }] } });
    const lastEvent = events[0]?.id ?? '';
    for (const _ of [1, 2]) {
      const stolen = bob.http('GET', { 'last-event-id': lastEvent });
      expect((await stolen.opened).status).toBe(200);
      stolen.abort();
      expect((await stolen.done).messages).toEqual([]);
    }
  });
});

it('nobody has ever received anything of somebody else', () => {
  const found = world.sweep();
  for (const user of USERS) {
    expect(found[user]).toEqual(expect.arrayContaining(['mine call', 'old call', 'mine read', 'old read']));
  }
});
