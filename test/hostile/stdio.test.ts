import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent } from '../kit/agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { MIB, watch } from './watch.ts';

const CHILD = fileURLToPath(new URL('../fixtures/upstreams/hostile-child.mjs', import.meta.url));
/** The largest message, made small so that a flood is many times as much. */
const LARGEST = 16 * MIB;

describe('a hostile server over stdio', () => {
  let gateway: StartedGateway;
  let agent: Agent;

  beforeAll(async () => {
    const bad = { command: process.execPath, args: [CHILD], timeouts: { call: '60s' } };
    gateway = await startGateway({ upstreams: { bad } });
    await gateway.gateway.settled();
    agent = await connectModern(gateway.url);
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await gateway.close();
  });

  const call = (tool: string, args = {}) => watch(gateway, () => agent.call(`bad.${tool}`, args));
  const isAlive = async () => expect((await agent.call('bad.fine')).text).toBe('fine');

  it('that declares 100,000 extensions, and has a name of 1 MiB, is greeted for and listed', async () => {
    expect(JSON.stringify(agent.hello).length).toBeLessThan(10_000);
    expect(await agent.names()).toContain('bad.fine');
  });

  it('that writes 128 MiB to stderr', async () => {
    const { value, kept, peak, healthy } = await call('stderr');
    expect(value.text).toBe('done');
    expect(healthy).toBeGreaterThan(1);
    expect(kept).toBeLessThan(32 * MIB);
    expect(peak).toBeLessThan(6 * LARGEST);
  });

  it('that writes a line of 48 MiB, and one that has no end while its call waits', async () => {
    for (const tool of ['line', 'endless']) {
      const { value, kept, healthy } = await call(tool);
      expect(value.text).toMatch(tool === 'line' ? 'done' : 'larger than this gateway accepts');
      expect(healthy).toBeGreaterThan(1);
      expect(kept).toBeLessThan(2 * LARGEST);
    }
  });

  it('that writes what is no message: nested deeply, in millions of parts, in a batch without end', async () => {
    const { value, kept, healthy } = await call('noise');
    expect(value.text).toBe('done');
    expect(healthy).toBeGreaterThan(1);
    expect(kept).toBeLessThan(32 * MIB);
    await isAlive();
  });

  it.each(['deep', 'parts'])('whose result costs more than its length tells: %s', async (tool) => {
    const { value, healthy } = await call(tool);
    expect(value.result['isError']).toBe(true);
    expect(value.text).toContain('larger than this gateway accepts');
    expect(healthy).toBeGreaterThan(0);
    await isAlive();
  });

  it('whose result has 100,000 blocks: it is passed on whole', async () => {
    const { value, kept } = await call('items');
    expect(value.result['content']).toHaveLength(100_000);
    expect(kept).toBeLessThan(15 * LARGEST);
  });

  it('whose result links to more resources than can be looked up among its templates', async () => {
    const few = await call('links', { count: 15_000 });
    expect(few.value.result['content']).toHaveLength(15_000);
    const many = await call('links', { count: 100_000 });
    expect(many.value.text).toContain('larger than this gateway accepts');
    expect(few.healthy + many.healthy).toBeGreaterThan(0);
  });

  it('that asks without end and takes no answers', async () => {
    const { value, kept, healthy } = await call('pings');
    expect(Number(value.text)).toBeLessThan(2_000);
    expect(healthy).toBeGreaterThan(1);
    expect(kept).toBeLessThan(32 * MIB);
    expect(gateway.logged.some(({ msg }) => String(msg).includes('questions were dropped'))).toBe(true);
    await isAlive();
  });

  it('that announces changes by the ten thousand, to somebody who listens', async () => {
    await using stream = await agent.listen({ tools: true, uris: ['kept://a'] });
    const { value, kept, healthy } = await call('notices');
    expect(value.text).toBe('done');
    expect(healthy).toBeGreaterThan(1);
    // Most of it are the lines that this test's log keeps.
    expect(kept).toBeLessThan(64 * MIB);
    expect(stream.all.length).toBeLessThan(2_000);
    // What changed is not lost in the flood: of the whole, if not of each part.
    const told = stream.all.map((message) => JSON.stringify(message));
    expect(told.some((message) => message.includes('"kept://a"'))).toBe(true);
  });

  it('that reports 40,000 steps of progress: a few of them arrive', async () => {
    const { value, healthy } = await watch(gateway, () =>
      agent.call('bad.progress', {}, { progressToken: 7, meta: { [META.logLevel]: 'info' } }),
    );
    expect(value.text).toBe('done');
    expect(value.progress.length).toBeLessThan(2_000);
    expect(healthy).toBeGreaterThan(1);
  });
});
