import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { authFor, headersOf } from '../e2e/access-world.ts';
import type { Agent, AgentOptions } from '../kit/agent.ts';
import type { Exchange } from '../kit/http-exchange.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { type Replicas, startReplicas } from './replicas.ts';

/** Two gateways that share a state: what belongs to one conversation comes to either of them. */

const ELICITED = { action: 'accept', content: { name: 'Ada' } };
const ABLE = { capabilities: { elicitation: { form: {} }, roots: {} } };
const PEOPLE = { alice: {}, bob: {} };
const TOOLS = ['echo', 'ask', 'slow', 'progress', 'log', 'count', 'whoami'];

let own: ScriptedUpstream;
let team: ScriptedUpstream;
let replicas: Replicas;
const scope = new AsyncDisposableStack();

beforeAll(async () => {
  own = scope.use(await startStdioUpstream({ id: 'own', era: 'legacy', tools: TOOLS }));
  team = scope.use(
    await startHttpUpstream({
      id: 'team',
      era: 'legacy',
      tools: TOOLS,
      resources: ['team://board'],
      capabilities: { logging: {}, resources: { subscribe: true } },
    }),
  );
  replicas = scope.use(
    await startReplicas(3, {
      auth: authFor(PEOPLE),
      shutdown: { grace: '100ms' },
      upstreams: { own: { ...own.config, isolation: 'user' }, team: team.config },
    }),
  );
  await Promise.all(replicas.each.map(({ gateway }) => gateway.settled()));
});
afterAll(() => scope.disposeAsync());

const url = (at: number) => replicas.each[at]?.url ?? expect.unreachable();
type Person = keyof typeof PEOPLE;

const session = (person: Person, at = 0, options: AgentOptions = {}) =>
  connectLegacy(url(at), { ...ABLE, ...options, headers: headersOf(person) });

/** The session of that agent at another replica, for whoever shows its id. */
const elsewhere = (agent: Agent, at: number, person: Person = 'alice', options: AgentOptions = {}) =>
  connectLegacy(url(at), {
    ...options,
    greet: false,
    headers: {
      ...headersOf(person),
      'mcp-session-id': agent.sessionId ?? '',
      'mcp-protocol-version': agent.version,
    },
  });

/** Leaves every question to be answered by hand. */
const BY_HAND = { answers: { 'elicitation/create': () => new Promise<JsonObject>(() => {}) } };
const question = (running: Exchange) => running.next('elicitation/create');
const answerTo = (asked: JsonObject) => ({ jsonrpc: '2.0', id: asked['id'], result: ELICITED });

/** Cuts a connection, and tells the last event that came over it. */
async function lose(running: Exchange): Promise<string> {
  running.abort();
  const { events } = await running.done;
  return events.findLast(({ id }) => id !== undefined)?.id ?? expect.unreachable();
}

describe('a legacy session', () => {
  it('is served by every replica, and ended at all of them by one', async () => {
    await using agent = await session('alice');
    for (const at of [1, 2]) {
      await using there = await elsewhere(agent, at);
      expect((await there.request('ping')).result).toEqual({});
    }
    await using one = await elsewhere(agent, 1);
    expect((await one.http('DELETE').done).status).toBe(204);
    for (const at of [0, 1, 2]) {
      await using there = await elsewhere(agent, at);
      await expect.poll(async () => (await there.request('ping')).status).toBe(404);
    }
  });

  it('stays ended at a replica that starts later', async () => {
    await using agent = await session('alice');
    await agent.http('DELETE').done;
    await replicas.each[2]?.restart();
    await using there = await elsewhere(agent, 2);
    expect((await there.request('ping')).status).toBe(404);
  });

  it('answers at one replica what was asked on a stream of another', async () => {
    await using agent = await session('alice', 0, BY_HAND);
    const running = agent.begin('tools/call', { name: 'own.ask', arguments: {} });
    const asked = await question(running);
    await using bob = await elsewhere(agent, 1, 'bob');
    expect((await bob.post(answerTo(asked))).status).toBe(404);
    await using there = await elsewhere(agent, 1);
    expect((await there.post(answerTo(asked))).status).toBe(202);
    expect((await running.done).result).toMatchObject({
      structuredContent: { answers: [{ result: ELICITED }] },
    });
  });

  it('cancels at one replica what runs at another', async () => {
    await using agent = await session('alice');
    const running = agent.begin(
      'tools/call',
      { name: 'team.slow', arguments: { tag: 'cancel' } },
      { id: 'mine' },
    );
    await team.untilReceived(
      'tools/call',
      ({ params }) => objectAt(params, 'arguments')?.['tag'] === 'cancel',
    );
    // Somebody else whose request has the same id.
    await using bob = await session('bob', 1);
    await bob.notify('notifications/cancelled', { requestId: 'mine' });
    await using there = await elsewhere(agent, 1);
    await there.notify('notifications/cancelled', { requestId: 'mine' });
    await team.untilReceived('notifications/cancelled');
    running.abort();
    await running.done;
  });

  it('goes on at one replica with a stream of another, after the last event that it has', async () => {
    await using agent = await session('alice');
    const call = { name: 'team.progress', arguments: { steps: 3, gate: 'step' } };
    const running = agent.begin('tools/call', call, { progressToken: 'p' });
    await running.next('notifications/progress');
    const last = await lose(running);
    await using bob = await session('bob', 1);
    const stolen = bob.http('GET', { 'last-event-id': last });
    await using there = await elsewhere(agent, 1);
    const resumed = there.http('GET', { 'last-event-id': last });
    for (const _ of [1, 2]) {
      await expect.poll(() => team.release('step')).toBe(1);
      await resumed.next('notifications/progress');
    }
    await expect.poll(() => team.release('step')).toBe(1);
    const { messages, ended } = await resumed.done;
    expect(ended).toBe('whole');
    expect(messages.at(-1)).toMatchObject({ result: { content: expect.anything() as unknown } });
    expect(stolen.messages).toEqual([]);
    stolen.abort();
    // What is over and was read is over anywhere.
    const lastOfAll = (await resumed.done).events.at(-1)?.id ?? '';
    expect((await there.http('GET', { 'last-event-id': lastOfAll }).done).status).toBe(204);
  });

  it('gets a new stream for one of a replica that is gone', async () => {
    await using agent = await session('alice', 2);
    await using stream = await agent.listen();
    await stream.close();
    const last = (await stream.closed).events.findLast(({ id }) => id !== undefined)?.id ?? '';
    await replicas.each[2]?.restart();
    await using there = await elsewhere(agent, 1);
    const again = there.http('GET', { 'last-event-id': last });
    expect((await again.opened).status).toBe(200);
    again.abort();
  });

  it('hears on its stream at one replica of a resource that it subscribed to at another', async () => {
    await using agent = await session('alice');
    await using stream = await agent.listen();
    await using there = await elsewhere(agent, 1);
    await there.result('resources/subscribe', { uri: 'team://board' });
    await team.untilReceived('resources/subscribe');
    await team.notify({ updated: 'team://board' });
    await stream.next('notifications/resources/updated');
    expect(stream.count('notifications/resources/updated')).toBe(1);
  });

  it('hears log messages by the level that it set at another replica', async () => {
    await using agent = await session('alice');
    await using before = await elsewhere(agent, 2);
    await before.request('ping');
    await agent.result('logging/setLevel', { level: 'error' });
    for (const at of [1, 2]) {
      await using there = await elsewhere(agent, at);
      const call = () => there.call('team.log', { level: 'info' });
      await expect.poll(async () => (await call()).logs).toEqual([]);
      expect((await there.call('team.log', { level: 'critical' })).logs).toHaveLength(1);
    }
  });

  it('is told at each replica that a list has changed, by that replica', async () => {
    await using agent = await session('alice');
    await using first = await agent.listen();
    await using there = await session('alice', 1);
    await using second = await there.listen();
    await team.untilListening();
    await team.addTool('new');
    await team.notify('tools');
    for (const stream of [first, second]) {
      await stream.next('notifications/tools/list_changed');
    }
  });
});

describe('a server with a connection for each user', () => {
  const pid = async (agent: Agent) => (await agent.call('own.whoami')).structured['pid'];

  it('is reached on the one that the user has, through whichever replica', async () => {
    const pids = new Set<unknown>();
    for (const at of [0, 1, 2]) {
      await using agent = await session('alice', at);
      pids.add(await pid(agent));
    }
    expect(pids.size).toBe(1);
    await using bob = await session('bob', 1);
    expect(pids.has(await pid(bob))).toBe(false);
  });

  it('asks, in a call through another replica, the client that made it', async () => {
    await using first = await session('alice');
    await pid(first);
    for (const at of [1, 2]) {
      await using agent = await session('alice', at, BY_HAND);
      const running = agent.begin('tools/call', { name: 'own.ask', arguments: {} });
      const asked = await question(running);
      await using there = await elsewhere(agent, (at + 1) % 3);
      await there.post(answerTo(asked));
      expect((await running.done).result).toMatchObject({
        structuredContent: { answers: [{ result: ELICITED }] },
      });
    }
  });

  it('tells of progress, and is told of a cancel, through another replica', async () => {
    await using first = await session('alice');
    await pid(first);
    await using agent = await session('alice', 1);
    const call = { name: 'own.progress', arguments: { steps: 2 } };
    const { messages } = await agent.begin('tools/call', call, { progressToken: 7 }).done;
    const tokens = messages.map(({ params }) => objectAt({ params }, 'params')?.['progressToken']);
    expect(tokens.filter((token) => token === 7)).toHaveLength(2);
    const mark = own.mark();
    const slow = agent.begin('tools/call', { name: 'own.slow', arguments: {} });
    await own.untilReceived('tools/call', undefined, { after: mark });
    await agent.cancel(slow);
    await own.untilReceived('notifications/cancelled', undefined, { after: mark });
    slow.abort();
  });

  it('parks a call of a modern client, which answers at another replica, and nobody else does', async () => {
    const modern = (person: Person, at: number) =>
      connectModern(url(at), { ...ABLE, headers: headersOf(person) });
    await using agent = await modern('alice', 0);
    const call = { name: 'own.ask', arguments: { tag: 'parked' } };
    const asked = await agent.result('tools/call', call);
    const [key = ''] = Object.keys(asked['inputRequests'] as JsonObject);
    const retry = { ...call, inputResponses: { [key]: ELICITED }, requestState: asked['requestState'] };
    await using bob = await modern('bob', 1);
    expect((await bob.request('tools/call', retry)).error?.code).toBe(-32602);
    await using there = await modern('alice', 1);
    expect(await there.result('tools/call', retry)).toMatchObject({
      structuredContent: { answers: [{ result: ELICITED }] },
    });
    // Answered once.
    await using third = await modern('alice', 2);
    expect((await third.request('tools/call', retry)).error?.code).toBe(-32602);
  });

  it('is opened by another replica when the one that had it is gone', async () => {
    await using agent = await session('bob', 1);
    const before = await pid(agent);
    // Whichever has it: the others start it anew.
    for (const replica of replicas.each) {
      await replica.restart();
    }
    await using there = await session('bob', 0);
    expect(await pid(there)).not.toBe(before);
  });
});
