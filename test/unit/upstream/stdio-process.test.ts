import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { type Log, SILENT } from '../../../src/base/log.ts';
import { type RpcId, request } from '../../../src/protocol/json-rpc.ts';
import { createStdioTransport } from '../../../src/upstream/stdio.ts';
import { createLogCatcher, opened, Recorder, stdioUpstream } from './transport-kit.ts';

const CHILD = new URL('../../fixtures/upstreams/transport-child.mjs', import.meta.url).pathname;
const STUBBORN = new URL('../../fixtures/upstreams/transport-stubborn.mjs', import.meta.url).pathname;
const NODE = process.execPath;

/** Neither running nor a zombie. */
function isGone(pid: number): boolean {
  if (!existsSync(`/proc/${pid}`)) {
    return true;
  }
  // A process that its reaper has not fetched yet has ended as far as we are concerned.
  return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

async function start(upstream: Parameters<typeof stdioUpstream>, log: Log = SILENT) {
  const { transport, sink } = await opened(
    createStdioTransport({ upstream: stdioUpstream(...upstream), log }),
  );
  const call = (id: RpcId, method: string, params: Record<string, unknown> = {}) =>
    transport.send(request(id, method, params));
  return { transport, sink, call };
}

async function startedPid(sink: Recorder): Promise<number> {
  const started = await sink.until(() => sink.calls()[0]);
  const pid = 'params' in started ? started.params?.['pid'] : undefined;
  expect(pid).toBeTypeOf('number');
  return pid as number;
}

describe('a child that ends', () => {
  it('closes the transport once, with its exit code, and the end of its stderr for the log alone', async () => {
    const { transport, sink, call } = await start([NODE, [CHILD]]);
    await call(1, 'never');
    await call(2, 'exit', { code: 3, stderr: 'boom in /secret/path' });
    const reason = await sink.end();
    expect(reason).toMatchObject({ code: 'UPSTREAM_LOST', upstream: 'up' });
    expect(reason.message).toContain('exit code 3');
    expect(reason.message).not.toContain('boom');
    expect(reason.logged).toContain('boom in /secret/path');
    await expect(call(3, 'echo')).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
    await transport.close(100);
    expect(sink.ends).toHaveLength(1);
    expect(sink.failures).toEqual([]);
  });

  it('names the signal that ended it', async () => {
    const { sink } = await start(['sh', ['-c', 'kill -9 $$']]);
    expect((await sink.end()).message).toContain('SIGKILL');
  });

  it('delivers all that it wrote right before', async () => {
    const { sink } = await start(['sh', ['-c', `yes '{"jsonrpc":"2.0","method":"n"}' | head -n 3000`]]);
    await sink.end();
    expect(sink.calls()).toHaveLength(3_000);
  });

  it('delivers a last message without a line end', async () => {
    const { sink } = await start(['sh', ['-c', `printf '{"jsonrpc":"2.0","method":"n"}'`]]);
    await sink.end();
    expect(sink.calls()).toHaveLength(1);
  });

  it('C-038: a wrapper that does not find its command is no lost connection', async () => {
    const { sink } = await start(['sh', ['-c', 'no-such-command-here']]);
    expect(await sink.end()).toMatchObject({ code: 'UPSTREAM_COMMAND' });
  });

  it('closes the transport when it closes its stdout', async () => {
    const { transport, sink, call } = await start([NODE, [CHILD], { stop: { grace: 400 } }]);
    await call(1, 'closeStdout');
    expect(await sink.end()).toMatchObject({ code: 'UPSTREAM_LOST' });
    await transport.close(100);
  });

  it('never lets a write hang, however much is waiting', async () => {
    const { sink, call } = await start(['sh', ['-c', 'sleep 0.2; exit 4']]);
    const sends = Array.from({ length: 20 }, (_, id) => call(id, 'echo', { text: 'x'.repeat(1_000_000) }));
    const outcomes = await Promise.allSettled(sends);
    expect(outcomes.filter((one) => one.status === 'rejected').length).toBeGreaterThan(10);
    for (const one of outcomes) {
      if (one.status === 'rejected') {
        expect(one.reason).toMatchObject({
          code: expect.stringMatching(/^UPSTREAM_(?:DOWN|LOST|BUSY)$/),
          upstream: 'up',
        });
      }
    }
    await sink.end();
  });
});

describe('starting', () => {
  it('C-038: a missing command rejects with its bare name, the PATH for the log', async () => {
    const upstream = stdioUpstream('no-such-command-here', []);
    const sink = new Recorder();
    const failed = createStdioTransport({ upstream, log: SILENT }).open(sink);
    await expect(failed).rejects.toMatchObject({ code: 'UPSTREAM_COMMAND', upstream: 'up' });
    await expect(failed).rejects.toThrowError('command not found: no-such-command-here');
    await expect(failed).rejects.toMatchObject({
      logged: expect.stringContaining(process.env['PATH'] ?? '?'),
    });
    expect(sink.ends).toEqual([]);
  });

  it('a missing working folder is not taken for a missing command', async () => {
    const upstream = stdioUpstream(NODE, [], { cwd: '/no/such/folder' });
    const failed = createStdioTransport({ upstream, log: SILENT }).open(new Recorder());
    await expect(failed).rejects.toThrowError('working folder');
    await expect(failed).rejects.not.toThrowError('/no/such');
  });

  it('a file that is no program rejects', async () => {
    const failed = createStdioTransport({ upstream: stdioUpstream(CHILD, []), log: SILENT }).open(
      new Recorder(),
    );
    await expect(failed).rejects.toMatchObject({ code: 'UPSTREAM_COMMAND' });
  });

  it('sends nothing before it is open', async () => {
    const transport = createStdioTransport({ upstream: stdioUpstream(NODE, [CHILD]), log: SILENT });
    await expect(transport.send(request(1, 'x'))).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
    await transport.close(0);
    await expect(transport.open(new Recorder())).rejects.toMatchObject({ code: 'UPSTREAM_DOWN' });
  });

  describe('environment', () => {
    afterEach(() => {
      delete process.env['GW_SECRET'];
      delete process.env['WANTED'];
    });

    it('C-037: the child sees no secret of the gateway', async () => {
      process.env['GW_SECRET'] = 'x';
      process.env['WANTED'] = 'w';
      const { sink, call } = await start([NODE, [CHILD], { env: { A: '1' }, passEnv: ['WANTED'] }]);
      await call(1, 'env');
      const { env } = await sink.result(1);
      expect(env).toMatchObject({ A: '1', WANTED: 'w', PATH: process.env['PATH'] });
      expect(env).not.toHaveProperty('GW_SECRET');
    });
  });
});

describe('stderr', () => {
  it.each([
    ['in long lines', '\n', 60_000],
    ['without a line end', '', 60_000],
    ['in short lines', '\n', 80],
  ])('C-030: 10 MB %s neither block the child nor fill the log', async (_title, ending, line) => {
    const { lines, log } = createLogCatcher();
    const { sink, call } = await start([NODE, [CHILD]], log);
    await call(1, 'stderr', { bytes: line > 100 ? 10_000_000 : 400_000, line, ending });
    await sink.result(1);
    const text = lines().join('');
    expect(text).toContain('"stderr":"xxx');
    expect(text.length).toBeLessThan(600_000);
  });

  it('C-029, C-030: masks the secrets that the child was given, in the log and in the tail', async () => {
    const { lines, log } = createLogCatcher();
    const { sink, call } = await start([NODE, [CHILD], { env: { TOKEN: 'geheim—é🎉-1234' } }], log);
    await call(1, 'exit', { code: 1, stderr: `Zürich ${'x'.repeat(4_070)} geheim—é🎉-1234 end` });
    const reason = await sink.end();
    expect(reason.logged).toContain('[masked] end');
    expect(lines().join('')).toContain('Zürich');
    expect(lines().join('') + reason.logged).not.toContain('geheim');
  });
});

describe('stopping', () => {
  it('ends a well-behaved child by closing its stdin', async () => {
    const { transport, sink, call } = await start([NODE, [CHILD]]);
    await call(1, 'echo');
    await sink.result(1);
    await call(2, 'never');
    await Promise.all([transport.close(5_000), transport.close(5_000)]);
    expect(sink.ends).toHaveLength(1);
    expect(sink.ends[0]).toMatchObject({
      code: 'UPSTREAM_LOST',
      logged: expect.stringContaining('exit code 0'),
    });
  });

  it('ends a child that ignores EOF and SIGTERM', async () => {
    const { transport, sink } = await start([NODE, [STUBBORN]]);
    const pid = await startedPid(sink);
    await transport.close(300);
    expect(isGone(pid)).toBe(true);
    expect(sink.ends[0]?.logged).toContain('SIGKILL');
  });

  it('C-032: a wrapper and its stubborn grandchild both go', async () => {
    const { transport, sink } = await start(['sh', ['-c', `"${NODE}" "${STUBBORN}" & wait`]]);
    const pid = await startedPid(sink);
    await transport.close(400);
    expect(isGone(pid)).toBe(true);
    expect(sink.ends).toHaveLength(1);
  });

  it('C-032: when the wrapper ends by itself, what it started goes with it', async () => {
    const { sink, call } = await start(['sh', ['-c', `"${NODE}" "${STUBBORN}" & read line; exit 5`]]);
    const pid = await startedPid(sink);
    expect(isGone(pid)).toBe(false);
    await call(1, 'end');
    expect((await sink.end()).message).toContain('exit code 5');
    expect(isGone(pid)).toBe(true);
  });
});
