import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { startFaultProxy } from '../kit/faults.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startGateway } from '../kit/start-gateway.ts';
import type { Script } from '../kit/upstream.ts';

const ERAS = [{ era: 'legacy' }, { era: 'modern' }] as const;
const restart = { base: '20ms', cap: '60ms' };

describe.each(ERAS)('C-046: connections of a $era upstream that died while idle', ({ era }) => {
  const script: Script = { id: 'up', era, tools: ['echo', 'never', 'slow'] };

  it.each(AGENTS)('are replaced: the next call of a $era client succeeds', async ({ connect }) => {
    await using up = await startHttpUpstream(script);
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
    await gateway.gateway.settled();
    await up.untilListening();
    await using agent = await connect(gateway.url);
    for (let n = 0; n < 5; n += 1) {
      expect((await agent.call('up.echo', { n })).structured).toEqual({ n });
      const after = up.mark();
      up.dropConnections();
      // Its stream of notices is among them, and is back once the gateway has noticed.
      await up.untilListening({ after });
    }
    expect((await agent.call('up.echo', { n: 9 })).structured).toEqual({ n: 9 });
    expect(up.count('tools/call')).toBe(6);
    expect(up.count('initialize')).toBe(era === 'legacy' ? 1 : 0);
  });

  it('are given up before a firewall forgets them', async () => {
    await using up = await startHttpUpstream({ ...script, http: { getStream: false } });
    await using proxy = await startFaultProxy(up.port);
    await using gateway = await startGateway({ upstreams: { up: { url: proxy.url('/mcp') } } });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    await agent.call('up.echo', { n: 1 });
    // The modern one keeps the connection of its listen stream, which is not idle.
    const kept = era === 'modern' ? 1 : 0;
    await expect.poll(() => proxy.open, { timeout: 15_000 }).toBe(kept);
    expect((await agent.call('up.echo', { n: 2 })).structured).toEqual({ n: 2 });
  });

  it('a call that runs into its limit ends alone: session and other calls go on', async () => {
    await using up = await startHttpUpstream(script);
    const timeouts = { call: '500ms' };
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, timeouts } } });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    const sessions = [...up.sessions];
    const never = agent.call('up.never');
    await up.untilReceived('tools/call');
    const answers = await Promise.all([1, 2, 3].map((n) => agent.call('up.echo', { n })));
    expect(answers.map(({ structured }) => structured)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect((await never).result).toMatchObject({ isError: true });
    expect((await agent.call('up.echo', { n: 4 })).structured).toEqual({ n: 4 });
    expect(up.sessions).toEqual(sessions);
    expect(up.count('initialize')).toBe(era === 'legacy' ? 1 : 0);
    expect(gateway.gateway.readiness().upstreams['up']?.state).toBe('ready');
  });

  it('a connection that is reset under a call loses that call, and says so; it is not repeated', async () => {
    await using up = await startHttpUpstream(script);
    await using proxy = await startFaultProxy(up.port);
    await using gateway = await startGateway({ upstreams: { up: { url: proxy.url('/mcp'), restart } } });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    const running = agent.call('up.slow');
    await up.untilReceived('tools/call');
    proxy.resetOnce();
    expect((await running).text).toMatch(/^\[up\] .*whether it took effect is unknown/);
    expect(up.count('tools/call')).toBe(1);
    await expect
      .poll(() => agent.call('up.echo', { n: 1 }).then(({ structured }) => structured), { timeout: 10_000 })
      .toEqual({ n: 1 });
  });
});

describe('C-048: servers of the old HTTP+SSE pair', () => {
  const only = (http: Script['http']): Script => ({
    id: 'up',
    era: 'legacy',
    tools: ['echo', 'slow'],
    http: { sse: 'only', ...http },
  });

  /** Passes everything on, but answers a POST to the address of the stream itself. */
  async function startDoor(port: number, answer: { status: number; type?: string; body?: string }) {
    const posts: string[] = [];
    const server = createServer(async (request, response) => {
      const { method = 'GET', url = '/' } = request;
      if (method === 'POST' && url.startsWith('/sse')) {
        posts.push(url);
        request.resume();
        response.writeHead(answer.status, answer.type === undefined ? {} : { 'content-type': answer.type });
        // A stream that was opened by mistake stays open.
        response.write(answer.body ?? ' ');
        if (answer.type === undefined) {
          response.end();
        }
        return;
      }
      const headers = request.headers as Record<string, string>;
      const body = method === 'POST' ? Buffer.concat(await Array.fromAsync(request)) : undefined;
      const gone = new AbortController();
      response.on('close', () => gone.abort());
      const init = {
        method,
        headers: { accept: headers['accept'] ?? '', 'content-type': 'application/json' },
      };
      try {
        const signal = gone.signal;
        const answered = await fetch(`http://127.0.0.1:${port}${url}`, {
          ...init,
          ...(body && { body }),
          signal,
        });
        response.writeHead(answered.status, Object.fromEntries(answered.headers));
        response.flushHeaders();
        for await (const chunk of answered.body ?? []) {
          response.write(chunk);
        }
        response.end();
      } catch {
        // One of the two has gone.
        response.destroy();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      url: (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
      posts,
      async [Symbol.asyncDispose]() {
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeAllConnections();
        await closed;
      },
    };
  }

  it.each([
    { title: 'relative', sseEndpoint: 'messages?sid={sid}', posted: /^\/base\/messages\?sid=[\w-]+$/ },
    {
      title: 'absolute path',
      sseEndpoint: '/base/messages?sid={sid}',
      posted: /^\/base\/messages\?sid=[\w-]+$/,
    },
    { title: 'query alone', sseEndpoint: '?sid={sid}', posted: /^\/base\/sse\?sid=[\w-]+$/ },
    { title: 'escapes kept', sseEndpoint: '/a%2Fb?x=%41&sid={sid}', posted: /^\/a%2Fb\?x=%41&sid=[\w-]+$/ },
  ])('are found by themselves, their endpoint resolved: $title', async ({ sseEndpoint, posted }) => {
    await using up = await startHttpUpstream(only({ ssePath: '/base/sse', sseEndpoint }));
    await using gateway = await startGateway({ upstreams: { up: { url: `${up.sseUrl}?key=1` } } });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    expect(await agent.untilNames((names) => names.length > 0)).toEqual(['up.echo', 'up.slow']);
    expect((await agent.call('up.echo', { n: 1 })).structured).toEqual({ n: 1 });
    const { path } = await up.untilReceived('initialize');
    expect(path).toMatch(posted);
    expect(up.received.find(({ method }) => method === '$GET')?.path).toBe('/base/sse?key=1');
  });

  it.each([
    { title: '404', answer: { status: 404 } },
    { title: '405', answer: { status: 405 } },
    { title: '400', answer: { status: 400 } },
    {
      title: '200 with an endpoint event',
      answer: {
        status: 200,
        type: 'text/event-stream',
        body: 'event: endpoint\ndata: /messages?sid=none\n\n',
      },
    },
  ])('are found where the first POST is answered $title', async ({ answer }) => {
    await using up = await startHttpUpstream(only({}));
    await using door = await startDoor(up.port, answer);
    await using gateway = await startGateway({ upstreams: { up: { url: door.url('/sse') } } });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    expect((await agent.call('up.echo', { n: 1 })).structured).toEqual({ n: 1 });
    expect(door.posts.length).toBeGreaterThan(0);
    expect(door.posts.length).toBeLessThanOrEqual(2);
  });

  it('an endpoint on another origin is refused, and nothing is sent there', async () => {
    await using stranger = await startHttpUpstream({ id: 'stranger' });
    const sseEndpoint = `${stranger.url}?sid={sid}`;
    await using up = await startHttpUpstream(only({ sseEndpoint }));
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
    await expect
      .poll(() => gateway.gateway.readiness().upstreams['up']?.lastError ?? '', { timeout: 10_000 })
      .toMatch(/^UPSTREAM_/);
    expect(stranger.received).toEqual([]);
    expect(gateway.gateway.readiness().upstreams['up']?.tools).toBe(0);
  });

  it('are asked by the new transport first, unless the configuration knows better', async () => {
    await using up = await startHttpUpstream(only({}));
    await using door = await startDoor(up.port, { status: 405 });
    await using gateway = await startGateway({
      upstreams: { up: { url: door.url('/sse'), transport: 'sse' } },
    });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    expect((await agent.call('up.echo', { n: 1 })).structured).toEqual({ n: 1 });
    expect(door.posts).toEqual([]);
  });

  it('are not tried at all where the configuration says streamable-http', async () => {
    await using up = await startHttpUpstream(only({}));
    await using gateway = await startGateway({
      upstreams: { up: { ...up.config, transport: 'streamable-http', restart } },
    });
    const status = () => gateway.gateway.readiness().upstreams['up'];
    await expect.poll(() => status()?.lastError ?? '', { timeout: 10_000 }).toMatch(/^UPSTREAM_/);
    const tries = () => gateway.logged.filter(({ retryInMs }) => retryInMs !== undefined).length;
    await expect.poll(tries, { timeout: 10_000 }).toBeGreaterThan(2);
    expect(up.count('$GET')).toBe(0);
    expect(status()).toMatchObject({ tools: 0 });
  });

  it.each(AGENTS)('a stream that breaks ends the calls of a $era client at once', async ({ connect }) => {
    await using up = await startHttpUpstream(only({}));
    const timeouts = { call: '10m', total: '10m' };
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, timeouts, restart } } });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    const running = [1, 2].map(() => agent.call('up.slow'));
    await up.untilReceived('tools/call', undefined, { times: 2 });
    up.dropStreams();
    for (const { result, text } of await Promise.all(running)) {
      expect(result).toMatchObject({ isError: true });
      expect(text).toMatch(/^\[up\] .*whether it took effect is unknown/);
    }
    await expect
      .poll(() => agent.call('up.echo', { n: 1 }).then(({ structured }) => structured), { timeout: 10_000 })
      .toEqual({ n: 1 });
  });
});
