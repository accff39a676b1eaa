import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { authFor, headersOf } from '../e2e/access-world.ts';
import { startFaultProxy } from '../kit/faults.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { metricValue, readMetrics } from '../kit/prometheus.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { describeWith } from './describe-with.ts';
import { type Program, startRedis } from './programs.ts';

const OWN = ['search_tools', 'describe_tools', 'call_tool'];
const PEOPLE = { alice: {}, bob: {} };

/** Gateways that share a Redis: what a user found at one is in that user's list at the others (`mode: progressive`). */
describeWith(['redis-server'], 'what has joined a list', () => {
  const scope = new AsyncDisposableStack();
  const sealingKey = randomBytes(32).toString('base64');
  let redis: Program;
  let talk: ScriptedUpstream;

  beforeAll(async () => {
    redis = scope.use(await startRedis());
    const tools = ['echo', 'whoami', 'progress'];
    talk = scope.use(
      await startHttpUpstream({ id: 'talk', tools, hints: { ttlMs: 60_000, cacheScope: 'public' } }),
    );
  });
  afterAll(() => scope.disposeAsync());

  async function replica(port = redis.port, key = sealingKey): Promise<StartedGateway> {
    const started = scope.use(
      await startGateway({
        sealingKey: key,
        metrics: { public: true },
        state: { type: 'redis', url: `redis://127.0.0.1:${port}`, prefix: 'joined' },
        auth: authFor(PEOPLE),
        views: { default: { mode: 'progressive', found: { most: 8 } } },
        upstreams: { talk: talk.config },
      }),
    );
    await started.gateway.settled();
    await expect.poll(() => started.gateway.readiness().state?.status).toBe('ok');
    return started;
  }
  const as = ({ url }: StartedGateway, user: keyof typeof PEOPLE) =>
    connectModern(url, { headers: headersOf(user) });
  const find = async (at: StartedGateway, user: keyof typeof PEOPLE, ...names: readonly string[]) => {
    await using agent = await as(at, user);
    await agent.call('describe_tools', { names });
  };
  const metric = async ({ origin }: StartedGateway, name: string, labels = {}) =>
    metricValue(readMetrics(await (await fetch(`${origin}/metrics`)).text()), name, labels);
  const joined = async (at: StartedGateway, user: keyof typeof PEOPLE) => {
    await using agent = await as(at, user);
    return (await agent.names()).filter((name) => !OWN.includes(name));
  };

  it('is known to those that heard of it, to those that start later, and to nobody else’s list', async () => {
    const [one, two] = [await replica(), await replica()];
    await using listener = await as(two, 'alice');
    const notices = await listener.listen();
    await find(one, 'alice', 'talk.progress', 'talk.echo');
    await notices.next('notifications/tools/list_changed');
    expect(await joined(two, 'alice')).toEqual(['talk.progress', 'talk.echo']);
    const later = await replica();
    expect(await joined(later, 'alice')).toEqual(['talk.progress', 'talk.echo']);
    for (const each of [one, two, later]) {
      expect(await joined(each, 'bob')).toEqual([]);
    }
  });

  it('is known to each alone where they cannot reach what they share, and to all when they can again', async () => {
    const proxy = scope.use(await startFaultProxy(redis.port));
    const [one, cut] = [await replica(), await replica(proxy.port)];
    expect(await joined(cut, 'bob')).toEqual([]);
    proxy.blackhole();
    await expect.poll(() => cut.gateway.readiness().state?.status).toBe('down');
    expect([await metric(one, 'patchbay_state_up'), await metric(cut, 'patchbay_state_up')]).toEqual([1, 0]);
    await find(one, 'bob', 'talk.whoami');
    await find(cut, 'bob', 'talk.echo');
    expect(await joined(cut, 'bob')).toEqual(['talk.echo']);
    expect(await joined(one, 'bob')).toEqual(['talk.whoami']);
    proxy.heal();
    await expect.poll(() => cut.gateway.readiness().state?.status).toBe('ok');
    expect((await joined(cut, 'bob')).toSorted()).toEqual(['talk.echo', 'talk.whoami']);
  });

  it('is not told by whoever has another sealing key, which the metrics show', async () => {
    const [one, other] = [await replica(), await replica(redis.port, randomBytes(32).toString('base64'))];
    const forged = () => metric(one, 'patchbay_state_messages_refused_total', { reason: 'forged' });
    await find(other, 'alice', 'talk.whoami');
    await expect.poll(forged).toBeGreaterThan(0);
  });
});
