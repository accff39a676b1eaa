import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { authFor, connectAs } from './access-world.ts';

const PEOPLE = { ann: {}, bob: {} };
const HOLD = 'until released';

function start(upstream: ScriptedUpstream, perPrincipal: JsonObject): Promise<StartedGateway> {
  return startGateway({
    auth: authFor(PEOPLE),
    limits: { perPrincipal },
    upstreams: { up: upstream.config },
  });
}

describe.each(AGENTS)('limits of one user, for a $era client', ({ era, connect }) => {
  let upstream: ScriptedUpstream;

  beforeAll(async () => {
    upstream = await startHttpUpstream({
      id: 'up',
      tools: ['first', 'quick'],
      faults: [{ on: 'tools/call', times: 1, do: { hold: HOLD } }],
    });
  });
  afterAll(async () => {
    await upstream[Symbol.asyncDispose]();
  });

  it('are 429 with Retry-After and an error that says so, and no other user feels them', async () => {
    await using gateway = await start(upstream, { requestsPerSecond: 1, burst: 2 });
    await gateway.gateway.settled();
    await using ann = await connectAs(connect, 'ann', gateway.url);
    await using bob = await connectAs(connect, 'bob', gateway.url);
    const answers = [];
    for (let asked = 0; asked < 20; asked += 1) {
      answers.push(await ann.request('tools/list'));
    }
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, error } of refused) {
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('wait') });
      expect(objectAt(error, 'data')?.['retryAfterMs']).toBeTypeOf('number');
    }
    expect((await bob.request('tools/list')).status).toBe(200);
  });

  it('bound what is under way at once, and give the place back with the answer', async () => {
    await using gateway = await start(upstream, { concurrency: 1 });
    await gateway.gateway.settled();
    await using ann = await connectAs(connect, 'ann', gateway.url);
    await using bob = await connectAs(connect, 'bob', gateway.url);
    const held = ann.begin('tools/call', { name: 'up.first', arguments: {} });
    await upstream.untilReceived('tools/call');
    const refused = await ann.request('tools/call', { name: 'up.quick', arguments: {} });
    expect(refused).toMatchObject({ status: 429, error: { code: -32603 } });
    expect((await bob.request('tools/call', { name: 'up.quick', arguments: {} })).status).toBe(200);
    await expect.poll(() => upstream.release(HOLD)).toBe(1);
    expect((await held.done).status).toBe(200);
    expect((await ann.request('tools/call', { name: 'up.quick', arguments: {} })).status).toBe(200);
  });

  it('bound open streams, and give the place back when one closes', async () => {
    await using gateway = await start(upstream, { streams: 1 });
    await gateway.gateway.settled();
    await using ann = await connectAs(connect, 'ann', gateway.url);
    await using bob = await connectAs(connect, 'bob', gateway.url);
    /** Begins a long-lived stream in the way of the era. */
    const open = (agent: Agent) =>
      era === 'modern'
        ? agent.begin('subscriptions/listen', { notifications: { toolsListChanged: true } })
        : agent.http('GET', { accept: 'text/event-stream' });
    const first = open(ann);
    expect((await first.opened).status).toBe(200);
    expect(await open(ann).done).toMatchObject({ status: 429, error: { code: -32603 } });
    const others = open(bob);
    expect((await others.opened).status).toBe(200);
    first.abort();
    await expect
      .poll(async () => {
        const again = open(ann);
        const { status } = await again.opened;
        again.abort();
        return status;
      })
      .toBe(200);
    others.abort();
  });
});
