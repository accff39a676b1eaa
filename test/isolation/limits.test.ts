import { describe, expect, it } from 'vitest';
import { headersOf } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { share } from './replicas.ts';
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
      const config = { limits: { perPrincipal: { concurrency: share(4), streams: share(2) } } };
      await using world = await startWorld(['team', 'mine'], { config });
      await using alice = await world.as('alice', connect);
      await using bob = await world.as('bob', connect);
      const slow = () => alice.begin('tools/call', { name: 'mine.slow', arguments: {} });
      const held = [slow(), slow(), slow(), slow()];
      await world.server('mine', 'alice').untilReceived('tools/call', undefined, { times: 4 });
      expect((await alice.request('tools/list')).status).toBe(429);
      expect((await bob.request('tools/list')).status).toBe(200);
      await world.server('mine', 'alice').release('slow');
      await Promise.all(held.map(({ done }) => done));
      const hers = [open(alice), open(alice)];
      expect((await Promise.all(hers.map(({ opened }) => opened))).map(({ status }) => status)).toEqual([
        200, 200,
      ]);
      const his = open(bob);
      expect((await his.opened).status).toBe(200);
      const third = open(alice);
      expect((await third.opened).status).toBe(429);
      for (const each of [...hers, his, third]) {
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

describe('/api', () => {
  it('answers operators alone: nobody else is told anything, whatever they ask for and as whom', async () => {
    await using world = await startWorld(['team', 'mine']);
    const [{ connect }] = AGENTS as [(typeof AGENTS)[number]];
    await using alice = await world.as('alice', connect);
    const [name = ''] = await alice.names();
    const asked = async (path: string, headers: Record<string, string>) => {
      const response = await fetch(`${world.gateway.origin}/api/${path}`, { headers });
      return { status: response.status, text: await response.text() };
    };
    const explain = `explain?name=${encodeURIComponent(name)}`;
    for (const path of ['status', 'config', 'catalog', 'catalog?as=alice', explain, `${explain}&as=alice`]) {
      const nobody = await asked(path, {});
      const bob = await asked(path, headersOf('bob'));
      const herself = await asked(path, headersOf('alice'));
      expect([path, nobody.status, bob.status, herself.status]).toEqual([path, 401, 403, 403]);
      expect(bob.text).toBe(herself.text);
      expect(secretsIn(nobody.text + bob.text).size).toBe(0);
      expect((await asked(path, headersOf('ops'))).status).toBe(200);
    }
    expect(secretsIn((await asked('status', headersOf('ops'))).text).size).toBe(0);
    world.sweep();
  });
});
