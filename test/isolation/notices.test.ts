import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent, NoticeStream } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { connectModern } from '../kit/modern-agent.ts';
import type { Recorded } from '../kit/recorder.ts';
import { foreignIn, secret } from './secrets.ts';
import { TASK_ID } from './servers.ts';
import { ABLE, startWorld, type User, type World } from './world.ts';

const changed = (kind: string) => `notifications/${kind}/list_changed`;
const UPDATED = 'notifications/resources/updated';
const STATES = 'notifications/tasks';
const OWN = ['mine', 'old'] as const;

let world: World;

beforeAll(async () => {
  world = await startWorld(['team', 'mine', 'old']);
});

afterAll(() => world?.[Symbol.asyncDispose]());

/** Someone who has read all lists and listens for whatever changes. */
async function listener(agent: Agent, uris: readonly string[] = []) {
  await Promise.all(
    (['tools', 'prompts', 'resources', 'templates'] as const).map((kind) => agent.list(kind)),
  );
  const heard = await agent.listen({ tools: true, prompts: true, resources: true, uris });
  // Once its own connections can hear, what went unheard meanwhile has been told.
  await agent.call('mine.echo');
  await agent.call('old.echo');
  return heard;
}

/** The parts of a message that say what it is about. */
const about = ({ method, params }: JsonObject) => [method, objectAt({ params }, 'params')?.['uri']];
const heardOf = (stream: NoticeStream, method: string) =>
  stream.all.filter((each) => each['method'] === method);

describe.each(AGENTS)('to a $era client', ({ connect, era }) => {
  const as = (user: User) => world.as(user, connect);

  it.each(OWN)('a list of %s that changed for one user is told to that user alone', async (id) => {
    await using alice = await as('alice');
    await using bob = await as('bob');
    await using amy = await as('amy');
    await using hers = await listener(alice);
    await using his = await listener(bob);
    await using twins = await listener(amy);
    const before = [his, twins].map((stream) => heardOf(stream, changed('prompts')).length);
    const server = world.server(id, 'alice');
    await server.setList('prompts', [...(server.script.prompts ?? []), `new_${era}`]);
    await server.notify('prompts');
    await hers.next(changed('prompts'));
    // The others hear what is theirs, and it is the first that they hear since.
    for (const [stream, user] of [
      [his, 'bob'],
      [twins, 'amy'],
    ] as const) {
      const other = world.server(id, user);
      await other.addTool(`new_${era}`);
      await other.notify('tools');
      await stream.next(changed('tools'));
    }
    expect([his, twins].map((stream) => heardOf(stream, changed('prompts')).length)).toEqual(before);
    expect(await bob.names('prompts')).not.toContain(`${id}.new_${era}`);
    expect(await alice.names('prompts')).toContain(`${id}.new_${era}`);
  });

  it.each(OWN)('an update of one URI of %s is told to whom its server told it', async (id) => {
    const [same, other] = [`${id}://same`, `${id}://other`];
    await using alice = await as('alice');
    await using bob = await as('bob');
    await using hers = await listener(alice, [same, other]);
    await using his = await listener(bob, [same, other]);
    for (const user of ['alice', 'bob'] as const) {
      const wants = ({ params }: Recorded) =>
        JSON.stringify([params['uri'], params['notifications']]).includes(other);
      const method = id === 'mine' ? 'subscriptions/listen' : 'resources/subscribe';
      await world.server(id, user).untilReceived(method, wants);
    }
    await world.server(id, 'alice').notify({ updated: same });
    expect(about(await hers.next(UPDATED))).toEqual([UPDATED, same]);
    await world.server(id, 'bob').notify({ updated: other });
    expect(about(await his.next(UPDATED))).toEqual([UPDATED, other]);
    expect([hers, his].map((stream) => heardOf(stream, UPDATED).length)).toEqual([1, 1]);
  });

  it('a subscription to what one may not see is that to nothing', async () => {
    await using bob = await as('bob');
    await using alice = await as('alice');
    await using hers = await listener(alice, ['team://red']);
    if (era === 'modern') {
      await using his = await bob.listen({ uris: ['team://red', 'mine://of_alice', 'team://blue'] });
      expect(his.acknowledged?.['notifications']).toEqual({ resourceSubscriptions: ['team://blue'] });
    } else {
      for (const uri of ['team://red', 'mine://of_alice']) {
        expect((await bob.request('resources/subscribe', { uri })).error?.code).toBe(-32002);
      }
    }
    await using his = await listener(bob, ['team://blue']);
    const team = world.server('team');
    await team.untilReceived('subscriptions/listen', ({ params }) => {
      const wanted = JSON.stringify(params['notifications']);
      return wanted.includes('team://red') && wanted.includes('team://blue');
    });
    await team.notify({ updated: 'team://red' });
    expect(about(await hers.next(UPDATED))).toEqual([UPDATED, 'team://red']);
    // A part of what is watched is kept from everybody.
    const watching = (uri: string) => ({ jsonrpc: '2.0', method: UPDATED, params: { uri } });
    await team.push(watching('team://blue/closed/1'));
    await team.push(watching('team://blue/open/1'));
    expect(about(await his.next(UPDATED))).toEqual([UPDATED, 'team://blue/open/1']);
    await team.push(watching('team://red/closed/1'));
    await team.push(watching('team://blue/open/2'));
    expect(about(await his.next(UPDATED))).toEqual([UPDATED, 'team://blue/open/2']);
    expect(hers.all.map(about).filter(([method]) => method === UPDATED)).toEqual([[UPDATED, 'team://red']]);
    expect(JSON.stringify(his.all)).not.toMatch(/closed|red/);
  });
});

describe.each(AGENTS)('to a $era client, where all have one catalog,', ({ connect }) => {
  it('a change where one user may not look is not told to that user', async () => {
    await using shared = await startWorld(['team']);
    await using alice = await shared.as('alice', connect);
    await using bob = await shared.as('bob', connect);
    await using hers = await alice.listen();
    await using his = await bob.listen();
    const team = shared.server('team');
    const description = secret('red', 'team new');
    await team.addTool({ name: 'red_new', description, inputSchema: { type: 'object' } });
    await team.notify('tools');
    await hers.next(changed('tools'));
    await team.setList('prompts', [...(team.script.prompts ?? []), 'blue_new']);
    await team.notify('prompts');
    await his.next(changed('prompts'));
    expect([heardOf(his, changed('tools')), heardOf(hers, changed('prompts'))]).toEqual([[], []]);
    expect(await bob.names()).not.toContain('team.red_new');
    shared.sweep();
  });
});

describe('states of tasks', () => {
  const begin = async (user: User) => {
    const agent = await world.as(user, connectModern);
    const { taskId } = await agent.result('tools/call', { name: 'mine.job', arguments: {} });
    return { agent, taskId: String(taskId) };
  };
  const listen = async (agent: Agent, taskIds: readonly string[]) => {
    const stream = agent.begin('subscriptions/listen', { notifications: { taskIds } });
    const first = await stream.next();
    return { stream, acknowledged: objectAt(objectAt(first, 'params'), 'notifications') };
  };
  const tell = (user: User) =>
    world.server('mine', user).push({
      jsonrpc: '2.0',
      method: STATES,
      params: { taskId: TASK_ID, status: 'working', statusMessage: secret(user, 'mine state') },
    });

  it('come to whoever’s task it is, though another’s has the same id at its server', async () => {
    const [alice, bob] = [await begin('alice'), await begin('bob')];
    expect(alice.taskId).not.toBe(bob.taskId);
    const stolen = await listen(bob.agent, [alice.taskId]);
    expect(stolen.acknowledged).toEqual({});
    const hers = await listen(alice.agent, [alice.taskId]);
    const his = await listen(bob.agent, [alice.taskId, bob.taskId]);
    expect(hers.acknowledged).toEqual({ taskIds: [alice.taskId] });
    expect(his.acknowledged).toEqual({ taskIds: [bob.taskId] });
    for (const user of ['alice', 'bob'] as const) {
      await world
        .server('mine', user)
        .untilReceived('subscriptions/listen', ({ params }) => JSON.stringify(params).includes(TASK_ID));
    }
    await tell('alice');
    const told = objectAt(await hers.stream.next(STATES), 'params');
    expect(told).toMatchObject({ taskId: alice.taskId, statusMessage: secret('alice', 'mine state') });
    await tell('bob');
    const own = objectAt(await his.stream.next(STATES), 'params');
    expect(own).toMatchObject({ taskId: bob.taskId, statusMessage: secret('bob', 'mine state') });
    expect(objectAt(own, '_meta')?.[META.subscription]).toBe(his.stream.id);
    expect(stolen.stream.count(STATES)).toBe(0);
    expect(foreignIn(hers.stream.messages, 'alice')).toEqual([]);
    expect(foreignIn(his.stream.messages, 'bob')).toEqual([]);
    for (const { stream } of [hers, his, stolen]) {
      stream.abort();
    }
    await Promise.all([alice, bob].map(({ agent }) => agent[Symbol.asyncDispose]()));
  });
});

describe('log messages', () => {
  it.each(OWN)(
    'of calls at %s come to the client that asked for them, in the stream of its call',
    async (id) => {
      const open = async (user: User, level?: string) => {
        const options = level === undefined ? ABLE : { ...ABLE, logLevel: level };
        return world.as(user, connectModern, '', options);
      };
      await using alice = await open('alice', 'debug');
      await using bob = await open('bob', 'debug');
      await using silent = await open('bob');
      const calls = await Promise.all([alice, bob, silent].map((agent) => agent.call(`${id}.log`)));
      expect(calls.map(({ logs }) => logs.map(({ data }) => data))).toEqual([
        [secret('alice', `${id} log`)],
        [secret('bob', `${id} log`)],
        [],
      ]);
    },
  );
});

it('nobody has ever received anything of somebody else', () => {
  const { alice, bob } = world.sweep();
  const places = ['mine log', 'old log', 'mine state', 'mine tool'];
  expect(alice).toEqual(expect.arrayContaining(places));
  expect(bob).toEqual(expect.arrayContaining(places));
});
