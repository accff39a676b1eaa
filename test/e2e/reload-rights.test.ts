import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectAt } from '../../src/base/json.ts';
import type { Agent, NoticeStream } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { type GatewayConfig, type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { authFor, connectAs, headersOf, type Person } from './access-world.ts';

const LIST_CHANGED = 'notifications/tools/list_changed';
const ENG: Person = { groups: ['eng'] };
const OPS: Person = { groups: ['ops'] };

let web: ScriptedHttp;

beforeAll(async () => {
  web = await startHttpUpstream({
    id: 'web',
    tools: ['get', 'put', 'slow'],
    resources: ['web://a', 'web://b'],
    capabilities: { resources: { subscribe: true, listChanged: true } },
  });
});

afterAll(() => web?.[Symbol.asyncDispose]());

/** `ann` is of eng and `bob` of ops, unless it is said otherwise; rules are `who: what they may use`. */
function config(
  rules: Readonly<Record<string, readonly string[]>>,
  more: Record<string, unknown> = {},
): GatewayConfig {
  const access = Object.entries(rules).map(([group, allow]) => ({ who: { groups: [group] }, allow }));
  return {
    auth: authFor({ ann: ENG, bob: OPS }),
    access,
    changes: { debounce: 0 },
    ...more,
    upstreams: { web: web.config },
  };
}

const WIDE = { eng: ['web.*', 'resource:web.*'], ops: ['web.*', 'resource:web.*'] };

async function started(first: GatewayConfig): Promise<StartedGateway> {
  const gateway = await startGateway(first);
  await gateway.gateway.settled();
  return gateway;
}

describe.each(AGENTS)('for a $era client', ({ connect, era }) => {
  let scope: AsyncDisposableStack;
  const open = async (gateway: StartedGateway, id: string): Promise<readonly [Agent, NoticeStream]> => {
    const agent = scope.use(await connectAs(connect, id, gateway.url));
    const stream = scope.use(
      await agent.listen({ tools: true, resources: true, uris: ['web://a', 'web://b'] }),
    );
    return [agent, stream];
  };
  /** Whether a stream still lives is seen by what it is told. */
  const hears = async (stream: NoticeStream) => {
    await web.notify({ updated: 'web://b' });
    await stream.next('notifications/resources/updated');
  };

  beforeAll(() => {
    scope = new AsyncDisposableStack();
  });
  afterAll(() => scope?.disposeAsync());

  it('new rules hold at once, for lists, calls and what is watched, and whoever sees something else is told, and nobody else', async () => {
    await using gateway = await started(config(WIDE));
    const [ann, annHears] = await open(gateway, 'ann');
    const [bob, bobHears] = await open(gateway, 'bob');
    await web.untilListening();
    gateway.reload(config({ ...WIDE, eng: ['web.get', 'resource:web.web://b'] }));
    await annHears.next(LIST_CHANGED);
    expect(await ann.names()).toEqual(['web.get']);
    const { error } = await ann.request('tools/call', { name: 'web.put', arguments: {} });
    expect(error).toMatchObject({ code: -32602 });
    expect(await bob.names()).toEqual(['web.get', 'web.put', 'web.slow']);
    await web.notify({ updated: 'web://a' });
    await bobHears.next('notifications/resources/updated');
    await hears(annHears);
    const updates = annHears.all.filter(({ method }) => method === 'notifications/resources/updated');
    expect(updates.map(({ params }) => objectAt({ params }, 'params')?.['uri'])).toEqual(['web://b']);
    expect(bobHears.count(LIST_CHANGED)).toBe(0);
    expect(annHears.count(LIST_CHANGED)).toBe(1);
    // The order of words in the file, or a rule that changes nothing for anybody, is no news.
    gateway.reload(config({ nobody: ['*'], ...WIDE, eng: ['web.get', 'resource:web.web://b'] }));
    gateway.reload(config(WIDE));
    await annHears.next(LIST_CHANGED);
    expect(await ann.names()).toEqual(['web.get', 'web.put', 'web.slow']);
    expect(bobHears.count(LIST_CHANGED)).toBe(0);
  });

  it('whoever has another group has other rights, on the stream that was open', async () => {
    await using gateway = await started(config({ ...WIDE, eng: ['web.get', 'resource:*'] }));
    const [ann, annHears] = await open(gateway, 'ann');
    expect(await ann.names()).toEqual(['web.get']);
    const auth = authFor({ ann: OPS, bob: OPS });
    gateway.reload(config({ ...WIDE, eng: ['web.get', 'resource:*'] }, { auth }));
    await annHears.next(LIST_CHANGED);
    expect(await ann.names()).toEqual(['web.get', 'web.put', 'web.slow']);
    await web.addTool('extra');
    await web.notify('tools');
    await annHears.next(LIST_CHANGED);
    expect(await ann.names()).toContain('web.extra');
    await web.setTools(['get', 'put', 'slow']);
    await web.notify('tools');
  });

  it('a key that went away is refused, and its streams end; those of others go on', async () => {
    await using gateway = await started(config(WIDE));
    const [ann, annHears] = await open(gateway, 'ann');
    const [bob, bobHears] = await open(gateway, 'bob');
    gateway.reload(config(WIDE, { auth: authFor({ bob: OPS }) }));
    const { messages } = await annHears.closed;
    if (era === 'modern') {
      // Gracefully: with the result of the request that opened it.
      expect(messages.at(-1)).toMatchObject({ result: { resultType: 'complete' } });
    }
    expect((await ann.request('tools/list')).status).toBe(401);
    expect(await bob.names()).toHaveLength(3);
    await hears(bobHears);
    // The same name with another key is somebody else.
    const [other] = (authFor({ eve: ENG })['keys'] as { sha256: string }[]).map(({ sha256 }) => sha256);
    const keys = [{ id: 'bob', sha256: other, groups: ['ops'] }];
    gateway.reload(config(WIDE, { auth: { mode: 'keys', keys } }));
    await bobHears.closed;
    expect((await bob.request('tools/list')).status).toBe(401);
    gateway.reload(config(WIDE));
    expect(await bob.names()).toHaveLength(3);
    expect(await ann.names()).toHaveLength(3);
  });

  it('a view that went away ends its streams; one that changed tells whoever looks through it', async () => {
    const views = (include: readonly string[]) => ({ views: { slim: { include } } });
    await using gateway = await started(config(WIDE, views(['web.get'])));
    const at = `${gateway.origin}/mcp/slim`;
    const agent = scope.use(await connectAs(connect, 'ann', at));
    const stream = scope.use(await agent.listen({ tools: true }));
    const [whole, wholeHears] = await open(gateway, 'ann');
    gateway.reload(config(WIDE, views(['web.get', 'web.put'])));
    await stream.next(LIST_CHANGED);
    expect(await agent.names()).toEqual(['web.get', 'web.put']);
    gateway.reload(config(WIDE));
    await stream.closed;
    expect((await agent.request('tools/list')).status).toBe(404);
    expect(await whole.names()).toHaveLength(3);
    await hears(wholeHears);
    expect(wholeHears.count(LIST_CHANGED)).toBe(0);
  });

  it('sessions outlive it, and a call under way keeps the rights that it began with', async () => {
    await using gateway = await started(config(WIDE));
    const [ann] = await open(gateway, 'ann');
    const seen = web.mark();
    const running = ann.begin('tools/call', { name: 'web.slow', arguments: {} });
    await web.untilReceived('tools/call', undefined, { after: seen });
    gateway.reload(config({ eng: ['web.get'] }, { sessions: { idle: '1m' } }));
    await web.release('slow');
    expect((await running.done).result).toMatchObject({ structuredContent: { done: true } });
    expect(await ann.names()).toEqual(['web.get']);
    const { error } = await ann.request('tools/call', { name: 'web.slow', arguments: {} });
    expect(error).toMatchObject({ code: -32602 });
  });

  it('the way to sign in can be another one, and limits of users too', async () => {
    await using gateway = await started(config({}, { auth: { mode: 'none' } }));
    const stranger = scope.use(await connect(gateway.url));
    const stream = scope.use(await stranger.listen({ tools: true }));
    gateway.reload(config({}));
    await stream.closed;
    expect((await stranger.request('tools/list')).status).toBe(401);
    const perPrincipal = { requestsPerSecond: 1, burst: 0 };
    gateway.reload(config({}, { limits: { perPrincipal } }));
    const ask = () =>
      fetch(gateway.url, {
        method: 'POST',
        headers: {
          ...headersOf('ann'),
          'content-type': 'application/json',
          accept: '*/*',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/list',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/list',
          params: {
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          },
        }),
      });
    const statuses = (await Promise.all([ask(), ask(), ask()])).map(({ status }) => status);
    expect(statuses).toContain(429);
    gateway.reload(config({}));
    expect((await Promise.all([ask(), ask(), ask()])).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
