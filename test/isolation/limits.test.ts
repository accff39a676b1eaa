import { describe, expect, it } from 'vitest';
import { headersOf } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { secretsIn } from './secrets.ts';
import { startWorld } from './world.ts';

describe.each(AGENTS)(
  'what one user takes is not taken from another, of $era clients:',
  ({ connect, era }) => {
    const open = (agent: Agent) =>
      era === 'modern'
        ? agent.begin('subscriptions/listen', { notifications: { toolsListChanged: true } })
        : agent.http('GET', { accept: 'text/event-stream' });

    it('requests in a second', async () => {
      const config = { limits: { perPrincipal: { requestsPerSecond: 1, burst: 3 } } };
      await using world = await startWorld(['team'], { config });
      await using alice = await world.as('alice', connect);
      await using bob = await world.as('bob', connect);
      const statuses = [];
      for (let asked = 0; asked < 12; asked += 1) {
        statuses.push((await alice.request('tools/list')).status);
      }
      expect(statuses).toContain(429);
      expect((await bob.request('tools/list')).status).toBe(200);
      world.sweep();
    });

    it('requests at once, and streams', async () => {
      const config = { limits: { perPrincipal: { concurrency: 2, streams: 1 } } };
      await using world = await startWorld(['team', 'mine'], { config });
      await using alice = await world.as('alice', connect);
      await using bob = await world.as('bob', connect);
      const slow = () => alice.begin('tools/call', { name: 'mine.slow', arguments: {} });
      const held = [slow(), slow()];
      await world.server('mine', 'alice').untilReceived('tools/call', undefined, { times: 2 });
      expect((await alice.request('tools/list')).status).toBe(429);
      expect((await bob.request('tools/list')).status).toBe(200);
      await world.server('mine', 'alice').release('slow');
      await Promise.all(held.map(({ done }) => done));
      const hers = open(alice);
      expect((await hers.opened).status).toBe(200);
      const his = open(bob);
      expect((await his.opened).status).toBe(200);
      const second = open(alice);
      expect((await second.opened).status).toBe(429);
      for (const each of [hers, his, second]) {
        each.abort();
      }
      world.sweep();
    });
  },
);

describe('/readyz', () => {
  it('says what stands behind the gateway to operators alone, and nothing of what is in it to anybody', async () => {
    await using world = await startWorld(['team', 'mine', 'reds']);
    const [{ connect }] = AGENTS as [(typeof AGENTS)[number]];
    await using alice = await world.as('alice', connect);
    await alice.names();
    const ready = async (headers: Record<string, string>) =>
      (await fetch(`${world.gateway.origin}/readyz`, { headers })).text();
    const little = JSON.stringify({ status: 'ready' });
    expect(await ready({})).toBe(little);
    expect(await ready(headersOf('alice'))).toBe(little);
    expect(await ready(headersOf('bob'))).toBe(little);
    const whole = await ready(headersOf('ops'));
    expect(Object.keys(JSON.parse(whole).upstreams)).toEqual(['team', 'mine', 'reds']);
    expect(secretsIn(whole).size).toBe(0);
    world.sweep();
  });
});
