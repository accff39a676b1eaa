import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { FaultAction } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { Script } from '../kit/upstream.ts';

const ERAS = [{ era: 'legacy' }, { era: 'modern' }] as const;
const restart = { base: '20ms', cap: '60ms' };
const HTML = '<!doctype html><title>Sign in to canary-page</title><form action="/login">';

const statusOf = (gateway: StartedGateway, id = 'up') => gateway.gateway.readiness().upstreams[id];
const echo = (agent: Agent, n: number) => agent.request('tools/call', { name: 'up.echo', arguments: { n } });
const served = (n: number) => ({ result: { structuredContent: { n } } });

interface Canned {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * A reverse proxy in front of an upstream that answers some requests itself. Without a port it has no upstream and
 * answers 404 to the rest. `jsonType` is the content type that its JSON goes by; null: none.
 */
async function startDoor(
  port: number | undefined,
  own: (request: IncomingMessage) => Canned | undefined,
  jsonType: string | null = 'application/json',
) {
  const answered: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    const canned = own(request) ?? (port === undefined ? { status: 404 } : undefined);
    if (canned !== undefined) {
      request.resume();
      request.on('end', () => response.writeHead(canned.status, canned.headers).end(canned.body));
      answered.push(request);
      return;
    }
    const { method, headers, url } = request;
    const passed = httpRequest({ host: '127.0.0.1', port, path: url, method, headers }, (answer) => {
      const { 'content-type': type, ...others } = answer.headers;
      const shown = type === 'application/json' ? jsonType : type;
      const named = shown === undefined || shown === null ? {} : { 'content-type': shown };
      response.writeHead(answer.statusCode ?? 500, { ...others, ...named });
      response.flushHeaders();
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Requests that it answered itself. */
    answered,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

describe('C-042: the stream of notices of an upstream is refused', () => {
  it.each([
    { title: '405', do: { status: 405, headers: { allow: 'POST' }, body: '' } },
    { title: '404', do: { status: 404, body: 'Not found' } },
    { title: '406', do: { status: 406, body: '' } },
    { title: '200 with JSON', do: { status: 200, body: { ok: true } } },
    { title: '200 with HTML', do: { status: 200, headers: { 'content-type': 'text/html' }, body: HTML } },
    { title: '204', do: { status: 204, body: '' } },
  ])('with $title: everything else works, and it is not asked again and again', async (fault) => {
    const faults = [{ on: '$GET', do: fault.do }];
    await using up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['echo'], faults });
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    for (let n = 0; n < 20; n += 1) {
      expect(await echo(agent, n)).toMatchObject(served(n));
    }
    expect(up.count('$GET')).toBeLessThanOrEqual(2);
    expect(up.count('initialize')).toBe(1);
    expect(statusOf(gateway)).toMatchObject({ state: 'ready', tools: 1 });
  });
});

describe.each(ERAS)('C-043: redirects of a $era upstream', ({ era }) => {
  const script: Script = { id: 'up', era, tools: ['echo'], http: { path: '/mcp/', bearer: 'own-secret' } };
  const headers = { Authorization: 'Bearer own-secret' };
  const notSlash = (request: IncomingMessage) => request.url === '/mcp';

  it.each([307, 308, 301, 302])(
    '%i to /mcp/ is followed with method, body and headers, and remembered',
    async (status) => {
      await using up = await startHttpUpstream(script);
      await using door = await startDoor(up.port, (request) =>
        notSlash(request) ? { status, headers: { location: '/mcp/' } } : undefined,
      );
      await using gateway = await startGateway({ upstreams: { up: { url: `${door.origin}/mcp`, headers } } });
      await using agent = await connectModern(gateway.url);
      await agent.untilNames((names) => names.length > 0);
      const before = door.answered.length;
      for (const n of [1, 2, 3]) {
        expect(await echo(agent, n)).toMatchObject(served(n));
      }
      expect(door.answered.length).toBe(before);
      expect(before).toBeGreaterThan(0);
    },
  );

  it('to another origin, an inner address or in circles are refused, and nothing is sent there', async () => {
    const wanted: IncomingMessage[] = [];
    await using elsewhere = await startDoor(undefined, (request) => {
      wanted.push(request);
      return { status: 200 };
    });
    const targets: Readonly<Record<string, string>> = {
      other: `${elsewhere.origin}/mcp/`,
      inner: 'http://169.254.169.254/latest/meta-data',
      scheme: 'https://127.0.0.1:1/mcp',
      circle: '/again',
      nowhere: '',
    };
    const asked: string[] = [];
    await using door = await startDoor(undefined, ({ url = '' }) => {
      asked.push(url);
      const location = url === '/again' ? '/again' : (targets[url.slice(1)] ?? '');
      return { status: 307, headers: { location } };
    });
    const slow = { base: '10m', cap: '10m' };
    const entry = (id: string) => [id, { url: `${door.origin}/${id}`, headers, restart: slow }] as const;
    await using gateway = await startGateway({
      upstreams: Object.fromEntries(Object.keys(targets).map(entry)),
    });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    for (const id of Object.keys(targets)) {
      expect(statusOf(gateway, id)?.lastError, id).toMatch(/^UPSTREAM_REDIRECT/);
      const { text } = await agent.call(`${id}.any`);
      expect(text).toMatch(new RegExp(`^\\[${id}\\]`));
      expect(text).not.toMatch(/127\.0\.0\.1|169\.254|http/);
    }
    expect(wanted).toEqual([]);
    expect(asked.filter((url) => url === '/again').length).toBeLessThan(10);
    expect(JSON.stringify(gateway.gateway.readiness())).not.toMatch(/169\.254|own-secret/);
    expect(JSON.stringify(gateway.logged)).toContain('169.254.169.254');
  });
});

describe('C-044: answers that are no MCP', () => {
  const ODD: readonly { readonly title: string; readonly do: FaultAction }[] = [
    { title: '200 HTML', do: { status: 200, headers: { 'content-type': 'text/html' }, body: HTML } },
    { title: '502 HTML', do: { status: 502, headers: { 'content-type': 'text/html' }, body: HTML } },
    {
      title: 'an event stream of HTML',
      do: { headers: { 'content-type': 'text/event-stream' }, body: HTML },
    },
    { title: '202', do: { status: 202 } },
    { title: '204', do: { status: 204 } },
    { title: 'JSON that is no JSON-RPC', do: { body: { page: 'canary-page' } } },
    {
      title: 'broken JSON',
      do: { headers: { 'content-type': 'application/json' }, raw: '{"jsonrpc":"canary-page' },
    },
    { title: '429', do: { status: 429, headers: { 'retry-after': '7' }, body: 'canary-page' } },
    { title: '403 with a page', do: { status: 403, headers: { 'content-type': 'text/html' }, body: HTML } },
    { title: '500 with text', do: { status: 500, body: 'canary-page at /srv/app/index.js:12' } },
  ];

  describe.each(ERAS)('of a $era upstream', ({ era }) => {
    const script: Script = { id: 'up', era, tools: ['echo'] };

    it.each(ODD)(
      '$title to a call: an error at once that names the server and shows none of it',
      async (fault) => {
        await using up = await startHttpUpstream(script);
        // Whoever waited for the limit would not be heard within the time of a test.
        const timeouts = { call: '10m' };
        await using gateway = await startGateway({ upstreams: { up: { ...up.config, timeouts, restart } } });
        await gateway.gateway.settled();
        const agents = await Promise.all(AGENTS.map(({ connect }) => connect(gateway.url)));
        for (const agent of agents) {
          await up.change({ faults: [{ on: 'tools/call', times: 1, do: fault.do }] });
          const after = up.mark();
          const answer = await echo(agent, 1);
          expect(answer.result).toMatchObject({
            isError: true,
            content: [{ type: 'text', text: expect.stringMatching(/^\[up\] /) }],
          });
          expect(answer.text).not.toMatch(/canary-page|<|srv|127\.0\.0\.1/);
          const asked = up.received.slice(after).filter(({ method }) => method === 'tools/call');
          expect(asked, 'not asked again').toHaveLength(1);
          await expect.poll(() => echo(agent, 2), { timeout: 10_000 }).toMatchObject(served(2));
          await agent[Symbol.asyncDispose]();
        }
        const logged = JSON.stringify(gateway.logged.filter(({ level }) => Number(level) >= 40));
        const { body, status } = fault.do as { body?: unknown; status?: number };
        if (typeof body === 'string' && status !== undefined) {
          expect(logged).toContain(`status ${status}`);
          expect(logged).toContain('canary-page');
        }
      },
    );

    it.each(['Application/JSON; charset=utf-8', undefined])('JSON called %s is taken', async (type) => {
      await using up = await startHttpUpstream(script);
      await using door = await startDoor(up.port, () => undefined, type ?? null);
      await using gateway = await startGateway({ upstreams: { up: { url: `${door.origin}/mcp` } } });
      await gateway.gateway.settled();
      await using agent = await connectLegacy(gateway.url);
      expect(await echo(agent, 5)).toMatchObject(served(5));
    });

    it.each(ODD.filter(({ title }) => !/^20[24]$/.test(title)))(
      '$title from the beginning: back-off, not a loop, and the reason in the status',
      async (fault) => {
        await using up = await startHttpUpstream({ ...script, faults: [{ on: '*', do: fault.do }] });
        await using good = await startHttpUpstream({ id: 'good', tools: ['fine'] });
        const timeouts = { connect: '2s', probe: '1s' };
        await using gateway = await startGateway({
          upstreams: {
            up: { ...up.config, timeouts, restart: { base: '100ms', cap: '1m' } },
            good: good.config,
          },
        });
        await expect
          .poll(() => statusOf(gateway)?.lastError ?? '', { timeout: 10_000 })
          .toMatch(/^UPSTREAM_/);
        expect(statusOf(gateway)?.lastError).not.toMatch(/canary-page|<|127\.0\.0\.1/);
        const tries = gateway.logged.filter(
          ({ upstream, retryInMs }) => upstream === 'up' && retryInMs !== undefined,
        );
        if (fault.title === '429') {
          expect(Number(tries[0]?.['retryInMs'])).toBeGreaterThanOrEqual(7_000);
        }
        // Each attempt is a handful of requests: a probe, initialize, and the older transport.
        expect(up.received.length).toBeLessThanOrEqual(5 * (tries.length + 1));
        await using agent = await connectModern(gateway.url);
        await agent.untilNames((names) => names.includes('good.fine'));
      },
    );
  });
});
