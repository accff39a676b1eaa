import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { AGENTS } from '../kit/agents.ts';
import { compileCache } from '../kit/compile-cache.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { alive, processesMarked, processFacts, signal, untilGone } from '../kit/processes.ts';
import { MAIN } from '../kit/program.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { type ScriptedStdio, startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script } from '../kit/upstream.ts';

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

/**
 * A legacy server in shell: up in a few ms, on a busy machine too. `first` runs before it reads anything, `last` after
 * its list was read. `pids` are all that were ever started.
 */
async function shellServer(first: string, last = ':') {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-shell-'));
  const log = join(folder, 'pids');
  const file = join(folder, 'server.sh');
  await writeFile(log, '');
  const answer = (result: object) =>
    `printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" '${JSON.stringify(result)}'`;
  const hello = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'shell', version: '1' },
  };
  const program = `echo $$ >> "$LOG"
${first}
while read -r line; do
  id=\${line#*'"id":'}; id=\${id%%[,\\}]*}
  case $line in
    *'"method":"initialize"'*) ${answer(hello)} ;;
    *'"method":"tools/list"'*) ${answer({ tools: [{ name: 'late', inputSchema: { type: 'object' } }] })}; ${last} ;;
    *'"method":"notifications/'*) ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\\n' "$id" ;;
  esac
done`;
  await writeFile(file, program);
  return {
    config: { command: 'sh', args: [file], env: { LOG: log, STATE: join(folder, 'state') } },
    pids: () => readFileSync(log, 'utf8').split('\n').filter(Boolean).map(Number),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const attempts = (gateway: StartedGateway, id = 'up') =>
  gateway.logged
    .filter(({ upstream, retryInMs }) => upstream === id && retryInMs !== undefined)
    .map(({ retryInMs }) => Number(retryInMs));

describe('C-032: a server behind a shell, deaf to SIGTERM and to the end of its input', () => {
  const script: Script = { id: 'up', era: 'legacy', tools: ['echo', 'whoami'], stdio: STUBBORN };

  it('is gone with all its processes when the gateway closes', async () => {
    await using up = await startStdioUpstream(script);
    const { mark, config } = wrapped(up);
    // What calls in flight may take has nothing to do with it.
    const shutdown = { grace: '10m' };
    const gateway = await startGateway({ shutdown, upstreams: { up: config } });
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
    await expect.poll(() => alive(Number(structured['pid']))).toBe(false);
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
    { how: 'SIGTERM', code: 0 },
    { how: 'SIGINT', code: 0 },
    { how: 'SIGKILL', code: null },
  ] as const)('is gone when the gateway gets $how', async ({ how, code }) => {
    await using up = await startStdioUpstream(script);
    const { mark, config } = wrapped(up);
    const folder = await mkdtemp(join(tmpdir(), 'patchbay-cases-'));
    const file = join(folder, 'gateway.yaml');
    const sealingKey = Buffer.alloc(32, 7).toString('base64');
    await writeFile(file, stringify({ sealingKey, listen: { port: 0 }, upstreams: { up: config } }));
    const program = spawn(process.execPath, [MAIN, 'serve', '-c', file, '--json'], {
      env: { PATH: process.env['PATH'], ...compileCache },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const closed = once(program, 'close');
    await once(program.stdout, 'data');
    expect(left(mark)).toHaveLength(2);
    program.kill(how);
    expect(await closed).toEqual([code, code === null ? how : null]);
    await expect.poll(() => left(mark), { timeout: 10_000 }).toEqual([]);
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
      await using shell = await shellServer('exit 3');
      await using gateway = await startGateway({ upstreams: { up: { ...shell.config, restart } } });
      await using agent = await client.connect(gateway.url);
      await expect
        .poll(() => attempts(gateway).length, { timeout: 20_000 })
        .toBeGreaterThanOrEqual(LEAST.length);
      growing(attempts(gateway));
      for (let n = 0; n < 50; n += 1) {
        const { result } = await agent.request('tools/call', { name: 'up.late', arguments: {} });
        expect(result).toMatchObject({
          isError: true,
          content: [{ text: expect.stringMatching(/^\[up\]/) }],
        });
      }
      // One that dies of the first question is started once more for the other era; calls start nothing.
      expect(shell.pids().length).toBeLessThanOrEqual(2 * (attempts(gateway).length + 1));
      expect(gateway.gateway.readiness().upstreams['up']).toMatchObject({
        lastError: expect.stringContaining('exit code 3'),
      });
    },
  );

  it('a server that dies soon after each good handshake is no recovered one', async () => {
    await using shell = await shellServer(':', 'exit 4');
    await using gateway = await startGateway({ upstreams: { up: { ...shell.config, restart } } });
    await expect
      .poll(() => attempts(gateway).length, { timeout: 20_000 })
      .toBeGreaterThanOrEqual(LEAST.length);
    expect(gateway.logged.filter(({ msg }) => msg === 'connected').length).toBeGreaterThanOrEqual(
      LEAST.length,
    );
    growing(attempts(gateway));
  });

  it('one that hangs before its handshake is ended before another is started', async () => {
    await using shell = await shellServer("trap '' TERM; while :; do sleep 1; done");
    const timeouts = { probe: '100ms', connect: '200ms' };
    await using gateway = await startGateway({
      upstreams: { up: { ...shell.config, restart, timeouts, stop: { grace: '100ms' } } },
    });
    for (let n = 1; n <= 4; n += 1) {
      await expect.poll(() => shell.pids().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(n);
      expect(shell.pids().filter(alive).length).toBeLessThanOrEqual(1);
    }
    await expect
      .poll(() => gateway.gateway.readiness().upstreams['up']?.lastError)
      .toMatch(/^UPSTREAM_TIMEOUT/);
    await gateway.close();
    expect(shell.pids().filter(alive)).toEqual([]);
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
      const status = () => gateway.gateway.readiness().upstreams['up'];
      await expect.poll(status).toMatchObject({ state: 'ready', tools: 2 });
      expect(status()).not.toHaveProperty('lastError');
    },
  );

  it('while one is down its tools stay marked, then go with one notice; when it is back they come with one', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
    await using good = await startHttpUpstream({ id: 'good', tools: ['fine'] });
    const slow = { base: '10m', cap: '10m' };
    const cache = { staleFor: '3s' };
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
    await using shell = await shellServer('[ -e "$STATE" ] || { touch "$STATE"; sleep 600; }');
    const timeouts = { connect: '300ms', probe: '100ms' };
    const restart = { base: '500ms', cap: '10s' };
    await using gateway = await startGateway({ upstreams: { slow: { ...shell.config, timeouts, restart } } });
    const status = () => gateway.gateway.readiness().upstreams['slow'];
    await expect.poll(() => status()?.lastError ?? '', { timeout: 10_000 }).toMatch(/no answer for 300 ms/);
    expect(attempts(gateway, 'slow')[0]).toBeGreaterThanOrEqual(250);
    // What it needed the first time is done by now, as a download would be.
    await expect.poll(status, { timeout: 20_000 }).toMatchObject({ state: 'ready', tools: 1 });
    expect(shell.pids().length).toBeLessThanOrEqual(2 * (attempts(gateway, 'slow').length + 1));
    expect(shell.pids().filter(alive)).toHaveLength(1);
  });
});
