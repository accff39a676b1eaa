import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { type GatewayConfig, type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { type ScriptedStdio, startStdioUpstream } from '../kit/stdio-upstream.ts';

const SUBSCRIBE = { capabilities: { resources: { subscribe: true, listChanged: true } } };

let files: ScriptedStdio;
let web: ScriptedHttp;
let other: ScriptedHttp;
let gateway: StartedGateway;

beforeAll(async () => {
  files = await startStdioUpstream({
    id: 'files',
    tools: ['read', 'slow'],
    resources: ['file:///a'],
    ...SUBSCRIBE,
  });
  web = await startHttpUpstream({ id: 'web', era: 'modern', tools: ['get', 'slow'] });
  other = await startHttpUpstream({ id: 'other', era: 'legacy', tools: ['say', 'slow'], prompts: ['hi'] });
});

afterAll(async () => {
  await files?.[Symbol.asyncDispose]();
  await web?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
});

/** What every configuration here begins with. */
function config(upstreams: GatewayConfig['upstreams'], more: Record<string, unknown> = {}): GatewayConfig {
  return { shutdown: { grace: '5s' }, changes: { debounce: 0 }, ...more, upstreams };
}

async function started(first: GatewayConfig): Promise<StartedGateway> {
  gateway = await startGateway(first);
  await gateway.gateway.settled();
  return gateway;
}

describe.each(AGENTS)('for a $era client', ({ connect }) => {
  it('C-084, C-021: what is added appears, what is removed goes, each with one notice, and nothing else is touched', async () => {
    await using gateway = await started(config({ files: files.config, web: web.config }));
    const starts = files.starts;
    await using agent = await connect(gateway.url);
    await using stream = await agent.listen();
    const told = () => stream.count('notifications/tools/list_changed');

    gateway.reload(config({ files: files.config, web: web.config, other: other.config }));
    await stream.next('notifications/tools/list_changed');
    expect(await agent.names()).toEqual([
      'files.read',
      'files.slow',
      'web.get',
      'web.slow',
      'other.say',
      'other.slow',
    ]);
    expect(await agent.names('prompts')).toEqual(['other.hi']);
    expect(gateway.gateway.readiness()).toMatchObject({
      ready: true,
      upstreams: { other: { state: 'ready' } },
    });

    const before = told();
    gateway.reload(config({ other: other.config, files: files.config }));
    await stream.next('notifications/tools/list_changed');
    expect(await agent.names()).toEqual(['other.say', 'other.slow', 'files.read', 'files.slow']);
    expect(told()).toBe(before + 1);
    expect(Object.keys(gateway.gateway.readiness().upstreams)).toEqual(['other', 'files']);
    expect((await agent.call('web.get')).text).toMatch(/^\[web\] This tool is not offered/);
    expect(files.starts).toBe(starts);
    expect((await agent.call('files.read')).result['isError']).not.toBe(true);
  });

  it('C-084: a call at what is removed gets the grace; one that outlasts it ends with an error that says so', async () => {
    await using gateway = await started(
      config({ web: web.config, other: other.config }, { shutdown: { grace: '150ms' } }),
    );
    await using agent = await connect(gateway.url);
    const seen = [web.mark(), other.mark()] as const;
    const quick = agent.begin('tools/call', { name: 'web.slow', arguments: {} });
    const long = agent.begin('tools/call', { name: 'other.slow', arguments: {} });
    await web.untilReceived('tools/call', undefined, { after: seen[0] });
    await other.untilReceived('tools/call', undefined, { after: seen[1] });
    gateway.reload(config({}, { shutdown: { grace: '150ms' } }));
    await web.release('slow');
    expect((await quick.done).result).toMatchObject({ structuredContent: { done: true } });
    const ended = (await long.done).result;
    expect(ended).toMatchObject({ isError: true });
    expect(JSON.stringify(ended)).toMatch(/\[other\] The server was taken out of the configuration/);
    await gateway.gateway.replaced();
    await other.release('slow');
  });

  it('C-084, C-032: a changed upstream is replaced when its successor can answer; a call at the old one ends there', async () => {
    await using gateway = await started(config({ files: files.config, web: web.config }));
    await using agent = await connect(gateway.url);
    await using stream = await agent.listen({ tools: true, uris: ['file:///a'] });
    const [starts, seen] = [files.starts, files.mark()];
    const running = agent.begin('tools/call', { name: 'files.slow', arguments: {} });
    await files.untilReceived('tools/call', undefined, { after: seen });
    const [old = 0] = files.pids.slice(-1);

    const env = { ...(files.config['env'] as Record<string, string>), EXTRA: '1' };
    const reloaded = files.mark();
    const diff = gateway.reload(config({ files: { ...files.config, env }, web: web.config }));
    expect(diff).toMatchObject({ upstreams: { restarted: ['files'], changed: [], added: [], removed: [] } });
    await files.untilStarted(starts + 1);
    // Until the new one can answer, the old one does.
    expect((await agent.call('files.read')).result['isError']).not.toBe(true);
    await files.untilReceived(
      ['resources/subscribe', 'subscriptions/listen'],
      (entry) => JSON.stringify(entry).includes('file:///a'),
      { after: reloaded },
    );
    await files.release('slow');
    expect((await running.done).result).toMatchObject({ structuredContent: { done: true } });
    await gateway.gateway.replaced();
    expect(files.pids).not.toContain(old);
    expect(files.pids).toHaveLength(1);
    // What was watched at the old one is watched at the new one.
    await files.notify({ updated: 'file:///a' });
    await stream.next('notifications/resources/updated');
    expect(stream.count('notifications/tools/list_changed')).toBe(0);
  });

  it('an upstream that cannot be reached by its new settings takes its place all the same, and says why', async () => {
    await using gateway = await started(config({ web: web.config, other: other.config }));
    await using agent = await connect(gateway.url);
    gateway.reload(config({ web: { url: 'http://127.0.0.1:1/mcp' }, other: other.config }));
    await gateway.gateway.replaced();
    expect(gateway.gateway.readiness().upstreams['web']?.lastError).toMatch(/UPSTREAM_DOWN/);
    const { result } = await agent.request('tools/call', { name: 'web.get', arguments: {} });
    expect(result).toMatchObject({ isError: true });
    expect((await agent.call('other.say')).result['isError']).not.toBe(true);
    gateway.reload(config({ web: web.config, other: other.config }));
    await gateway.gateway.replaced();
    expect((await agent.call('web.get')).result['isError']).not.toBe(true);
  });

  it('what can change while an upstream runs does not start it anew: names, tools, order, and keys of the gateway', async () => {
    await using gateway = await started(
      config({ files: files.config, web: web.config }, { instructions: 'Before.' }),
    );
    const [starts, seen] = [files.starts, web.mark()];
    await using agent = await connect(gateway.url);
    const changed = config(
      {
        web: { ...web.config, tools: { deny: ['slow'], rename: { get: 'fetch' } } },
        files: { ...files.config, namespace: 'docs', instructions: false },
      },
      { naming: { separator: '-' }, instructions: 'After.', lists: { pageSize: 1, maxTtl: '5s' } },
    );
    expect(gateway.reload(changed)).toEqual({
      upstreams: { added: [], removed: [], restarted: [], changed: ['web', 'files'] },
      changed: ['instructions', 'naming.separator', 'lists.pageSize', 'lists.maxTtl', 'upstreams (order)'],
      needRestart: [],
    });
    // At once: nothing has to be read for it.
    expect(await agent.names()).toEqual(['web-fetch', 'docs-read', 'docs-slow']);
    expect((await agent.call('web.slow')).text).toMatch(/^\[web\] This tool is not offered/);
    expect((await agent.call('web-fetch')).result['isError']).not.toBe(true);
    await using late = await connect(gateway.url);
    expect(String(late.hello['instructions'])).toContain('After.');
    const greetings = web.received.slice(seen).filter(({ method }) => method === 'server/discover');
    expect([files.starts, greetings.length]).toEqual([starts, 0]);
    gateway.reload(config({ files: files.config, web: web.config }, { instructions: 'Before.' }));
    expect(await agent.names()).toEqual(['files.read', 'files.slow', 'web.get', 'web.slow']);
  });

  it('50 reloads under load disturb neither calls nor streams nor sessions of what they do not touch', async () => {
    await using gateway = await started(config({ web: web.config, files: files.config }));
    await using agent = await connect(gateway.url);
    await using stream = await agent.listen({ tools: true, uris: ['file:///a'] });
    const [starts, seen] = [files.starts, files.mark()];
    const running = agent.begin('tools/call', { name: 'files.slow', arguments: {} });
    await files.untilReceived('tools/call', undefined, { after: seen });
    const failed: unknown[] = [];
    let [over, calls] = [false, 0];
    const load = async () => {
      while (!over) {
        const { result, error } = await agent.request('tools/call', { name: 'files.read', arguments: {} });
        calls += 1;
        if (error !== undefined || result?.['isError'] === true) {
          failed.push(error ?? result);
        }
        // Steady, not as fast as can be.
        await pause(5);
      }
    };
    const loads = [load(), load()];
    for (let round = 0; round < 50; round += 1) {
      // Others come, change and go; what is looked at is left alone.
      const headers = { 'x-round': String(round) };
      gateway.reload(
        config({
          ...(round % 3 === 0 ? {} : { web: { ...web.config, headers } }),
          files: files.config,
          ...(round % 2 === 0 ? {} : { other: other.config }),
        }),
      );
      await agent.request('tools/list');
    }
    gateway.reload(config({ web: web.config, files: files.config }));
    over = true;
    await Promise.all(loads);
    await gateway.gateway.replaced();
    expect(failed).toEqual([]);
    expect(calls).toBeGreaterThan(20);
    await files.release('slow');
    expect((await running.done).result).toMatchObject({ structuredContent: { done: true } });
    await files.notify({ updated: 'file:///a' });
    await stream.next('notifications/resources/updated');
    expect(files.starts).toBe(starts);
    expect(Object.keys(gateway.gateway.readiness().upstreams)).toEqual(['web', 'files']);
    await agent.untilNames((names) => names.includes('web.get') && !names.includes('other.say'));
  });
});

describe('the configuration of a running gateway', () => {
  it('names what needs a restart, and keeps it', async () => {
    await using gateway = await started(config({ web: web.config }));
    const { needRestart } = gateway.reload(
      config({ web: web.config }, { name: 'another', limits: { maxBodyBytes: '1KiB', cacheBytes: '1KiB' } }),
    );
    expect(needRestart).toEqual(['name', 'limits.maxBodyBytes', 'limits.cacheBytes']);
    expect(gateway.gateway.readiness().config).toMatchObject({ status: 'ok', needRestart });
    const answer = await fetch(`${gateway.origin}/readyz`);
    expect(await answer.json()).toMatchObject({ config: { status: 'ok', needRestart } });
    gateway.reload(config({ web: web.config }));
    expect(gateway.gateway.readiness().config.needRestart).toEqual([]);
  });

  it('is not replaced by one that would be open to everybody before the next start', async () => {
    const keys = [{ id: 'ci', sha256: '0'.repeat(64) }];
    const open = { listen: { host: '0.0.0.0' }, auth: { mode: 'keys', keys } };
    await using gateway = await started(config({ web: web.config }, open));
    expect(() => gateway.reload(config({ web: web.config }))).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
    const { status } = await fetch(gateway.url, { method: 'POST' });
    expect(status).toBe(401);
  });
});
