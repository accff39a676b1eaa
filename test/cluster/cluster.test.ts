import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { authFor, headersOf } from '../e2e/access-world.ts';
import type { Agent, AgentOptions } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { describeWith } from './describe-with.ts';
import { startLoad } from './load.ts';

/** Three processes, a real Redis, and nginx that sends each request to the next one. */

const TASKS = 'io.modelcontextprotocol/tasks';
const ELICITED = { action: 'accept', content: { name: 'Ada' } };
const ABLE = { capabilities: { elicitation: { form: {} }, extensions: { [TASKS]: {} } } };
const BY_HAND = { answers: { 'elicitation/create': () => new Promise<JsonObject>(() => {}) } };
/** Requests that one user may make in a second. */
const RATE = 40;
const CROWD = ['dan', 'dia', 'don', 'dot', 'dov', 'dua'] as const;
const PEOPLE = ['ann', 'ben', 'cem', 'eve', ...CROWD] as const;
type Person = (typeof PEOPLE)[number];

describeWith(['redis-server', 'nginx'], 'a cluster of three', () => {
  const scope = new AsyncDisposableStack();
  let cluster: Cluster;
  let team: ScriptedUpstream;

  beforeAll(async () => {
    team = scope.use(await startHttpUpstream({ id: 'team', tools: ['echo'] }));
    const own = scope.use(await startStdioUpstream({ id: 'own', era: 'legacy', tools: ['ask', 'whoami'] }));
    const jobs = scope.use(await startStdioUpstream({ id: 'jobs', ...TASK_SERVER }));
    cluster = scope.use(
      await startCluster(3, {
        listen: { allowedHosts: ['127.0.0.1'] },
        auth: authFor({ ...Object.fromEntries(PEOPLE.map((id) => [id, {}])), ops: { groups: ['ops'] } }),
        operators: { groups: ['ops'] },
        limits: { perPrincipal: { requestsPerSecond: RATE } },
        upstreams: { team: team.config, own: { ...own.config, isolation: 'user' }, jobs: jobs.config },
      }),
    );
  });
  afterAll(() => scope.disposeAsync());

  const as = (person: Person, more: AgentOptions = {}) => ({ ...ABLE, ...more, headers: headersOf(person) });
  /** The session of that agent at one replica, past the balancer. */
  const at = (index: number, { sessionId = '', version }: Agent, person: Person) =>
    connectLegacy(`http://127.0.0.1:${cluster.replicas[index]?.port}/mcp`, {
      greet: false,
      headers: { ...headersOf(person), 'mcp-session-id': sessionId, 'mcp-protocol-version': version },
    });
  const states = () => Promise.all(cluster.replicas.map((each) => each.state()));
  const untilReached = (status: string) =>
    expect
      .poll(async () => (await states()).map(({ state }) => state?.status), { timeout: 20_000 })
      .toEqual([status, status, status]);

  it.each(AGENTS)('serves a $era client at every replica', async ({ connect }) => {
    await using agent = await connect(cluster.url, as('ann'));
    const replicas = new Set<string | undefined>();
    for (let n = 0; n < 6; n += 1) {
      const { answer, structured } = await agent.call('team.echo', { n });
      expect(structured).toEqual({ n });
      replicas.add(answer.headers['x-replica']);
    }
    expect(replicas.size).toBe(3);
  });

  it('tells streams at every replica that a list has changed', async () => {
    await using scope = new AsyncDisposableStack();
    const agents = await Promise.all(
      Array.from({ length: 3 }, (_, n) => (n === 0 ? connectModern : connectLegacy)(cluster.url, as('ann'))),
    );
    const streams = await Promise.all(
      agents.map(async (agent) => scope.use(await scope.use(agent).listen())),
    );
    await team.untilListening({ times: 3 });
    await team.addTool('new');
    await team.notify('tools');
    await Promise.all(streams.map((stream) => stream.next('notifications/tools/list_changed')));
  });

  it('carries a question of a child process to its client, and the answer back, through any replica', async () => {
    await using agent = await connectLegacy(cluster.url, as('ann', BY_HAND));
    const pids = new Set<unknown>();
    for (let n = 0; n < 3; n += 1) {
      const running = agent.begin('tools/call', { name: 'own.ask', arguments: {} });
      const { id } = await running.next('elicitation/create');
      const headers = { 'mcp-session-id': agent.sessionId ?? '' };
      const answered = await agent.post({ jsonrpc: '2.0', id, result: ELICITED }, headers);
      expect(answered.status).toBe(202);
      const called = await running.done;
      expect(answered.headers['x-replica']).not.toBe(called.headers['x-replica']);
      expect(called.result).toMatchObject({ structuredContent: { answers: [{ result: ELICITED }] } });
      pids.add((await agent.call('own.whoami')).structured['pid']);
    }
    expect(pids.size).toBe(1);
  });

  it('goes on at any replica with a call of a modern client that waits for its answer', async () => {
    await using agent = await connectModern(cluster.url, as('ben'));
    const call = { name: 'own.ask', arguments: {} };
    const asked = await agent.result('tools/call', call);
    const [key = ''] = Object.keys(asked['inputRequests'] as JsonObject);
    const retry = { ...call, inputResponses: { [key]: ELICITED }, requestState: asked['requestState'] };
    expect(await agent.result('tools/call', retry)).toMatchObject({
      structuredContent: { answers: [{ result: ELICITED }] },
    });
  });

  it('knows a task of a child process at any replica', async () => {
    await using agent = await connectModern(cluster.url, as('ben'));
    const { taskId } = await agent.result('tools/call', { name: 'jobs.job', arguments: {} });
    for (let n = 0; n < 3; n += 1) {
      const headers = { 'mcp-name': String(taskId) };
      expect(await agent.result('tasks/get', { taskId }, { headers })).toMatchObject({
        taskId,
        status: 'completed',
      });
    }
  });

  it('counts the requests of a user once', async () => {
    await using agent = await connectModern(cluster.url, { ...as('cem'), greet: false });
    const since = performance.now();
    const answers = await Promise.all(Array.from({ length: 5 * RATE }, () => agent.request('tools/list')));
    // Each begun second may have seen as many.
    const seconds = Math.ceil((performance.now() - since) / 1_000) + 1;
    const served = answers.filter(({ status }) => status === 200).length;
    expect(served).toBeGreaterThanOrEqual(RATE);
    expect(served).toBeLessThanOrEqual(RATE * seconds);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  });

  it('ends a session everywhere', async () => {
    await using agent = await connectLegacy(cluster.url, as('ann'));
    expect((await agent.http('DELETE').done).status).toBe(204);
    for (const index of [0, 1, 2]) {
      await using there = await at(index, agent, 'ann');
      await expect.poll(async () => (await there.request('ping')).status).toBe(404);
    }
  });

  it('loses with a replica that is killed only what was under way there', async () => {
    const load = await startLoad(
      cluster.url,
      'team.echo',
      CROWD.map((person) => as(person)),
    );
    await load.untilServed(30);
    const [first] = cluster.replicas;
    await first?.stop('SIGKILL');
    await load.untilServed(60);
    await first?.start();
    await load.untilServed(60);
    await load.stop();
    // One call of each client is under way, and a third of them there.
    expect(load.failed.length).toBeLessThanOrEqual(6);
    for (const failure of load.failed) {
      expect(failure).toMatch(/ 502 |socket hang up|ECONNRESET/);
    }
  });

  it('is rolled without a failed request', async () => {
    const load = await startLoad(
      cluster.url,
      'team.echo',
      CROWD.map((person) => as(person)),
    );
    for (const replica of cluster.replicas) {
      await cluster.balance(cluster.replicas.filter((other) => other !== replica));
      await load.untilServed(20);
      await replica.stop('SIGTERM');
      await replica.start();
      await cluster.balance(cluster.replicas);
      await load.untilServed(20);
    }
    await load.stop();
    expect(load.failed).toEqual([]);
  });

  it('serves on without Redis, says so, and tells the others afterwards what happened meanwhile', async () => {
    await using agent = await connectLegacy(cluster.url, as('eve'));
    const load = await startLoad(
      cluster.url,
      'team.echo',
      CROWD.map((person) => as(person)),
    );
    await load.untilServed(20);
    await cluster.redis.kill();
    await untilReached('down');
    expect((await states()).map(({ code, status }) => ({ code, status }))).toEqual(
      Array.from({ length: 3 }, () => ({ code: 200, status: 'degraded' })),
    );
    await load.untilServed(60);
    await using there = await at(0, agent, 'eve');
    expect((await there.http('DELETE').done).status).toBe(204);
    await cluster.redis.again();
    await untilReached('ok');
    for (const index of [0, 1, 2]) {
      await using ended = await at(index, agent, 'eve');
      await expect.poll(async () => (await ended.request('ping')).status).toBe(404);
    }
    await load.untilServed(20);
    await load.stop();
    expect(load.failed).toEqual([]);
  });

  it('has a replica go on alone that is cut off from Redis, and takes it back', async () => {
    await using agent = await connectLegacy(cluster.url, as('eve'));
    const load = await startLoad(
      cluster.url,
      'team.echo',
      CROWD.map((person) => as(person)),
    );
    cluster.link.blackhole();
    await expect
      .poll(async () => (await states()).map(({ state }) => state?.status))
      .toEqual(['ok', 'ok', 'down']);
    await load.untilServed(30);
    await using there = await at(0, agent, 'eve');
    await there.http('DELETE').done;
    await using cutOff = await at(2, agent, 'eve');
    // It cannot know.
    expect((await cutOff.request('ping')).status).toBe(200);
    cluster.link.heal();
    await untilReached('ok');
    await expect.poll(async () => (await cutOff.request('ping')).status).toBe(404);
    await load.stop();
    expect(load.failed).toEqual([]);
  });
});

const NOW = '2026-11-30T00:00:00Z';
const task = (more: JsonObject) => ({
  taskId: 'task-1',
  createdAt: NOW,
  lastUpdatedAt: NOW,
  ttlMs: 60_000,
  pollIntervalMs: 250,
  ...more,
});
/** A server that makes a task of every call. */
const TASK_SERVER = {
  era: 'modern' as const,
  tools: ['job'],
  capabilities: { extensions: { [TASKS]: {} } },
  calls: { job: { does: 'raw' as const, result: task({ resultType: 'task', status: 'working' }) } },
  methods: { 'tasks/get': task({ status: 'completed', result: { content: [] } }) },
};
