import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { toolDefinitions } from '../bench/tools.ts';
import type { Agent } from '../kit/agent.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { type Work, workOf } from './work.ts';

const HINTS = { ttlMs: 600_000, cacheScope: 'public' };
const CALLS = 40;
/** What the gateway does once by itself, such as to read a list again when its server listens, is not in all of them. */
const RUNS = 3;

async function callRepeatedly(agent: Agent): Promise<void> {
  for (let call = 0; call < CALLS; call += 1) {
    await agent.call('big.echo', { text: 'again' });
  }
}

/** What calls of one tool take, once everything that is made at the first of them is there. */
async function workOfCalls(tools: number): Promise<number> {
  await using upstream = await startHttpUpstream({ id: 'big', tools: toolDefinitions(tools), hints: HINTS });
  await using gateway = await startGateway({ upstreams: { big: upstream.config } });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.length === tools);
  await agent.call('big.echo', { text: 'first' });
  const runs: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    runs.push(ofTheCalls(await workOf(() => callRepeatedly(agent))));
  }
  return Math.min(...runs);
}

/** A new catalog is judged by and by, beside whatever else there is to do; that is no part of a call. */
function ofTheCalls(work: Work): number {
  const counted = [...work].filter(([name]) => /^(?:front|relay|access|catalog|upstream)\//.test(name));
  return counted.reduce((sum, [, count]) => sum + count, 0);
}

it('does the same for a call among 5,000 tools as among 20', async () => {
  const few = await workOfCalls(20);
  const many = await workOfCalls(5_000);
  expect(few).toBeGreaterThan(CALLS * 50);
  // A timer of the gateway's own may run meanwhile; a walk over the catalog would be thousands for each call.
  expect(Math.abs(many - few)).toBeLessThan(CALLS * 20);
});

it('judges, names and writes anew of a long list what has changed in it', async () => {
  const tools = toolDefinitions(200);
  await using upstream = await startHttpUpstream({ id: 'big', tools, hints: HINTS });
  await using gateway = await startGateway({ upstreams: { big: upstream.config } });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.length === 200);
  await upstream.untilListening();
  const work = await workOf(async () => {
    await upstream.setTools([...tools.slice(1), { ...tools[0], name: 'novelty' }]);
    await upstream.notify('tools');
    await agent.untilNames((names) => names.includes('big.novelty'));
  });
  const ran = (name: string) => [...work].filter(([each]) => each.endsWith(name)).map(([, count]) => count);
  for (const name of [
    'repair.ts:judge',
    'bounds.ts:measure',
    'param-headers.ts:declaredHeaders',
    ':encodeItem',
  ]) {
    // Blocks of a function count as well as the function.
    expect(Math.max(0, ...ran(name)), name).toBeGreaterThan(0);
    expect(Math.max(0, ...ran(name)), name).toBeLessThan(150);
  }
});

it('merges nothing again for one more user who sees the same', async () => {
  const users = ['ann', 'bob', 'eve'];
  await using upstream = await startHttpUpstream({ id: 'big', tools: toolDefinitions(200), hints: HINTS });
  await using gateway = await startGateway({
    auth: {
      mode: 'keys',
      keys: users.map((id) => ({
        id,
        sha256: createHash('sha256').update(`key-of-${id}`).digest('hex'),
        groups: [id === 'eve' ? 'guests' : 'staff'],
      })),
    },
    access: [
      { who: { groups: ['staff'] }, allow: ['big.*'], deny: ['big.find_orders_7'] },
      { who: { groups: ['guests'] }, allow: ['big.echo'] },
    ],
    upstreams: { big: upstream.config },
  });
  const listAs = (user: string) =>
    workOf(async () => {
      await using agent = await connectModern(gateway.url, {
        headers: { authorization: `Bearer key-of-${user}` },
      });
      const names = await agent.untilNames((listed) => listed.length > 0);
      expect(names.includes('big.find_orders_7')).toBe(false);
    });
  const merges = (work: Work) =>
    [...work].filter(([name]) => MERGING.some((each) => name.endsWith(each))).map(([name]) => name);
  await gateway.gateway.settled();
  expect(merges(await listAs('ann'))).toContain('catalog/view.ts:filtered');
  expect(merges(await listAs('bob'))).toEqual([]);
  // The counting itself: whoever sees something else needs a view of their own.
  expect(merges(await listAs('eve'))).toContain('catalog/view.ts:filtered');
});

/** What makes a catalog, a view of one, or the texts of its items. */
const MERGING = [':buildCatalog', 'view.ts:createView', 'view.ts:filtered', ':encodeItem'];
