import { describe, expect, it, onTestFinished } from 'vitest';
import type { Party } from '../../../src/upstream/party.ts';
import { Seat } from '../../../src/upstream/seat.ts';
import type { UpstreamStatus } from '../../../src/upstream/state.ts';
import { refusingPort, startFaultProxy } from '../../kit/faults.ts';
import { startHttpUpstream } from '../../kit/http-upstream.ts';
import { alive } from '../../kit/processes.ts';
import { startStdioUpstream } from '../../kit/stdio-upstream.ts';
import type { Script } from '../../kit/upstream.ts';
import { OPTIONS, partyOf, type StartedFleet, settingsOf, startFleet, user } from './fleet-kit.ts';
import { createLogCatcher } from './transport-kit.ts';

const ALICE = partyOf(user('alice'));
const ERAS = [{ era: 'legacy' }, { era: 'modern' }] as const;
/** No question whether it is there, and quick tries. */
const calm = { timeouts: { health: 0 }, restart: { base: '20ms', cap: '60ms', breakAfter: 3 } };

const status = ({ fleet }: StartedFleet): UpstreamStatus | undefined => fleet.statuses().get('up');
const until = (started: StartedFleet, state: string) =>
  expect.poll(() => status(started)?.state, { timeout: 10_000 }).toBe(state);
const lost = ({ told }: StartedFleet) => told.filter(([event]) => event === 'lost').length;

describe('the breaker', () => {
  it('opens after so many failures in a row, and closes with the first try that succeeds', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
    await up.kill();
    const started = startFleet({ ...up.config, ...calm });
    await until(started, 'broken');
    await expect
      .poll(() => started.call(ALICE, 'echo').catch((thrown: unknown) => thrown))
      .toMatchObject({ code: 'UPSTREAM_DOWN', upstream: 'up', data: { retryAfterMs: expect.any(Number) } });
    await up.restart();
    await until(started, 'connected');
    await started.call(ALICE, 'echo');
    expect(status(started)).toMatchObject({ lastError: undefined });
  });

  it('is one for all users where each signs in alone: one of them tries, the others hear at once', async () => {
    const url = `http://127.0.0.1:${await refusingPort()}/mcp`;
    const credentials = { type: 'userHeader', name: 'x-user' };
    const started = startFleet({ url, credentials, restart: { base: '10ms', cap: '1m', breakAfter: 1 } });
    const outcomes = () =>
      Promise.allSettled(['a', 'b', 'c'].map((id) => started.call(partyOf(user(id)), 'echo')));
    await outcomes();
    expect(status(started)?.state).toBe('broken');
    for (const outcome of await outcomes()) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'UPSTREAM_DOWN', data: { retryAfterMs: expect.any(Number) } },
      });
    }
  });
});

describe.each(ERAS)('failing calls towards a $era server', ({ era }) => {
  it.each([
    ['a proxy that says 503', { status: 503, body: '' }, 'UPSTREAM_FAILED'],
    ['a connection that breaks off', { drop: true }, 'UPSTREAM_LOST'],
  ] as const)('%s: the whole server is lost, if it fails like that altogether', async (_, fault, code) => {
    await using up = await startHttpUpstream({ id: 'up', era, tools: ['echo'] });
    const started = startFleet({ ...up.config, ...calm });
    await until(started, 'connected');
    await up.change({ faults: [{ on: '*', do: fault }] });
    await expect(started.call(ALICE, 'echo')).rejects.toMatchObject({ code });
    await expect.poll(() => lost(started)).toBe(1);
    await expect
      .poll(() => started.call(ALICE, 'echo').catch((thrown: unknown) => thrown))
      .toMatchObject({ code: 'UPSTREAM_DOWN' });
    await up.change({ faults: [] });
    await until(started, 'connected');
    await started.call(ALICE, 'echo');
  });

  it('a server that fails in one call alone stays connected', async () => {
    await using up = await startHttpUpstream({ id: 'up', era, tools: ['echo'] });
    const started = startFleet({ ...up.config, ...calm });
    await until(started, 'connected');
    const before = up.count(era === 'modern' ? 'server/discover' : 'ping');
    await up.change({ faults: [{ on: 'tools/call', times: 1, do: { drop: true } }] });
    await expect(started.call(ALICE, 'echo')).rejects.toMatchObject({ code: 'UPSTREAM_LOST' });
    await expect.poll(() => up.count(era === 'modern' ? 'server/discover' : 'ping')).toBe(before + 1);
    await started.call(ALICE, 'echo');
    expect([lost(started), status(started)?.state]).toEqual([0, 'connected']);
  });

  it('a server that hangs is found out by the first call that runs out', async () => {
    await using up = await startHttpUpstream({ id: 'up', era, tools: ['echo'] });
    await using proxy = await startFaultProxy(up.port);
    const timeouts = { connect: '200ms', probe: '100ms', health: 0 };
    const started = startFleet({ ...calm, url: proxy.url('/mcp'), timeouts });
    await until(started, 'connected');
    proxy.blackhole();
    const hurried = { ...OPTIONS, timeoutMs: 50 };
    const call = () => started.fleet.call('up', 'tools/call', { name: 'echo' }, hurried, ALICE);
    await expect(call()).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    // Where something it had said before came only after that call began, the next one is the first to run out in silence.
    const lostBy = async () =>
      lost(started) ||
      call().then(
        () => expect.unreachable(),
        () => lost(started),
      );
    await expect.poll(lostBy, { timeout: 10_000 }).toBe(1);
    expect(status(started)?.lastError).toMatch(/^UPSTREAM_/);
  });
});

describe.each(ERAS)('a $era server that has said nothing for a while', ({ era }) => {
  const method = era === 'modern' ? 'server/discover' : 'ping';
  const watchful = { ...calm, timeouts: { health: '40ms', connect: '300ms' } };

  it('over HTTP: one that does not answer is lost, and connected again when it does', async () => {
    await using up = await startHttpUpstream({ id: 'up', era, tools: ['echo'] });
    const started = startFleet({ ...up.config, ...watchful });
    await until(started, 'connected');
    await up.change({ faults: [{ on: method, do: { silence: true } }] });
    await expect.poll(() => lost(started), { timeout: 10_000 }).toBe(1);
    await up.change({ faults: [] });
    await until(started, 'connected');
  });

  it('is there if it answers, also that it knows no such method', async () => {
    await using up = await startHttpUpstream({ id: 'up', era, tools: ['echo'] });
    const started = startFleet({ ...up.config, ...watchful });
    await until(started, 'connected');
    const before = up.count(method);
    await up.change({ faults: [{ on: method, do: { error: { code: -32601, message: 'no' } } }] });
    await expect.poll(() => up.count(method), { timeout: 10_000 }).toBeGreaterThan(before + 2);
    expect([lost(started), status(started)?.state]).toEqual([0, 'connected']);
  });

  it('is left alone while it works on a call, for as long as that may take', async () => {
    await using up = await startHttpUpstream({ id: 'up', era, tools: ['slow'] });
    const started = startFleet({ ...up.config, ...watchful, timeouts: { health: '40ms', connect: '250ms' } });
    await until(started, 'connected');
    const call = started.call(ALICE, 'slow');
    await up.untilReceived('tools/call');
    await up.change({ faults: [{ on: method, do: { silence: true } }] });
    const before = up.count(method);
    // The third was sent when the second had not been answered.
    await expect.poll(() => up.count(method), { timeout: 10_000 }).toBeGreaterThanOrEqual(before + 3);
    expect(lost(started)).toBe(0);
    await up.release('slow');
    await call;
  });
});

it('a process that hangs is killed and started anew', async () => {
  await using up = await startStdioUpstream({ id: 'up', era: 'legacy', tools: ['echo'] });
  // Long enough for a start on a busy machine.
  const started = startFleet({ ...up.config, ...calm, timeouts: { health: '40ms', connect: '3s' } });
  const first = await up.untilStarted();
  await until(started, 'connected');
  await up.kill('SIGSTOP');
  await expect.poll(() => lost(started), { timeout: 15_000 }).toBe(1);
  await expect.poll(() => alive(first), { timeout: 10_000 }).toBe(false);
  await until(started, 'connected');
  await started.call(ALICE, 'echo');
});

it("a user's own connection that hangs is left with the first call that runs out", async () => {
  await using up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['echo'] });
  const timeouts = { connect: '200ms', probe: '100ms', health: 0 };
  const started = startFleet({ ...up.config, ...calm, isolation: 'user', timeouts });
  await until(started, 'connected');
  const alice = { ...ALICE, era: 'legacy' } as const;
  await started.call(alice, 'echo');
  await up.change({ faults: [{ on: '*', do: { silence: true } }] });
  const call = started.fleet.call('up', 'tools/call', { name: 'echo' }, { ...OPTIONS, timeoutMs: 50 }, alice);
  await expect(call).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  await expect.poll(() => started.told).toContainEqual(['lost', 'up', expect.any(String)]);
  await up.change({ faults: [] });
  await started.call(alice, 'echo');
});

describe('lazy', () => {
  it('nothing is started before somebody needs it, and then the call waits for it', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    const started = startFleet({ ...up.config, start: 'lazy' });
    expect(status(started)).toMatchObject({ state: 'idle', lastError: undefined });
    expect([started.fleet.isPending('up'), started.fleet.started]).toEqual([false, []]);
    await started.call(ALICE, 'echo');
    expect([up.starts, status(started)?.state, started.fleet.started]).toEqual([1, 'connected', ['up']]);
  });

  it('a call that is given up while it is being started waits no longer', async () => {
    await using up = await startStdioUpstream({
      id: 'up',
      tools: ['echo'],
      faults: [{ on: '*', do: { silence: true } }],
    });
    const started = startFleet({ ...up.config, start: 'lazy' });
    const gone = new AbortController();
    const call = started.fleet.call(
      'up',
      'tools/call',
      { name: 'echo' },
      { ...OPTIONS, signal: gone.signal },
      ALICE,
    );
    await up.untilStarted();
    gone.abort();
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('the first wish to know what it offers starts it', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
    const started = startFleet({ ...up.config, start: 'lazy' });
    started.fleet.wake(['up']);
    expect(started.fleet.isPending('up')).toBe(true);
    await until(started, 'connected');
    await expect.poll(() => started.told).toContainEqual(['connected', 'up']);
  });
});

describe('idleStop', () => {
  const resting = { ...calm, idleStop: '100ms' };

  it('C-032: the process and what it has started end when nobody needs it, and the next call starts it; it is never lost', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    const wrapped = { command: 'sh', args: ['-c', `${up.shellLine}; :`], env: up.env };
    const started = startFleet({ ...wrapped, ...resting });
    const first = await up.untilStarted();
    await until(started, 'idle');
    await expect.poll(() => alive(first)).toBe(false);
    expect(started.fleet.terms('up')).toMatchObject({ era: 'modern' });
    await started.call(ALICE, 'echo');
    expect([up.starts, lost(started)]).toEqual([2, 0]);
    expect(status(started)).toMatchObject({ lastError: undefined });
  });

  it('neither during a call nor while a resource is watched', async () => {
    await using up = await startStdioUpstream({
      id: 'up',
      era: 'legacy',
      tools: ['slow'],
      resources: ['file:///a'],
    });
    const started = startFleet({
      ...up.config,
      ...resting,
      start: 'lazy',
      idleStop: '30ms',
      timeouts: { health: '20ms' },
    });
    const call = started.call(ALICE, 'slow');
    await up.untilReceived('tools/call');
    started.fleet.watch('up', new Set(['file:///a']));
    await up.untilReceived('resources/subscribe');
    await up.release('slow');
    await call;
    const pings = up.count('ping');
    await expect.poll(() => up.count('ping'), { timeout: 10_000 }).toBeGreaterThan(pings + 4);
    started.fleet.watch('up', new Set());
    await up.untilReceived('resources/unsubscribe');
    await until(started, 'idle');
    expect(up.starts).toBe(1);
    // A wish to watch is one to have it back.
    started.fleet.watch('up', new Set(['file:///a']));
    await up.untilStarted(2);
  });
});

describe('a call whose connection is lost', () => {
  const lostOnce: Script = {
    id: 'up',
    tools: ['echo'],
    faults: [{ on: 'tools/call', times: 1, do: { drop: true } }],
  };
  const call = ({ fleet }: StartedFleet, party: Party, name: string, repeatable: boolean) =>
    fleet.call('up', 'tools/call', { name, arguments: {} }, { ...OPTIONS, repeatable }, party);

  describe.each([
    ['the shared connection', {}],
    ["a user's own connection", { isolation: 'user' }],
  ])('%s', (_, config) => {
    it.each([
      ['is made once more where that is safe', true],
      ['is not, where it may have taken effect', false],
    ])('%s', async (__, repeatable) => {
      await using up = await startHttpUpstream({ ...lostOnce, era: 'legacy' });
      const started = startFleet({ ...up.config, ...calm, ...config });
      await until(started, 'connected');
      const outcome = call(started, { ...ALICE, era: 'legacy' }, 'echo', repeatable);
      await (repeatable ? outcome : expect(outcome).rejects.toMatchObject({ code: 'UPSTREAM_LOST' }));
      expect(up.count('tools/call')).toBe(repeatable ? 2 : 1);
    });
  });

  it('a process that ends is waited for, and called once more and no more', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['crash'] });
    const started = startFleet({ ...up.config, ...calm });
    await until(started, 'connected');
    await expect(call(started, ALICE, 'crash', true)).rejects.toMatchObject({ code: 'UPSTREAM_LOST' });
    expect(up.count('tools/call')).toBe(2);
  });
});

it('users take turns: what one has waiting does not keep another from the next free place', async () => {
  await using up = await startHttpUpstream({
    id: 'up',
    calls: { a: { does: 'slow', label: 'go' }, b: { does: 'slow', label: 'go' } },
    tools: ['a', 'b'],
  });
  const started = startFleet({ ...up.config, ...calm, limits: { concurrency: 1 } });
  await until(started, 'connected');
  const calls = ['a', 'a', 'a'].map((name) => started.call(ALICE, name));
  await up.untilReceived('tools/call');
  calls.push(started.call(partyOf(user('bob')), 'b'));
  for (let n = 1; n <= 4; n += 1) {
    await up.untilReceived('tools/call', undefined, { times: n });
    await up.release('go');
  }
  await Promise.all(calls);
  const order = up.received
    .filter(({ method }) => method === 'tools/call')
    .map(({ params }) => params['name']);
  expect(order).toEqual(['a', 'b', 'a', 'a']);
});

describe('drain', () => {
  function seatFor(upstream: Record<string, unknown>): Seat {
    const settings = settingsOf({ up: upstream }).upstreams['up'];
    if (settings === undefined) {
      throw new Error('no settings');
    }
    const { log } = createLogCatcher();
    const seat = new Seat(settings, { clientInfo: { name: 'gateway', version: '0' }, log });
    onTestFinished(() => seat.supervisor.close(100));
    seat.supervisor.start();
    return seat;
  }
  const call = ({ supervisor }: Seat, name: string) =>
    supervisor.call('tools/call', { name, arguments: {} }, OPTIONS, ALICE);

  it('calls under way get the grace, new ones are refused, and then nothing is left', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['slow'] });
    const seat = seatFor({ ...up.config, start: 'lazy' });
    const running = call(seat, 'slow');
    await up.untilReceived('tools/call');
    const drained = seat.supervisor.drain(20_000);
    expect(seat.supervisor.status.state).toBe('draining');
    await expect(call(seat, 'slow')).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
    await up.release('slow');
    await running;
    await drained;
    expect([up.pids, seat.supervisor.status.state]).toEqual([[], 'off']);
  });

  it('what outlasts the grace ends with an error that says why, also what still waits for its turn', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['never'] });
    const seat = seatFor({ ...up.config, start: 'lazy', limits: { concurrency: 1 } });
    const running = [call(seat, 'never'), call(seat, 'never')];
    await up.untilReceived('tools/call');
    const outcomes = Promise.allSettled(running);
    await seat.supervisor.drain(20);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'UPSTREAM_REMOVED', upstream: 'up' },
      });
    }
    expect(up.count('tools/call')).toBe(1);
  });
});
