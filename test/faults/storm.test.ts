import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FaultAction } from '../fixtures/upstreams/scripted-script.ts';
import { type FaultProxy, startFaultProxy } from '../kit/faults.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { untilGone } from '../kit/processes.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { type ScriptedStdio, startStdioUpstream } from '../kit/stdio-upstream.ts';
import { breakOff, readSlowly } from './broken-clients.ts';
import { SteadyLoad } from './steady-load.ts';

/** Short, so that what hangs is given up while the test waits for it. */
const HASTY = {
  timeouts: { connect: '2s', probe: '500ms', call: '700ms', total: '2s', health: '500ms' },
  restart: { base: '20ms', cap: '100ms' },
  stop: { grace: '200ms' },
};
const ECHO = { tools: ['echo'] };
/** Bytes; more than the buffers of a connection take. */
const LARGE = 12 * 1_048_576;

/**
 * Real things are broken while clients of both eras go on calling. What may fail is the upstream that is broken, with a
 * clear error; what never fails is `steady`, which nobody touches.
 */
describe('while everything around it breaks', () => {
  let pipe: ScriptedStdio;
  let legacy: ScriptedHttp;
  let modern: ScriptedHttp;
  let steady: ScriptedHttp;
  let legacyLine: FaultProxy;
  let modernLine: FaultProxy;
  let gateway: StartedGateway;
  let load: SteadyLoad;
  let resources: readonly string[];

  const config = (more: Record<string, unknown> = {}) => ({
    shutdown: { grace: '1s' },
    ...more,
    upstreams: {
      steady: steady.config,
      pipe: { ...pipe.config, ...HASTY },
      legacy: { ...HASTY, url: legacyLine.url('/mcp') },
      modern: { ...HASTY, url: modernLine.url('/mcp') },
    },
  });

  beforeAll(async () => {
    resources = openThings();
    pipe = await startStdioUpstream({ id: 'pipe', ...ECHO });
    legacy = await startHttpUpstream({ id: 'legacy', era: 'legacy', ...ECHO });
    modern = await startHttpUpstream({ id: 'modern', era: 'modern', ...ECHO });
    steady = await startHttpUpstream({
      id: 'steady',
      tools: ['echo', 'big'],
      calls: { big: { does: 'big', bytes: LARGE } },
    });
    legacyLine = await startFaultProxy(legacy.port);
    modernLine = await startFaultProxy(modern.port);
    gateway = await startGateway(config());
    await gateway.gateway.settled();
    load = await SteadyLoad.start(gateway.url, ['steady', 'pipe', 'legacy', 'modern']);
  });

  beforeEach(async () => {
    for (const upstream of load.isOver ? [] : ['pipe', 'legacy', 'modern']) {
      await load.untilRight(upstream);
    }
  });

  /** Everything is as it was: each upstream answers both eras, and nothing went wrong on the way. */
  async function recovers(): Promise<void> {
    for (const upstream of ['steady', 'pipe', 'legacy', 'modern']) {
      await load.untilRight(upstream);
    }
    expect(load.wrong).toEqual([]);
    expect(load.count('steady').failed).toBe(0);
  }

  it('a child is killed in the middle of its calls, three times', async () => {
    for (let times = 0; times < 3; times += 1) {
      const before = pipe.starts;
      await pipe.kill();
      await pipe.untilStarted(before + 1);
      await load.untilRight('pipe');
    }
    await recovers();
  });

  it('a child hangs', async () => {
    const before = pipe.starts;
    await pipe.kill('SIGSTOP');
    await load.untilFailed('pipe', 2);
    await pipe.untilStarted(before + 1); // it does not answer, so it is ended and started anew
    await recovers();
  });

  const lines = () =>
    [
      ['legacy', legacyLine],
      ['modern', modernLine],
    ] as const;

  it('connections are cut, with a reset and in the middle of a frame', async () => {
    for (const [upstream, line] of lines()) {
      line.resetOnce();
      await load.untilRight(upstream);
      line.cutAfter(40);
      await load.untilFailed(upstream, 2);
      line.heal();
      line.resetOnce();
      await load.untilRight(upstream);
    }
    await recovers();
  });

  it('connections are refused, then swallowed', async () => {
    for (const [upstream, line] of lines()) {
      line.reset();
      await load.untilFailed(upstream, 3);
      line.heal();
      await load.untilRight(upstream);
      line.blackhole();
      await load.untilFailed(upstream, 2);
      line.heal();
      line.resetOnce();
      await load.untilRight(upstream);
    }
    await recovers();
  });

  const RPC = { jsonrpc: '2.0', result: { content: [{ type: 'text', text: 'somebody else' }] } };
  const BAD_ANSWERS: readonly (readonly [string, FaultAction])[] = [
    ['500', { status: 500, body: 'oh' }],
    [
      '502 with a page',
      { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' },
    ],
    ['a page with 200', { status: 200, headers: { 'content-type': 'text/html' }, body: '<form>' }],
    ['noise', { raw: '\u0000\u0001{"jsonrpc"' }],
    ['the answer of another call', { raw: JSON.stringify({ ...RPC, id: 999_999 }) }],
    ['an answer without id', { raw: JSON.stringify(RPC) }],
    ['a result that is none', { raw: '{"jsonrpc":"2.0","id":1,"result":null}' }],
    ['silence', { silence: true }],
    ['an end of the line', { drop: true }],
    ['an error of its own', { error: { code: -32000, message: 'I do not feel like it' } }],
  ];

  it.each(BAD_ANSWERS)('the servers answer with %s', async (_what, action) => {
    for (const [upstream, server] of [
      ['legacy', legacy],
      ['modern', modern],
    ] as const) {
      await server.change({ faults: [{ on: 'tools/call', do: action }] });
      await load.untilFailed(upstream, 3);
      await server.change({ faults: [] });
      await load.untilRight(upstream);
    }
    await recovers();
  });

  it.each([
    ['noise', { raw: 'Traceback (most recent call last):' }],
    ['the answer of another call', { raw: JSON.stringify({ ...RPC, id: 999_999 }) }],
    ['silence', { silence: true }],
    ['its end', { exit: 3 }],
  ] as const)('the child answers with %s', async (_what, action) => {
    await pipe.change({ faults: [{ on: 'tools/call', do: action }] });
    await load.untilFailed('pipe', 3);
    await pipe.change({ faults: [] });
    await recovers();
  });

  it('answers come after they were given up', async () => {
    for (const [upstream, server] of [
      ['legacy', legacy],
      ['modern', modern],
      ['pipe', pipe],
    ] as const) {
      await server.change({ faults: [{ on: 'tools/call', do: { delay: 900 } }] });
      await load.untilFailed(upstream, 2);
      await server.change({ faults: [] });
      await load.untilRight(upstream);
    }
    await recovers();
  });

  it('answers come twice, over a pipe and on event streams: each call gets one, and no other gets it', async () => {
    for (const [upstream, server] of [
      ['legacy', legacy],
      ['modern', modern],
      ['pipe', pipe],
    ] as const) {
      await server.change({ faults: [{ on: 'tools/call', do: { twice: true } }] });
      await load.untilRight(upstream, 6);
      await server.change({ faults: [] });
    }
    await recovers();
  });

  it('clients are gone in the middle of their requests', async () => {
    for (const upstream of ['steady', 'legacy', 'modern', 'pipe']) {
      await breakOff(gateway.port, `${upstream}.echo`, 25);
    }
    await recovers();
  });

  it('sessions are forgotten, servers restart on their port', async () => {
    legacy.forgetSessions();
    await recovers();
    await legacy.restart();
    await modern.restart();
    await recovers();
  });

  it('catalogs turn over again and again', async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      const tools = ['echo', `turn-${turn}`];
      for (const server of [legacy, modern, pipe]) {
        await server.setTools(tools);
        await server.notify('tools');
      }
      await load.untilRight('steady', 1);
    }
    await recovers();
  });

  it('the configuration is read again for every few answers, with upstreams coming and going', async () => {
    for (let turn = 0; turn < 30; turn += 1) {
      const now = config({ instructions: `turn ${turn}` });
      const { upstreams } = now;
      const spare = {
        ...HASTY,
        url: legacyLine.url('/mcp'),
        timeouts: { ...HASTY.timeouts, call: `${700 + turn}ms` },
      };
      gateway.reload({ ...now, upstreams: turn % 2 === 0 ? { ...upstreams, spare } : upstreams });
      await load.untilRight('steady', 1);
    }
    gateway.reload(config());
    await gateway.gateway.replaced();
    await recovers();
  });

  it('the queue of a server is full', async () => {
    const now = config();
    const narrow = { ...now.upstreams.legacy, limits: { concurrency: 1, queue: 1 } };
    gateway.reload({ ...now, upstreams: { ...now.upstreams, legacy: narrow } });
    await gateway.gateway.replaced();
    await legacy.change({ faults: [{ on: 'tools/call', do: { delay: 30 } }] });
    await load.untilFailed('legacy', 2);
    await legacy.change({ faults: [] });
    gateway.reload(config());
    await gateway.gateway.replaced();
    await recovers();
  });

  it('all of it at once, and a client that does not read on meanwhile still gets the whole of its answer', async () => {
    const slow = await readSlowly(gateway.port, 'steady.big');
    for (let turn = 0; turn < 3; turn += 1) {
      await pipe.kill();
      legacyLine.reset();
      modernLine.blackhole();
      gateway.reload(config({ instructions: `storm ${turn}` }));
      await load.untilRight('steady', 3);
      legacy.forgetSessions();
      legacyLine.heal();
      modernLine.heal();
      modernLine.resetOnce();
      await modern.restart();
      await breakOff(gateway.port, 'pipe.echo', 3);
      await load.untilRight('steady', 3);
    }
    const answer = await slow.finish();
    expect(answer.startsWith('HTTP/1.1 200')).toBe(true);
    expect(answer.length).toBeGreaterThan(LARGE);
    await recovers();
  });

  it('and when it is over every call ends, and the gateway within its grace', async () => {
    await load[Symbol.asyncDispose]();
    expect(load.wrong).toEqual([]);
    await gateway.close();
    await expect(fetch(`${gateway.origin}/healthz`)).rejects.toThrow();
  });

  it('and nothing is left', async () => {
    await Promise.all(pipe.everyPid.map((pid) => untilGone(pid)));
    for (const server of [pipe, legacyLine, modernLine, legacy, modern, steady]) {
      await server[Symbol.asyncDispose]();
    }
    await expect.poll(openThings).toEqual(resources);
    const own = gateway.logged.filter((line) => /INTERNAL|unhandled/i.test(JSON.stringify(line)));
    expect(own).toEqual([]);
  });
});

/** Sockets, pipes and processes that this process has open. */
function openThings(): readonly string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => /Wrap$/.test(name) && !/^(?:Timeout|Immediate)/.test(name))
    .toSorted();
}
