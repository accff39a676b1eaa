import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { alive } from '../kit/processes.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

const restart = { base: '20ms', cap: '60ms' };
const PROBE = 'server/discover';

const statusOf = (gateway: StartedGateway) => gateway.gateway.readiness().upstreams['up'];
const complaints = (gateway: StartedGateway) =>
  gateway.logged.filter(({ retryInMs }) => retryInMs !== undefined).length;
const untilReady = (gateway: StartedGateway, era: string) =>
  expect.poll(() => statusOf(gateway), { timeout: 15_000 }).toMatchObject({ state: 'ready', era, tools: 1 });

describe('C-098: a server that dies of the version probe', () => {
  const script: Script = {
    id: 'up',
    era: 'legacy',
    tools: ['echo'],
    stdio: { exitUnlessInitialize: true },
  };

  it.each(AGENTS)(
    'is started twice the first time and once after that; a $era client sees nothing',
    async (client) => {
      await using up = await startStdioUpstream(script);
      await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
      await untilReady(gateway, 'legacy');
      await using agent = await client.connect(gateway.url);
      expect((await agent.call('up.echo', { n: 1 })).structured).toEqual({ n: 1 });
      expect(up.starts).toBe(2);
      expect(complaints(gateway)).toBe(0);
      await up.kill();
      await up.untilStarted(3);
      await untilReady(gateway, 'legacy');
      expect((await agent.call('up.echo', { n: 2 })).structured).toEqual({ n: 2 });
      expect(up.starts).toBe(3);
      expect(up.count(PROBE)).toBe(1);
      expect(up.everyPid.filter(alive)).toHaveLength(1);
    },
  );

  it('is started once where the configuration says which version it speaks', async () => {
    await using up = await startStdioUpstream(script);
    await using gateway = await startGateway({
      upstreams: { up: { ...up.config, protocol: '2025-11-25' } },
    });
    await untilReady(gateway, 'legacy');
    expect([up.starts, up.count(PROBE)]).toEqual([1, 0]);
  });

  it.each([
    { before: 'legacy', now: 'modern' },
    { before: 'modern', now: 'legacy' },
  ] as const)('is asked anew when it was $before and comes back $now', async ({ before, now }) => {
    await using up = await startHttpUpstream({ id: 'up', era: before, tools: ['echo'] });
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
    await untilReady(gateway, before);
    await up.restart({ era: now });
    await using agent = await connectModern(gateway.url);
    // One call may be lost on finding out.
    await agent.request('tools/call', { name: 'up.echo', arguments: {} });
    await untilReady(gateway, now);
    expect((await agent.call('up.echo', { n: 3 })).structured).toEqual({ n: 3 });
  });

  it('that answers questions only after its handshake keeps its one process', async () => {
    const faults = [{ on: PROBE, do: { silence: true } }] as const;
    await using up = await startStdioUpstream({ id: 'up', era: 'legacy', tools: ['echo'], faults });
    const timeouts = { probe: '100ms' };
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, timeouts } } });
    await untilReady(gateway, 'legacy');
    expect(up.starts).toBe(1);
  });
});

const error = (code: number, data?: object) => ({
  error: { code, message: 'no', ...(data === undefined ? {} : { data }) },
});
const supported = (...versions: string[]) => error(-32022, { supported: versions, requested: '2026-07-28' });

describe('C-099: what the answer to the probe says', () => {
  const legacy: Script = { id: 'up', era: 'legacy', tools: ['echo'] };

  it.each([
    { title: '-32601', do: error(-32601) },
    { title: '-32602', do: error(-32602) },
    { title: '-32000', do: error(-32000) },
    { title: '-32603', do: error(-32603) },
    {
      title: 'an error without id',
      do: { raw: '{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}' },
    },
    { title: 'noise', do: { raw: 'I do not understand' } },
    { title: 'silence', do: { silence: true } },
    { title: 'a result that is no discovery', do: { result: { ok: true } } },
    { title: 'only legacy versions', do: supported('2025-11-25') },
  ] as const)('over stdio, $title: the old era', async ({ do: action }) => {
    await using up = await startStdioUpstream({ ...legacy, faults: [{ on: PROBE, do: action }] });
    const timeouts = { probe: '1s' };
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, timeouts } } });
    await untilReady(gateway, 'legacy');
    await up.untilReceived('tools/list');
    expect([up.starts, up.count('initialize')]).toEqual([1, 1]);
    expect(complaints(gateway)).toBe(0);
  });

  it.each([
    { title: 'a newer version alone', do: supported('2027-01-01') },
    { title: 'no version', do: supported() },
    { title: '-32020', do: error(-32020) },
    { title: '-32021', do: error(-32021, { requiredCapabilities: { sampling: {} } }) },
  ])('over stdio, $title: a clear error, and never initialize', async ({ do: action }) => {
    await using up = await startStdioUpstream({
      ...legacy,
      era: 'both',
      faults: [{ on: PROBE, do: action }],
    });
    await using gateway = await startGateway({
      upstreams: { up: { ...up.config, restart: { base: '10m', cap: '10m' } } },
    });
    await expect
      .poll(() => statusOf(gateway)?.lastError ?? '', { timeout: 15_000 })
      .toMatch(/^UPSTREAM_VERSION: .*no protocol version/);
    expect(up.count('initialize')).toBe(0);
    await using agent = await connectModern(gateway.url);
    const { text } = await agent.call('up.echo');
    expect(text).toMatch(/^\[up\] /);
  });

  it('over stdio, a version in common: the new era', async () => {
    await using up = await startStdioUpstream({ ...legacy, era: 'modern' });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await untilReady(gateway, 'modern');
    expect(up.count('initialize')).toBe(0);
  });

  const body = (code: number, data?: object) => ({ jsonrpc: '2.0', id: null, ...error(code, data) });

  it.each([
    { title: '400 without a body', do: { status: 400 } },
    { title: '400 with -32000', do: { status: 400, body: body(-32000) } },
    { title: '400 that misses a session', do: { status: 400, body: 'Mcp-Session-Id required' } },
    { title: '404', do: { status: 404, body: 'Not found' } },
    { title: '405', do: { status: 405 } },
    { title: '200 with -32601', do: error(-32601) },
    { title: '400 with a legacy version', do: { status: 400, ...supported('2025-11-25') } },
  ])('over HTTP, $title: the old era', async ({ do: action }) => {
    await using up = await startHttpUpstream({ ...legacy, faults: [{ on: PROBE, do: action }] });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await untilReady(gateway, 'legacy');
    expect(up.count('initialize')).toBe(1);
    expect(complaints(gateway)).toBe(0);
  });

  it.each([
    { title: '401', do: { status: 401 }, code: 'UPSTREAM_AUTH' },
    { title: '403', do: { status: 403 }, code: 'UPSTREAM_AUTH' },
    { title: '500', do: { status: 500 }, code: 'UPSTREAM_FAILED' },
    { title: '503', do: { status: 503 }, code: 'UPSTREAM_FAILED' },
    { title: '429', do: { status: 429 }, code: 'UPSTREAM_RATE_LIMITED' },
    {
      title: '200 with a page',
      do: { headers: { 'content-type': 'text/html' }, body: '<p>hello</p>' },
      code: 'UPSTREAM_NOT_MCP',
    },
    {
      title: '-32022 with a newer version',
      do: { status: 400, ...supported('2027-01-01') },
      code: 'UPSTREAM_VERSION',
    },
    { title: '-32020', do: { status: 400, ...error(-32020) }, code: 'UPSTREAM_VERSION' },
  ])('over HTTP, $title: no statement about the old era; asked again later', async ({ do: action, code }) => {
    await using up = await startHttpUpstream({
      ...legacy,
      era: 'both',
      faults: [{ on: PROBE, times: 2, do: action }],
    });
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
    const reasons = () =>
      gateway.logged.flatMap(({ retryInMs, err }) =>
        retryInMs === undefined ? [] : [(err as { code: string }).code],
      );
    await untilReady(gateway, 'modern');
    expect(reasons()[0]).toBe(code);
    expect(up.count('initialize')).toBe(0);
  });
});

describe('C-100: both eras on one path', () => {
  const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
    gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  const hello = (protocolVersion: unknown, more: object = {}) => ({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' }, ...more },
  });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const modernList = {
    ...list,
    params: { _meta: { [META.version]: '2026-07-28', [META.capabilities]: {} } },
  };
  const modernHeaders = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  const served = { status: 200, messages: [{ id: 1, result: { tools: [{ name: 'up.echo' }] } }] };

  it.each(VERSIONS)('%s is served in its own version, with and without its headers', async (version) => {
    for (const more of [{}, { _meta: {} }]) {
      await using agent = await connectLegacy(gateway.url, { greet: false });
      const opened = await agent.post(hello(version, more));
      expect(opened).toMatchObject({
        status: 200,
        messages: [{ id: 0, result: { protocolVersion: version } }],
      });
      const session = { 'mcp-session-id': opened.headers['mcp-session-id'] ?? '' };
      const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
      expect((await agent.post(note, session)).status).toBe(202);
      for (const headers of [
        {},
        { 'mcp-protocol-version': version },
        { 'mcp-protocol-version': '2025-03-26' },
      ]) {
        const answer = await agent.post(list, { ...session, ...headers });
        expect(answer).toMatchObject(served);
        expect(answer.messages[0]?.['result']).not.toHaveProperty('resultType');
      }
      // A bridge names the method in a header too; that alone makes nothing modern.
      expect(await agent.post(list, { ...session, 'mcp-method': 'tools/list' })).toMatchObject(served);
    }
  });

  it.each(['2023-01-01', '2026-07-28', '2099-01-01', 'latest', '', null, 7])(
    'an initialize for %j is answered with the newest version of its era',
    async (version) => {
      await using agent = await connectLegacy(gateway.url, { greet: false });
      expect(await agent.post(hello(version))).toMatchObject({
        status: 200,
        messages: [{ id: 0, result: { protocolVersion: '2025-11-25' } }],
      });
    },
  );

  it('a version header that nobody knows is refused in a session', async () => {
    await using agent = await connectLegacy(gateway.url);
    const answer = await agent.request(
      'tools/list',
      {},
      { headers: { 'mcp-protocol-version': '1999-01-01' } },
    );
    expect(answer.status).toBe(400);
  });

  it('a modern request needs its headers, and headers need their request', async () => {
    await using agent = await connectModern(gateway.url, { greet: false });
    expect(await agent.post(modernList, modernHeaders)).toMatchObject(served);
    const refused = async (body: unknown, headers: Record<string, string>, code: number) =>
      expect(await agent.post(body, headers), JSON.stringify(headers)).toMatchObject({
        status: 400,
        messages: [{ id: 1, error: { code } }],
      });
    await refused(modernList, {}, -32020);
    await refused(modernList, { 'mcp-method': 'tools/list' }, -32020);
    await refused(modernList, { 'mcp-protocol-version': '2026-07-28' }, -32020);
    await refused(modernList, { ...modernHeaders, 'mcp-method': 'tools/call' }, -32020);
    await refused(modernList, { ...modernHeaders, 'mcp-method': 'Tools/List' }, -32020);
    await refused(modernList, { ...modernHeaders, 'mcp-protocol-version': '2025-11-25' }, -32020);
    // The other way round a required member is missing (spec 2026-07-28: basic/index, _meta).
    await refused(list, modernHeaders, -32602);
    await refused({ ...list, params: { _meta: { [META.version]: '2026-07-28' } } }, modernHeaders, -32602);
  });

  it('a modern version that nobody speaks is -32022, and says which there are', async () => {
    await using agent = await connectModern(gateway.url, { greet: false, version: '2027-01-01' });
    const { status, error: refusal } = await agent.request('server/discover');
    expect([status, refusal]).toMatchObject([
      400,
      {
        code: -32022,
        data: { requested: '2027-01-01', supported: expect.arrayContaining(['2026-07-28', '2025-11-25']) },
      },
    ]);
  });

  it('both come over one connection, in any order', async () => {
    await using agent = await connectLegacy(gateway.url, { greet: false });
    const opened = await agent.post(hello('2025-11-25'));
    const session = { 'mcp-session-id': opened.headers['mcp-session-id'] ?? '' };
    for (let n = 0; n < 3; n += 1) {
      const modern = await agent.post(modernList, modernHeaders);
      expect(modern).toMatchObject(served);
      expect(modern.messages[0]?.['result']).toMatchObject({
        resultType: 'complete',
        cacheScope: expect.any(String),
      });
      const legacy = await agent.post(list, session);
      expect(legacy).toMatchObject(served);
      expect(legacy.messages[0]?.['result']).not.toHaveProperty('resultType');
    }
  });
});
