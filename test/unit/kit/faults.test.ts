import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { refusingPort, silentPort, startFaultProxy } from '../../kit/faults.ts';
import { startHttpUpstream } from '../../kit/http-upstream.ts';
import { connectModern } from '../../kit/modern-agent.ts';

describe('the fault proxy', () => {
  it('passes, resets and passes again', async () => {
    await using upstream = await startHttpUpstream({ tools: ['echo', 'slow'] });
    await using proxy = await startFaultProxy(upstream.port);
    await using agent = await connectModern(proxy.url('/mcp'));
    const running = agent.begin('tools/call', { name: 'slow', arguments: {} });
    await upstream.untilReceived('tools/call');
    proxy.resetOnce();
    await expect(running.done).rejects.toThrow(/no answer/);
    expect((await agent.call('echo', { a: 1 })).structured).toEqual({ a: 1 });
    proxy.reset();
    await expect(agent.call('echo')).rejects.toThrow(/no answer/);
    proxy.heal();
    expect((await agent.call('echo', { a: 2 })).structured).toEqual({ a: 2 });
  });

  it('swallows everything and closes nothing', async () => {
    await using upstream = await startHttpUpstream({ tools: ['echo'] });
    await using proxy = await startFaultProxy(upstream.port);
    await using agent = await connectModern(proxy.url('/mcp'));
    proxy.blackhole();
    const lost = agent.begin('tools/call', { name: 'echo', arguments: {} });
    await expect.poll(() => proxy.swallowed).toBeGreaterThan(0);
    proxy.heal();
    await using second = await connectModern(proxy.url('/mcp'));
    await second.call('echo');
    expect([lost.messages, upstream.count('tools/call'), proxy.open]).toEqual([[], 1, 2]);
    lost.abort();
    expect((await lost.done).ended).toBe('client');
  });

  it('ends with the half of a connection whose other half was lost in the black hole', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    for (const healed of [false, true]) {
      const proxy = await startFaultProxy((server.address() as AddressInfo).port);
      const client = connect(proxy.port, '127.0.0.1').resume();
      const [served] = (await once(server, 'connection')) as [Socket];
      proxy.blackhole();
      served.resetAndDestroy();
      const closed = once(client, 'close');
      if (healed) {
        await once(served, 'close');
        await expect.poll(() => proxy.open).toBe(1);
        proxy.heal();
      }
      await proxy[Symbol.asyncDispose]();
      await closed;
    }
    server.close();
  });

  it('cuts an answer after so many bytes', async () => {
    await using upstream = await startHttpUpstream({ tools: ['big'] });
    await using proxy = await startFaultProxy(upstream.port);
    await using agent = await connectModern(proxy.url('/mcp'));
    proxy.cutAfter(4_000);
    const answer = await agent.request('tools/call', { name: 'big', arguments: { bytes: 100_000 } });
    expect([answer.status, answer.ended]).toEqual([200, 'broken']);
    expect(answer.text.length).toBeLessThan(4_000);
  });

  it('holds pieces back without losing them', async () => {
    await using upstream = await startHttpUpstream({ tools: ['big'] });
    await using proxy = await startFaultProxy(upstream.port);
    proxy.delay(2);
    await using agent = await connectModern(proxy.url('/mcp'));
    expect((await agent.call('big', { bytes: 300_000 })).text).toHaveLength(300_000);
    expect(proxy.accepted).toBe(1);
  });
});

describe('ports that are of no use', () => {
  it('refuse', async () => {
    await expect(connectModern(`http://127.0.0.1:${await refusingPort()}/mcp`)).rejects.toThrow(
      /ECONNREFUSED/,
    );
  });

  it('stay silent', async () => {
    await using silent = await silentPort();
    const socket = connect(silent.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await expect.poll(() => silent.accepted).toBe(1);
    expect(socket.bytesRead).toBe(0);
    socket.destroy();
  });
});
