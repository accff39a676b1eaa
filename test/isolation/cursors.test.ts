import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KIND_FACTS, type Kind } from '../../src/protocol/model.ts';
import { told } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { REPLICAS } from './replicas.ts';
import { startWorld, type World } from './world.ts';

describe('cursors', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld(['team', 'mine'], { config: { lists: { pageSize: 1 } } });
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  describe.each(AGENTS)('of a $era client', ({ connect }) => {
    const first = async (agent: Agent, kind: Kind = 'tools') => {
      const { nextCursor } = await agent.result(KIND_FACTS[kind].list);
      expect(nextCursor).toBeTypeOf('string');
      return String(nextCursor);
    };

    it.each(['', '/team', '/near', '/mine'])('at /mcp%s are of no use to anybody else', async (path) => {
      await using alice = await world.as('alice', connect, path);
      const cursor = await first(alice);
      for (const thief of ['amy', 'bob'] as const) {
        await using agent = await world.as(thief, connect, path);
        await agent.names();
        const stolen = await agent.request('tools/list', { cursor });
        const forged = await agent.request('tools/list', { cursor: 'made up' });
        expect(told(stolen, cursor)).toBe(told(forged, 'made up'));
        expect(stolen.error?.code).toBe(-32602);
      }
      expect(await alice.result('tools/list', { cursor })).toHaveProperty('tools');
    });

    it('are of no use to their owner either, at another entrance or for another list', async () => {
      await using alice = await world.as('alice', connect);
      const cursor = await first(alice);
      for (const path of ['/near', '/mine', '/team', '?names=strict']) {
        await using there = await world.as('alice', connect, path);
        await there.names();
        expect((await there.request('tools/list', { cursor })).error?.code, path).toBe(-32602);
      }
      expect((await alice.request('prompts/list', { cursor })).error?.code).toBe(-32602);
    });

    it('are of no use to anybody after a restart of the gateway, but to whom they are of at a replica', async () => {
      await using alice = await world.as('alice', connect, '/team');
      await using amy = await world.as('amy', connect, '/team');
      const cursor = await first(alice);
      await world.gateway.restart();
      await world.gateway.gateway.settled();
      expect((await amy.request('tools/list', { cursor })).error?.code).toBe(-32602);
      const { error, result } = await alice.request('tools/list', { cursor });
      // Where there are others, any of them goes on, and one that has just started is one of them.
      expect(REPLICAS === 1 ? error?.code : result).toEqual(
        REPLICAS === 1 ? -32602 : expect.objectContaining({ tools: expect.anything() as unknown }),
      );
    });
  });

  it('nobody has ever received anything of somebody else', () => {
    const { alice, amy } = world.sweep();
    expect(alice).toEqual(expect.arrayContaining(['team tool', 'mine tool']));
    expect(amy).toEqual(expect.arrayContaining(['team tool', 'mine tool']));
  });
});

describe.each(AGENTS)(
  'of $era clients, where all have one catalog and only rules differ,',
  ({ connect, era }) => {
    it('cursors are of no use to anybody else, and lists nobody else’s to keep', async () => {
      await using world = await startWorld(['team'], { config: { lists: { pageSize: 1 } } });
      await using alice = await world.as('alice', connect);
      const { nextCursor, cacheScope } = await alice.result('tools/list');
      const cursor = String(nextCursor);
      expect(cacheScope).toBe(era === 'modern' ? 'private' : undefined);
      // Amy's rights are the same; who she is differs.
      for (const thief of ['amy', 'bob'] as const) {
        await using agent = await world.as(thief, connect);
        const stolen = await agent.request('tools/list', { cursor });
        expect(told(stolen, cursor)).toBe(
          told(await agent.request('tools/list', { cursor: 'made up' }), 'made up'),
        );
        expect(stolen.error?.code).toBe(-32602);
      }
      expect(await alice.result('tools/list', { cursor })).toHaveProperty('tools');
      world.sweep();
    });
  },
);
