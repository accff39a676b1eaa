import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { alive, processesMarked, processFacts, signal, untilGone } from '../kit/processes.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { type ScriptedStdio, startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script } from '../kit/upstream.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const TOOLS = 'notifications/tools/list_changed';
const stop = { grace: '400ms' };

/** Deaf to the end of its input and to SIGTERM. */
const STUBBORN: Script['stdio'] = { ignoreEof: true, ignoreSigterm: true };

/**
 * Behind a shell that stays, as `npx` and `uvx` do. A background job has no stdin unless it is given one. The mark is in
 * the environment of all of them.
 */
function wrapped(up: ScriptedStdio, more: object = {}) {
  const mark = `CASE_RUN=${randomUUID()}`;
  const [name = '', value = ''] = mark.split('=');
  const line = `exec 3<&0; ${up.shellLine} <&3 & wait`;
  return {
    mark,
    config: { command: 'sh', args: ['-c', line], env: { ...up.env, [name]: value }, stop, ...more },
  };
}

const left = (mark: string) =>
  processesMarked(mark)
    .filter(({ state }) => state !== 'Z')
    .map(({ command }) => command);
const zombies = () => {
  const mine = processesMarked('').filter(({ parent, state }) => parent === process.pid && state === 'Z');
  return mine.map(({ command }) => command);
};

const attempts = (gateway: StartedGateway, id = 'up') =>
  gateway.logged
    .filter(({ upstream, retryInMs }) => upstream === id && retryInMs !== undefined)
    .map(({ retryInMs }) => Number(retryInMs));

describe('C-032: a server behind a shell, deaf to SIGTERM and to the end of its input', () => {
  const script: Script = { id: 'up', era: 'legacy', tools: ['echo', 'whoami'], stdio: STUBBORN };

  it('is gone with all its processes when the gateway closes', async () => {
    await using up = await startStdioUpstream(script);
    const { mark, config } = wrapped(up);
    const gateway = await startGateway({ upstreams: { up: config } });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    expect(left(mark)).toHaveLength(2);
    await gateway.close();
    expect(left(mark)).toEqual([]);
    expect(zombies()).toEqual([]);
  });

  it('is gone when its wrapper dies, and comes back once', async () => {
    await using up = await startStdioUpstream(script);
    const { mark, config } = wrapped(up, { restart: { base: '20ms', cap: '50ms' } });
    await using gateway = await startGateway({ upstreams: { up: config } });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    const first = up.pids[0] ?? 0;
    signal(processFacts(first)?.parent ?? 0, 'SIGKILL');
    await untilGone(first);
    await up.untilStarted(2);
    await expect.poll(async () => (await agent.call('up.echo', { n: 2 })).structured).toEqual({ n: 2 });
    expect(left(mark)).toHaveLength(2);
    await gateway.close();
    expect(left(mark)).toEqual([]);
  });

  it('is gone when the connection of one user has been idle', async () => {
    await using up = await startStdioUpstream(script);
    const { mark, config } = wrapped(up, { isolation: 'session', timeouts: { idle: '100ms' } });
    await using gateway = await startGateway({ upstreams: { up: config } });
    await using agent = await connectLegacy(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    const { structured } = await agent.call('up.whoami');
    expect(structured['pid']).not.toBe(up.everyPid[0]);
    await expect.poll(() => left(mark).length, { timeout: 10_000 }).toBe(2);
    expect(alive(Number(structured['pid']))).toBe(false);
    expect(alive(up.everyPid[0] ?? 0)).toBe(true);
  });

  it('is gone when the session of a client ends that had its own', async () => {
    await using up = await startStdioUpstream(script);
    const { mark, config } = wrapped(up, { isolation: 'session' });
    await using gateway = await startGateway({ upstreams: { up: config } });
    await using agent = await connectLegacy(gateway.url);
    await agent.untilNames((names) => names.length > 0);
    await agent.call('up.echo');
    expect(left(mark)).toHaveLength(4);
    expect((await agent.http('DELETE').done).status).toBe(204);
    await expect.poll(() => left(mark).length, { timeout: 10_000 }).toBe(2);
  });

  it.each([
    { how: 'SIGTERM', stdio: STUBBORN, code: 0 },
    { how: 'SIGINT', stdio: STUBBORN, code: 0 },
    // Nobody is left to end the group; a server that honours the end of its input goes by itself.
    { how: 'SIGKILL', stdio: {}, code: null },
  ] as const)('is gone when the gateway gets $how', async ({ how, stdio, code }) => {
    await using up = await startStdioUpstream({ ...script, stdio });
    const { mark, config } = wrapped(up);
    const folder = await mkdtemp(join(tmpdir(), 'patchbay-cases-'));
    const file = join(folder, 'gateway.yaml');
    const sealingKey = Buffer.alloc(32, 7).toString('base64');
    await writeFile(file, stringify({ sealingKey, listen: { port: 0 }, upstreams: { up: config } }));
    const program = spawn(process.execPath, [MAIN, 'serve', '-c', file, '--json'], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const closed = once(program, 'close');
    await once(program.stdout, 'data');
    expect(left(mark)).toHaveLength(2);
    program.kill(how);
    expect(await closed).toEqual([code, code === null ? how : null]);
    await expect.poll(() => left(mark), { timeout: 5_000 }).toEqual([]);
    await rm(folder, { recursive: true });
  });
});

describe('C-033: crash loops', () => {
  const restart = { base: '40ms', cap: '320ms' };
  /** The least pauses of a back-off with jitter in its upper half, as long as it is not reset. */
  const LEAST = [20, 40, 80, 160, 160];

  const growing = (waits: readonly number[]) => {
    for (const [n, least] of LEAST.entries()) {
      expect(waits[n]).toBeGreaterThanOrEqual(least);
      expect(waits[n]).toBeLessThanOrEqual(Math.min(320, 40 * 2 ** n) + 1);
    }
  };

  it.each(AGENTS)(
    'a server that ends at once is tried less and less; a $era client hears it fast',
    async (client) => {
      await using up = await startStdioUpstream({ id: 'up', tools: ['echo'], stdio: { exitAtStart: 3 } });
      await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
      await using agent = await client.connect(gateway.url);
      await expect.poll(() => attempts(gateway).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(5);
      growing(attempts(gateway));
      const before = up.starts;
      for (let n = 0; n < 50; n += 1) {
        const { result } = await agent.request('tools/call', { name: 'up.echo', arguments: {} });
        expect(result).toMatchObject({
          isError: true,
          content: [{ text: expect.stringMatching(/^\[up\]/) }],
        });
      }
      // Calls start nothing.
      expect(up.starts - before).toBeLessThanOrEqual(attempts(gateway).length);
      expect(up.starts).toBeLessThanOrEqual(attempts(gateway).length + 1);
      const { upstreams } = gateway.gateway.readiness();
      expect(upstreams['up']).toMatchObject({ lastError: expect.stringContaining('exit code 3') });
    },
  );

  it('a server that dies soon after each good handshake is no recovered one', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
    for (let n = 1; n <= LEAST.length; n += 1) {
      await up.untilStarted(n);
      await up.untilReceived('tools/list', ({ pid }) => pid === up.everyPid[n - 1]);
      await up.kill();
      await expect.poll(() => attempts(gateway).length).toBe(n);
    }
    growing(attempts(gateway));
  });

  it('one that hangs before its handshake is ended before another is started', async () => {
    await using up = await startStdioUpstream({
      id: 'up',
      faults: [{ on: '*', do: { silence: true } }],
      stdio: STUBBORN,
    });
    const timeouts = { probe: '100ms', connect: '200ms' };
    await using gateway = await startGateway({
      upstreams: { up: { ...up.config, restart, timeouts, stop } },
    });
    for (let n = 1; n <= 4; n += 1) {
      await up.untilStarted(n);
      expect(up.everyPid.filter(alive)).toHaveLength(1);
    }
    expect(gateway.gateway.readiness().upstreams['up']?.lastError).toMatch(/^UPSTREAM_TIMEOUT/);
    await gateway.close();
    expect(up.everyPid.filter(alive)).toEqual([]);
  });

  it.each(AGENTS)(
    'one that was killed is back by itself; a $era client is told what happened',
    async (client) => {
      await using up = await startStdioUpstream({ id: 'up', tools: ['echo', 'never'] });
      await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
      await using agent = await client.connect(gateway.url);
      await agent.untilNames((names) => names.length > 0);
      const running = agent.begin('tools/call', { name: 'up.never', arguments: {} });
      await up.untilReceived('tools/call');
      await up.kill();
      expect((await running.done).result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^\[up\] .*whether it took effect is unknown/) }],
      });
      await up.untilStarted(2);
      await expect
        .poll(async () => (await agent.call('up.echo', { back: true })).structured)
        .toEqual({ back: true });
      expect(up.count('tools/call', ({ params }) => params['name'] === 'never')).toBe(1);
      expect(gateway.gateway.readiness().upstreams['up']).toMatchObject({ state: 'ready', tools: 2 });
      expect(gateway.gateway.readiness().upstreams['up']).not.toHaveProperty('lastError');
    },
  );

  it('while one is down its tools stay marked, then go with one notice; when it is back they come with one', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
    await using good = await startHttpUpstream({ id: 'good', tools: ['fine'] });
    const slow = { base: '10m', cap: '10m' };
    const cache = { staleFor: '300ms' };
    await using gateway = await startGateway({
      upstreams: { up: { ...up.config, restart: slow, cache }, good: good.config },
    });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length === 2);
    await using notices = await agent.listen({ tools: true });
    await up.kill();
    const call = () => agent.request('tools/call', { name: 'up.echo', arguments: {} });
    const down = {
      isError: true,
      content: [{ text: expect.stringMatching(/^\[up\] .*Next try in \d+ s\.$/) }],
    };
    await expect.poll(async () => (await call()).result).toMatchObject(down);
    expect(gateway.gateway.readiness().upstreams['up']?.state).toBe('backoff');
    await notices.next(TOOLS);
    expect(await agent.names()).toEqual(['good.fine']);
    expect((await call()).result).toMatchObject({ isError: true });
    expect(notices.count(TOOLS)).toBe(1);
  });
});

describe('C-035: a slow first start', () => {
  const held: Script = { id: 'slow', tools: ['late'], faults: [{ on: '*', do: { hold: 'start' } }] };

  it.each(AGENTS)(
    'within its own limit: a $era client gets the siblings at once, and the slow one with one notice',
    async ({ connect }) => {
      await using slow = await startStdioUpstream(held);
      const fast = await Promise.all(['a', 'b', 'c'].map((id) => startHttpUpstream({ id, tools: ['fine'] })));
      await using gateway = await startGateway({
        lists: { firstWait: '100ms' },
        upstreams: {
          slow: { ...slow.config, timeouts: { connect: '5m', probe: '5m' } },
          ...Object.fromEntries(fast.map(({ id, config }) => [id, config])),
        },
      });
      await using agent = await connect(gateway.url);
      const siblings = ['a.fine', 'b.fine', 'c.fine'];
      expect(await agent.untilNames((names) => names.length === 3)).toEqual(siblings);
      await using notices = await agent.listen({ tools: true });
      await slow.untilReceived('*');
      expect(gateway.gateway.readiness().upstreams['slow']?.state).toBe('connecting');
      await slow.change({ faults: [] });
      expect(await slow.release('start')).toBe(1);
      await notices.next(TOOLS);
      expect(await agent.names()).toEqual(['slow.late', ...siblings]);
      expect(notices.count(TOOLS)).toBe(1);
      expect(slow.starts).toBe(1);
      await Promise.all(fast.map((each) => each[Symbol.asyncDispose]()));
    },
  );

  it('beyond the limit: the status says so, and it is not started again and again', async () => {
    await using slow = await startStdioUpstream(held);
    const timeouts = { connect: '300ms', probe: '100ms' };
    const restart = { base: '500ms', cap: '10s' };
    await using gateway = await startGateway({ upstreams: { slow: { ...slow.config, timeouts, restart } } });
    const lastError = () => gateway.gateway.readiness().upstreams['slow']?.lastError;
    await expect.poll(lastError).toMatch(/300 ms/);
    await slow.untilStarted(2);
    const waits = attempts(gateway, 'slow');
    expect(waits[0]).toBeGreaterThanOrEqual(250);
    // What it needed the first time is done by now, as a download would be.
    await slow.change({ faults: [] });
    await expect
      .poll(() => gateway.gateway.readiness().upstreams['slow'], { timeout: 15_000 })
      .toMatchObject({
        state: 'ready',
        tools: 1,
      });
    expect(slow.starts).toBeLessThanOrEqual(attempts(gateway, 'slow').length + 2);
    expect(slow.everyPid.filter(alive)).toHaveLength(1);
  });
});
