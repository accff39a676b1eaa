import { createHash } from 'node:crypto';
import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../kit/gateway-process.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';

/** The page's files, and the feed of what happens, without a browser. */

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const OPERATOR = { authorization: 'Bearer the-key-of-ann' };
const OTHER = { authorization: 'Bearer the-key-of-bob' };

const scope = new AsyncDisposableStack();
let tickets: ScriptedHttp;
let gateway: StartedGateway;

const config = (groups: readonly string[] = ['ops']) => ({
  auth: {
    mode: 'keys',
    keys: [
      { id: 'ann', sha256: sha256('the-key-of-ann'), groups: ['ops'] },
      { id: 'bob', sha256: sha256('the-key-of-bob') },
    ],
  },
  operators: { groups },
  upstreams: { tickets: tickets.config },
});

beforeAll(async () => {
  tickets = scope.use(await startHttpUpstream({ id: 'tickets', tools: ['echo'], resources: ['note://one'] }));
  gateway = scope.use(await startGateway(config()));
  await gateway.gateway.settled();
});
afterAll(() => scope.disposeAsync());

/** The events of `/api/events`, one by one. */
async function follow(headers: Record<string, string> = OPERATOR) {
  const stop = new AbortController();
  const response = await fetch(`${gateway.origin}/api/events`, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: stop.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (event: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const found = new RegExp(`^data: (.*"event":"${event}".*)\n\n`, 'm').exec(text);
      if (found !== null) {
        text = text.slice(found.index + found[0].length);
        return JSON.parse(found[1] ?? '') as Record<string, unknown>;
      }
      const read = await reader?.read();
      if (read?.done !== false) {
        return { event: 'over' };
      }
      text += read.value;
    }
  };
  return { response, next, [Symbol.dispose]: () => stop.abort() };
}

describe('GET /ui/', () => {
  let program: GatewayProcess;
  beforeAll(async () => {
    // The page is a part of the program that is built, which no source has in it.
    program = scope.use(await startGatewayProcess({ upstreams: {} }));
  });
  const at = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, program.url), { redirect: 'manual', ...init });

  it('serves the page with a strict policy, its parts for good', async () => {
    const bare = await at('/ui');
    expect([bare.status, bare.headers.get('location')]).toEqual([308, 'ui/']);
    const index = await at('/ui/');
    const html = await index.text();
    expect(index.status).toBe(200);
    expect(index.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
    expect(index.headers.get('x-content-type-options')).toBe('nosniff');
    expect(html).not.toMatch(/<script(?![^>]* src=)|\son\w+=|style=/);
    const again = await at('/ui/', { headers: { 'if-none-match': index.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
    const parts = [...html.matchAll(/(?:src|href)="([^":]+)"/g)].map(([, part = '']) => part);
    expect(parts).toHaveLength(2);
    for (const part of parts) {
      for (const encoding of ['gzip', 'identity']) {
        const file = await at(`/ui/${part}`, { headers: { 'accept-encoding': encoding } });
        expect([part, file.status, file.headers.get('cache-control')]).toEqual([
          part,
          200,
          expect.stringContaining('immutable'),
        ]);
        expect((await file.text()).length).toBeLessThan(100_000);
      }
    }
  });

  it('serves nothing else, and to no other site', async () => {
    expect((await at('/ui/none.js')).status).toBe(404);
    expect((await at('/ui/__proto__')).status).toBe(404);
    const post = await at('/ui/', { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, OPTIONS']);
    expect((await at('/ui/', { headers: { origin: 'https://evil.example' } })).status).toBe(403);
    const rebound = await new Promise<number | undefined>((resolve, reject) => {
      get(`http://127.0.0.1:${program.port}/ui/`, { headers: { host: 'evil.example' } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
    expect(rebound).toBe(403);
  });

  it('is not there where it is off', async () => {
    await using off = await startGateway({ ui: { enabled: false }, upstreams: {} });
    expect((await fetch(`${off.origin}/ui/`)).status).toBe(404);
  });
});

describe('GET /api/events', () => {
  it.each([
    ['nobody', {}, 401],
    ['a user', OTHER, 403],
    ['another site', { ...OPERATOR, origin: 'https://evil.example' }, 403],
  ])('tells %s nothing', async (_, headers, status) => {
    using feed = await follow(headers);
    expect(feed.response.status).toBe(status);
  });

  it('tells of requests without what is in them, of catalogs, and of upstreams', async () => {
    using feed = await follow();
    await feed.next('begin');
    await using agent = await connectModern(gateway.url, { headers: OTHER });
    await agent.begin('tools/call', { name: 'tickets.echo', arguments: { word: 'private' } }).done;
    const call = await feed.next('call');
    expect(call).toMatchObject({
      method: 'tools/call',
      name: 'tickets.echo',
      upstream: 'tickets',
      outcome: 'ok',
      principal: 'bob',
    });
    expect(JSON.stringify(call)).not.toContain('private');
    await agent.begin('resources/read', { uri: 'note://user:word@host/one?secret=1#2' }).done;
    expect((await feed.next('call'))['name']).toBe('note://host/one');

    await tickets.untilListening();
    await tickets.addTool('more');
    await tickets.notify('tools');
    expect(await feed.next('catalog')).toMatchObject({ changes: ['tools'], upstreams: ['tickets'] });
    await tickets.kill();
    await agent.begin('tools/call', { name: 'tickets.echo' }).done;
    expect(await feed.next('upstream')).toMatchObject({
      id: 'tickets',
      state: expect.stringMatching(/backoff|connecting|broken/),
    });
    await tickets.restart();
  });

  it('ends for somebody who is no operator any more', async () => {
    using feed = await follow();
    await feed.next('begin');
    gateway.reload(config(['others']));
    await using agent = await connectModern(gateway.url, { headers: OTHER });
    await agent.begin('tools/list').done;
    expect(await feed.next('call')).toEqual({ event: 'over' });
    gateway.reload(config());
  });

  it('is for 32 at once', async () => {
    await using many = new AsyncDisposableStack();
    const feeds = await Promise.all(Array.from({ length: 32 }, () => follow()));
    for (const feed of feeds) {
      many.use(feed);
    }
    expect(feeds.map(({ response }) => response.status)).toEqual(feeds.map(() => 200));
    using beyond = await follow();
    expect(beyond.response.status).toBe(503);
    feeds[0]?.[Symbol.dispose]();
    await expect
      .poll(async () => {
        using feed = await follow();
        return feed.response.status;
      })
      .toBe(200);
  });
});
