import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { told } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import type { Answer } from '../kit/http-exchange.ts';
import { connectModern } from '../kit/modern-agent.ts';
import type { Recorded } from '../kit/recorder.ts';
import { REPLICAS } from './replicas.ts';
import { secret } from './secrets.ts';
import { TASK_ID } from './servers.ts';
import { startWorld, type User, type World } from './world.ts';

const ACCEPTED = { action: 'accept', content: { name: 'me' } };
/** Questions waiting in a call: passed on by a server that keeps nothing, and held open at one that does. */
const ASKING = ['mine', 'old', 'box'] as const;

let world: World;

beforeAll(async () => {
  world = await startWorld(['team', 'mine', 'old', 'box'], {
    config: { questions: { perPrincipal: 2 } },
  });
});

afterAll(() => world?.[Symbol.asyncDispose]());

const as = (user: User) => world.as(user, connectModern);

interface Unfinished {
  readonly call: JsonObject;
  readonly retry: JsonObject;
}

/** A call up to its question, and the retry that answers it. */
async function untilAsked(agent: Agent, id: string, tag: string): Promise<Unfinished> {
  const call = { name: `${id}.ask`, arguments: { tag } };
  const result = await agent.result('tools/call', call);
  expect(result).toMatchObject({ resultType: 'input_required' });
  const keys = Object.keys(result['inputRequests'] as JsonObject);
  const inputResponses = Object.fromEntries(keys.map((key) => [key, ACCEPTED]));
  return { call, retry: { ...call, inputResponses, requestState: result['requestState'] } };
}

describe.each(ASKING)('an unfinished call at %s', (id) => {
  it('is gone on with by whoever made it, and by nobody else', async () => {
    await using alice = await as('alice');
    const { retry } = await untilAsked(alice, id, 'stolen');
    for (const thief of ['amy', 'bob'] as const) {
      await using agent = await as(thief);
      const before = world.server(id, thief).count('tools/call');
      const stolen = await agent.request('tools/call', retry);
      const forged = await agent.request('tools/call', { ...retry, requestState: 'made up' });
      expect(stolen.error?.code).toBe(-32602);
      expect(told(stolen)).toBe(told(forged));
      if (id !== 'box') {
        expect(world.server(id, thief).count('tools/call')).toBe(before);
      }
    }
    expect(await alice.result('tools/call', retry)).toMatchObject({
      structuredContent: { answers: [{ result: ACCEPTED }] },
    });
  });

  it('is gone on with as the call that it was', async () => {
    await using alice = await as('alice');
    const { retry } = await untilAsked(alice, id, 'mine');
    const others = [
      { ...retry, arguments: { tag: 'another' } },
      { ...retry, name: `${id}.echo` },
      { ...retry, name: id === 'mine' ? 'old.ask' : 'mine.ask' },
    ];
    for (const other of others) {
      expect((await alice.request('tools/call', other)).error?.code).toBe(-32602);
    }
    const other = await untilAsked(alice, id, 'other');
    const mixed = { ...retry, requestState: other.retry['requestState'] };
    expect((await alice.request('tools/call', mixed)).error?.code).toBe(-32602);
    for (const each of [retry, other.retry]) {
      expect((await alice.request('tools/call', each)).error).toBeUndefined();
    }
  });
});

it('a state that a server keeps outside the gateway outlives a restart for its owner alone', async () => {
  await using alice = await as('alice');
  await using bob = await as('bob');
  const { retry } = await untilAsked(alice, 'mine', 'restart');
  await world.gateway.restart();
  expect((await bob.request('tools/call', retry)).error?.code).toBe(-32602);
  expect(await alice.result('tools/call', retry)).toHaveProperty('structuredContent');
});

it('calls that wait are counted for each user', async () => {
  await using alice = await as('alice');
  await using bob = await as('bob');
  const waiting: [Agent, Unfinished][] = [];
  // Two at each replica: the next one is refused there.
  while (waiting.length < 2 * REPLICAS) {
    waiting.push([alice, await untilAsked(alice, 'box', `number ${waiting.length}`)]);
  }
  const refused = await alice.request('tools/call', { name: 'box.ask', arguments: { tag: 'one more' } });
  expect(refused.result ?? refused.error).not.toMatchObject({ resultType: 'input_required' });
  waiting.push([bob, await untilAsked(bob, 'box', 'his')]);
  for (const [agent, { retry }] of waiting) {
    expect(await agent.result('tools/call', retry)).toHaveProperty('structuredContent');
  }
});

describe('tasks', () => {
  const METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;
  const begin = async (agent: Agent) =>
    String((await agent.result('tools/call', { name: 'mine.job', arguments: {} }))['taskId']);
  const ask = (agent: Agent, method: string, taskId: string): Promise<Answer> =>
    agent.request(method, { taskId, inputResponses: {} }, { headers: { 'mcp-name': taskId } });
  const reached = (user: User) => {
    const about = ({ params }: Recorded) => params['taskId'] === TASK_ID;
    return METHODS.reduce((sum, method) => sum + world.server('mine', user).count(method, about), 0);
  };

  it('are unknown to everybody else, before and after a restart', async () => {
    await using alice = await as('alice');
    const thieves = [
      { user: 'amy', agent: await as('amy') },
      { user: 'bob', agent: await as('bob') },
    ] as const;
    const taskId = await begin(alice);
    for (const restart of [false, true]) {
      if (restart) {
        await world.gateway.restart();
      }
      for (const { user, agent } of thieves) {
        const before = reached(user);
        for (const method of METHODS) {
          const stolen = await ask(agent, method, taskId);
          const forged = await ask(agent, method, 'made-up');
          expect(stolen.error?.code).toBe(-32602);
          expect(told(stolen, taskId)).toBe(told(forged, 'made-up'));
          // The id that the server itself gave is none here.
          expect((await ask(agent, method, TASK_ID)).error?.code).toBe(-32602);
        }
        expect(reached(user)).toBe(before);
      }
      const { result } = await ask(alice, 'tasks/get', taskId);
      expect(JSON.stringify(result)).toContain(secret('alice', 'mine task'));
    }
    await Promise.all(thieves.map(({ agent }) => agent[Symbol.asyncDispose]()));
  });

  it('are unknown to their owner too, where nothing of their server is to be seen', async () => {
    await using alice = await as('alice');
    const taskId = await begin(alice);
    for (const path of ['/team', '/old']) {
      await using there = await world.as('alice', connectModern, path);
      for (const method of METHODS) {
        const answer = await ask(there, method, taskId);
        expect(answer.error?.code).toBe(-32602);
        expect(told(answer, taskId)).toBe(told(await ask(there, method, 'made-up'), 'made-up'));
      }
    }
    await using near = await world.as('alice', connectModern, '/near');
    expect((await ask(near, 'tasks/get', taskId)).result).toBeDefined();
  });

  it('of two users with one id at their servers are two', async () => {
    for (const user of ['alice', 'bob'] as const) {
      await using agent = await as(user);
      const { result } = await ask(agent, 'tasks/get', await begin(agent));
      expect(JSON.stringify(result)).toContain(secret(user, 'mine task'));
    }
  });
});

it('what is sealed for one purpose is nothing for another', async () => {
  await using alice = await as('alice');
  const { retry } = await untilAsked(alice, 'mine', 'purpose');
  const state = String(retry['requestState']);
  const taskId = String((await alice.result('tools/call', { name: 'mine.job', arguments: {} }))['taskId']);
  const swapped = [
    await alice.request('tools/call', { ...retry, requestState: taskId }),
    await alice.request('tools/list', { cursor: state }),
    await alice.request('tools/list', { cursor: taskId }),
    await alice.request('tasks/get', { taskId: state }, { headers: { 'mcp-name': state } }),
  ];
  expect(swapped.map(({ error }) => error?.code)).toEqual([-32602, -32602, -32602, -32602]);
  const { status } = await alice.http('DELETE', { 'mcp-session-id': state }).done;
  expect(status).toBe(404);
});

it('nobody has ever received anything of somebody else', () => {
  const { alice, bob } = world.sweep();
  expect(alice).toEqual(expect.arrayContaining(['mine question', 'old question', 'mine task']));
  expect(bob).toEqual(expect.arrayContaining(['mine task']));
});
