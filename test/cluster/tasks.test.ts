import { afterAll, beforeAll, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { authFor, headersOf } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import type { Recorded } from '../kit/recorder.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';
import { type Replicas, startReplicas } from './replicas.ts';

/** States of tasks that the child process of one replica has, told to clients that listen at another. */

const TASKS = 'io.modelcontextprotocol/tasks';
const STATES = 'notifications/tasks';
const ID = 'task-1';
const ABLE = { capabilities: { extensions: { [TASKS]: {} } } };
const task = (more: JsonObject) => ({
  taskId: ID,
  createdAt: '2026-11-30T00:00:00Z',
  lastUpdatedAt: '2026-11-30T00:00:00Z',
  ttlMs: 60_000,
  pollIntervalMs: 250,
  ...more,
});

const scope = new AsyncDisposableStack();
/** The child of the replica where tasks are made, and that of the one where they are listened for. */
let [home, other]: ScriptedUpstream[] = [];
let replicas: Replicas;

beforeAll(async () => {
  const script: Script = {
    id: 'jobs',
    era: 'modern',
    tools: ['job'],
    capabilities: { extensions: { [TASKS]: {} } },
    calls: { job: { does: 'raw', result: task({ resultType: 'task', status: 'working' }) } },
  };
  const children = [scope.use(await startStdioUpstream(script)), scope.use(await startStdioUpstream(script))];
  [home, other] = children;
  replicas = scope.use(
    await startReplicas(2, (index) => ({
      auth: authFor({ alice: {}, bob: {} }),
      shutdown: { grace: '100ms' },
      upstreams: { jobs: children[index]?.config },
    })),
  );
  await Promise.all(replicas.each.map(({ gateway }) => gateway.settled()));
});
afterAll(() => scope.disposeAsync());

const at = (index: number, person: 'alice' | 'bob' = 'alice') =>
  connectModern(replicas.each[index]?.url ?? '', { ...ABLE, headers: headersOf(person) });

const created = async (agent: Agent) =>
  String((await agent.result('tools/call', { name: 'jobs.job', arguments: {} }))['taskId']);

const listen = async (agent: Agent, taskId: string) => {
  const stream = agent.begin('subscriptions/listen', { notifications: { taskIds: [taskId] } });
  const first = await stream.next();
  return { stream, acknowledged: objectAt(objectAt(first, 'params'), 'notifications') };
};

const ofTask = ({ params }: Recorded) =>
  JSON.stringify(objectAt(params, 'notifications')?.['taskIds']) === JSON.stringify([ID]);

/** The child that has the task was asked for its states. */
const untilWatched = (after = 0) => home?.untilReceived('subscriptions/listen', ofTask, { after });

const tell = (statusMessage: string) =>
  home?.push({ jsonrpc: '2.0', method: STATES, params: task({ status: 'working', statusMessage }) });

it('come to its user at another replica under the id that the client has, and to nobody else', async () => {
  await using alice = await at(0);
  const taskId = await created(alice);
  await using there = await at(1);
  await using bob = await at(1, 'bob');
  const stolen = await listen(bob, taskId);
  expect(stolen.acknowledged).toEqual({});
  const hers = await listen(there, taskId);
  expect(hers.acknowledged).toEqual({ taskIds: [taskId] });
  const again = await listen(there, taskId);
  await untilWatched();
  await tell('half');
  for (const { stream } of [hers, again]) {
    const told = objectAt(await stream.next(STATES), 'params');
    expect(told).toMatchObject({ taskId, statusMessage: 'half' });
    expect(JSON.stringify(told)).not.toContain(`"${ID}"`);
  }
  again.stream.abort();
  await tell('more');
  await hers.stream.next(({ params }) => objectAt({ params }, 'params')?.['statusMessage'] === 'more');
  expect(stolen.stream.count(STATES)).toBe(0);
  for (const { stream } of [hers, stolen]) {
    stream.abort();
  }
  expect(other?.count('subscriptions/listen', ofTask)).toBe(0);
});

it('are asked for no longer than somebody listens, also from another replica', async () => {
  await using alice = await at(0);
  const taskId = await created(alice);
  await using there = await at(1);
  const after = home?.mark();
  const { stream } = await listen(there, taskId);
  await untilWatched(after);
  const closed = home?.mark();
  stream.abort();
  await home?.untilReceived('notifications/cancelled', undefined, { after: closed ?? 0 });
});

it('come again when the two replicas have lost each other for a while', async () => {
  await using alice = await at(0);
  const taskId = await created(alice);
  await using there = await at(1);
  const after = home?.mark();
  const { stream } = await listen(there, taskId);
  await untilWatched(after);
  const lost = home?.mark();
  replicas.cut();
  await untilWatched(lost);
  await tell('after all');
  await stream.next(({ params }) => objectAt({ params }, 'params')?.['statusMessage'] === 'after all');
  stream.abort();
});
