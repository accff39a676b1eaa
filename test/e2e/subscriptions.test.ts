import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLOSED } from '../fixtures/upstreams/scripted-peer.ts';
import type { Agent, NoticeStream } from '../kit/agent.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

const X = 'u1://x';
const Y = 'u1://y';
const about = (uri: string) => (message: { method?: unknown; params?: unknown }) =>
  message.method === 'notifications/resources/updated' && (message.params as { uri?: unknown }).uri === uri;

describe.each(FILLINGS)('C-076: updates of resources of a $era upstream over $carrier', ({ era, start }) => {
  let up: ScriptedUpstream;
  let other: ScriptedUpstream;
  let gateway: StartedGateway;
  let legacy: Agent;
  let modern: Agent;
  let heardByLegacy: NoticeStream;

  beforeAll(async () => {
    up = await start({
      id: 'up',
      era,
      resources: [
        { uri: X, name: 'x' },
        { uri: Y, name: 'y' },
      ],
      capabilities: { resources: { subscribe: true, listChanged: true } },
    });
    other = await startHttpUpstream({
      id: 'other',
      resources: [{ uri: 'u2://z', name: 'z' }],
      capabilities: { resources: { listChanged: true } },
    });
    gateway = await startGateway({ upstreams: { up: up.config, other: other.config } });
    legacy = await connectLegacy(gateway.url);
    modern = await connectModern(gateway.url);
    await legacy.untilNames((names) => names.length === 3, 'resources');
    heardByLegacy = await legacy.listen();
  });

  afterAll(async () => {
    await legacy?.[Symbol.asyncDispose]();
    await modern?.[Symbol.asyncDispose]();
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
  });

  it('reach exactly the clients that watch them, and the upstream is asked once', async () => {
    expect(legacy.hello).toMatchObject({ capabilities: { resources: { subscribe: true } } });
    await legacy.result('resources/subscribe', { uri: X });
    await using heardByModern = await modern.listen({ uris: [X, Y, 'u1://nowhere'] });
    await using bystander = await modern.listen({ tools: true });
    expect(heardByModern.acknowledged).toMatchObject({ notifications: { resourceSubscriptions: [X, Y] } });
    await expect.poll(() => subscribed(up)).toEqual([X, Y]);
    await up.untilListening();
    await up.notify({ updated: X });
    await up.notify({ updated: Y });
    await heardByLegacy.next(about(X));
    await heardByModern.next(about(X));
    await heardByModern.next(about(Y));
    expect(heardByLegacy.count(about(Y))).toBe(0);
    expect(bystander.count((message) => message.method === 'notifications/resources/updated')).toBe(0);
  });

  it('are acknowledged as far as they are honoured, and so are the lists', async () => {
    const everything = { tools: true, prompts: true, resources: true };
    await using all = await modern.listen({ ...everything, uris: [Y, 'u1://nowhere', 'u2://z'] });
    expect(all.acknowledged?.['notifications']).toEqual({
      resourcesListChanged: true,
      resourceSubscriptions: [Y],
    });
    await using none = await modern.listen({ tools: true, uris: ['u1://nowhere'] });
    expect(none.acknowledged?.['notifications']).toEqual({});
  });

  it('end upstream when the last watcher has gone', async () => {
    await legacy.result('resources/unsubscribe', { uri: X });
    await expect.poll(() => subscribed(up)).toEqual([]);
  });

  it('are refused for a URI that nobody has, or whose server announces none', async () => {
    const { error } = await legacy.request('resources/subscribe', { uri: 'zz://1' });
    expect(error).toMatchObject({ code: -32002, data: { uri: 'zz://1' } });
    const unwatchable = await legacy.request('resources/subscribe', { uri: 'u2://z' });
    expect(unwatchable.error).toMatchObject({ code: -32601 });
  });
});

const uri = (at: number) => `u1://many/${at}`;
const uris = (from: number, count: number) => Array.from({ length: count }, (_, at) => uri(from + at));
const MANY = { templates: ['u1://many/{at}'], capabilities: { resources: { subscribe: true } } };

describe('very many resources that a session asks for', () => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await startStdioUpstream({ id: 'up', era: 'legacy', ...MANY });
    gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway.close();
    await up[Symbol.asyncDispose]();
  });

  it('a session watches 1,000 resources, and may go on when it lets go of one', async () => {
    // The version that has batches.
    await using agent = await connectLegacy(gateway.url, { version: '2025-03-26' });
    await agent.untilNames((names) => names.length === 1, 'templates');
    const ask = (at: number) => agent.request('resources/subscribe', { uri: uri(at) });
    for (let from = 0; from < 1_000; from += 50) {
      const batch = uris(from, 50).map((each, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'resources/subscribe',
        params: { uri: each },
      }));
      const { status } = await agent.post(batch, { 'mcp-session-id': agent.sessionId ?? '' });
      expect(status).toBe(200);
    }
    expect((await ask(1_000)).error).toMatchObject({ code: -32602 });
    await expect.poll(() => subscribed(up).length).toBe(1_000);
    await agent.result('resources/unsubscribe', { uri: uri(0) });
    expect((await ask(1_000)).result).toEqual({});
    await agent.http('DELETE').done;
    await expect.poll(() => subscribed(up)).toEqual([]);
  });
});

describe('very many resources that streams ask for', () => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await startHttpUpstream({ id: 'up', era: 'modern', ...MANY });
    gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway.close();
    await up[Symbol.asyncDispose]();
  });

  it('cost a modern server one stream, not one for each', async () => {
    await using agent = await connectModern(gateway.url);
    await using _stream = await agent.listen({ uris: uris(0, 1_000) });
    await expect.poll(() => subscribed(up).length).toBe(1_000);
    expect(up.count('subscriptions/listen')).toBeLessThan(4);
  });

  it('a stream is acknowledged for 1,000, a user gets 10,000 in all, and gets on when a stream ends', async () => {
    await using agent = await connectModern(gateway.url);
    const streams: NoticeStream[] = [];
    for (let at = 0; at < 10; at += 1) {
      streams.push(await agent.listen({ uris: uris(at * 1_000, 1_001) }));
    }
    expect(streams[0]?.acknowledged?.['notifications']).toEqual({ resourceSubscriptions: uris(0, 1_000) });
    const { error, status } = await agent.request('subscriptions/listen', {
      notifications: { resourceSubscriptions: [uri(0)] },
    });
    expect(status).toBe(429);
    expect(error?.message).toContain('10000 resources');
    await using legacy = await connectLegacy(gateway.url);
    expect((await legacy.request('resources/subscribe', { uri: uri(0) })).status).toBe(429);
    await expect.poll(() => subscribed(up).length).toBe(10_000);
    await streams.pop()?.close();
    await expect
      .poll(async () => (await legacy.request('resources/subscribe', { uri: uri(0) })).status)
      .toBe(200);
    for (const stream of streams) {
      await stream.close();
    }
  });
});

/** The URIs that the upstream is asked to watch now, as its record tells. */
function subscribed(up: ScriptedUpstream): readonly string[] {
  const uris = new Map<unknown, readonly string[]>();
  for (const { method, id, params } of up.received) {
    if (method === 'resources/subscribe') {
      uris.set(params.uri, [String(params.uri)]);
    } else if (method === 'resources/unsubscribe') {
      uris.delete(params.uri);
    } else if (method === 'subscriptions/listen') {
      uris.set(
        id,
        (params.notifications as { resourceSubscriptions?: string[] }).resourceSubscriptions ?? [],
      );
    } else if (method === CLOSED || method === 'notifications/cancelled') {
      uris.delete(params.requestId);
    }
  }
  return [...uris.values()].flat().toSorted();
}
