import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

const offers: Script = {
  tools: ['ask', 'echo'],
  prompts: ['p'],
  resources: ['note://x'],
  templates: ['t://{x}'],
};

/** Servers by what they say of their lists; the last one is of the era that has no hints. */
const SERVERS: Readonly<Record<string, Script>> = {
  lasting: { ...offers, era: 'modern', hints: { ttlMs: 300_000, cacheScope: 'public' } },
  short: { ...offers, era: 'modern', hints: { ttlMs: 30_000, cacheScope: 'public' } },
  personal: { ...offers, era: 'modern', hints: { ttlMs: 60_000, cacheScope: 'private' } },
  stale: { ...offers, era: 'modern', hints: { ttlMs: 0, cacheScope: 'public' } },
  negative: { ...offers, era: 'modern', hints: { ttlMs: -5, cacheScope: 'public' } },
  odd: { ...offers, era: 'modern', hints: { ttlMs: 1_000, cacheScope: 'everybody' } },
  silent: { ...offers, era: 'modern', hints: { ttlMs: null, cacheScope: null } },
  old: { ...offers, era: 'legacy' },
};

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];

describe('C-053: cache hints', () => {
  let ups: Map<string, ScriptedUpstream>;

  beforeAll(async () => {
    const started = Object.entries(SERVERS).map(
      async ([id, script]) => [id, await startHttpUpstream({ ...script, id })] as const,
    );
    ups = new Map(await Promise.all(started));
  });

  afterAll(() => Promise.all([...(ups ?? new Map()).values()].map((up) => up[Symbol.asyncDispose]())));

  async function inFrontOf(...ids: string[]): Promise<StartedGateway> {
    const upstreams = Object.fromEntries(ids.map((id) => [id, ups.get(id)?.config]));
    const gateway = await startGateway({ upstreams });
    await gateway.gateway.settled();
    return gateway;
  }

  it.each([
    { ids: ['lasting'], most: 60_000, least: 1, scope: 'public' },
    { ids: ['short'], most: 30_000, least: 1, scope: 'public' },
    { ids: ['personal'], most: 60_000, least: 1, scope: 'private' },
    { ids: ['stale'], most: 0, least: 0, scope: 'public' },
    { ids: ['negative'], most: 0, least: 0, scope: 'public' },
    { ids: ['odd'], most: 1_000, least: 0, scope: 'private' },
    { ids: ['silent'], most: 0, least: 0, scope: 'private' },
    { ids: ['old'], most: 0, least: 0, scope: 'private' },
    { ids: ['lasting', 'short'], most: 30_000, least: 1, scope: 'public' },
    { ids: ['lasting', 'personal'], most: 60_000, least: 1, scope: 'private' },
    { ids: ['short', 'stale'], most: 0, least: 0, scope: 'public' },
    { ids: ['lasting', 'old'], most: 0, least: 0, scope: 'private' },
    { ids: ['lasting', 'short', 'personal', 'odd'], most: 1_000, least: 0, scope: 'private' },
  ])('of $ids merged: the least time, the most private scope', async ({ ids, most, least, scope }) => {
    await using gateway = await inFrontOf(...ids);
    await using agent = await connectModern(gateway.url);
    for (const list of LISTS) {
      const { ttlMs, cacheScope } = await agent.result(list);
      expect([typeof ttlMs, cacheScope], list).toEqual(['number', scope]);
      expect(ttlMs, list).toBeGreaterThanOrEqual(least);
      expect(ttlMs, list).toBeLessThanOrEqual(most);
    }
  });

  it('are the same on every page of one list', async () => {
    await using gateway = await startGateway({
      lists: { pageSize: 1 },
      upstreams: { lasting: ups.get('lasting')?.config, personal: ups.get('personal')?.config },
    });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    const scopes: unknown[] = [];
    for (let cursor: unknown; ; ) {
      const page: JsonObject = await agent.result('tools/list', cursor === undefined ? {} : { cursor });
      scopes.push(page['cacheScope']);
      cursor = page['nextCursor'];
      if (cursor === undefined) {
        break;
      }
    }
    expect(scopes).toEqual(['private', 'private', 'private', 'private']);
  });

  it('stand beside every result that can be kept, valid, and beside no other', async () => {
    await using gateway = await inFrontOf(...Object.keys(SERVERS));
    await using agent = await connectModern(gateway.url, { capabilities: { elicitation: {} } });
    const hints = { ttlMs: expect.any(Number), cacheScope: expect.stringMatching(/^(?:public|private)$/) };
    expect(await agent.result('server/discover')).toMatchObject(hints);
    for (const uri of [
      'note://x',
      ...Object.keys(SERVERS)
        .slice(1)
        .map((id) => `note://${id}!x`),
    ]) {
      const read = await agent.result('resources/read', { uri });
      expect(read, uri).toMatchObject(hints);
      expect(read['ttlMs'], uri).toBeGreaterThanOrEqual(0);
      expect(read['ttlMs'], uri).toBeLessThanOrEqual(60_000);
    }
    const unfinished = await agent.result('tools/call', { name: 'lasting.ask', arguments: {} });
    expect(unfinished['resultType']).toBe('input_required');
    for (const result of [
      unfinished,
      await agent.result('tools/call', { name: 'lasting.echo', arguments: {} }),
      await agent.result('prompts/get', { name: 'lasting.p' }),
    ]) {
      expect(result).not.toHaveProperty('ttlMs');
      expect(result).not.toHaveProperty('cacheScope');
    }
  });

  it('are kept from a legacy client', async () => {
    await using gateway = await inFrontOf('lasting', 'personal');
    await using agent = await connectLegacy(gateway.url);
    for (const list of LISTS) {
      expect(Object.keys(await agent.result(list))).toHaveLength(1);
    }
    expect(Object.keys(await agent.result('resources/read', { uri: 'note://x' }))).toEqual(['contents']);
  });
});
