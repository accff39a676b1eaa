import { describe, expect, it } from 'vitest';
import { connectPipe } from '../../kit/pipe-agent.ts';
import { alive, untilGone } from '../../kit/processes.ts';
import { startStdioUpstream } from '../../kit/stdio-upstream.ts';

describe.each(['legacy', 'modern'] as const)('a scripted child process and a %s client', (era) => {
  it('serves, is steered and watched', async () => {
    await using upstream = await startStdioUpstream({ id: 'kid', tools: ['whoami', 'slow'] });
    await using agent = await connectPipe(upstream, { era });
    const pid = await upstream.untilStarted();
    expect((await agent.call('whoami')).structured).toMatchObject({ id: 'kid', pid, era });
    await upstream.setTools(['slow', 'late']);
    expect(await agent.names()).toEqual(['slow', 'late']);
    const running = agent.begin('tools/call', { name: 'slow', arguments: {} });
    await upstream.untilReceived('tools/call', ({ params }) => params['name'] === 'slow');
    expect(await upstream.release('slow')).toBe(1);
    expect((await running.done).result).toMatchObject({ structuredContent: { done: true } });
  });

  it('announces changes', async () => {
    await using upstream = await startStdioUpstream({ tools: ['a'] });
    await using agent = await connectPipe(upstream, { era });
    if (era === 'modern') {
      agent.begin('subscriptions/listen', { notifications: { toolsListChanged: true } });
    }
    await upstream.untilListening();
    await upstream.notify('tools', { times: 2 });
    await agent.notices.next('notifications/tools/list_changed');
    await agent.notices.next('notifications/tools/list_changed');
  });

  it('cancels what it is told to', async () => {
    await using upstream = await startStdioUpstream({ tools: ['slow'] });
    await using agent = await connectPipe(upstream, { era });
    const { id } = agent.begin('tools/call', { name: 'slow', arguments: {} });
    await upstream.untilReceived('tools/call');
    agent.notify('notifications/cancelled', { requestId: id });
    await upstream.untilReceived('notifications/cancelled');
    expect(await upstream.release('slow')).toBe(0);
  });
});

describe('a scripted child process', () => {
  it('starts anew with the script of the moment', async () => {
    await using upstream = await startStdioUpstream({ tools: ['crash'] });
    const first = await connectPipe(upstream, { era: 'legacy' });
    first.begin('tools/call', { name: 'crash', arguments: { code: 3 } });
    expect(await first.exit).toBe(3);
    expect(upstream.count('tools/call')).toBe(1);
    await upstream.setTools(['other']);
    await using second = await connectPipe(upstream, { era: 'legacy' });
    expect(await second.names()).toEqual(['other']);
    expect(upstream.starts).toBe(2);
    expect(upstream.pids).toEqual([upstream.everyPid[1]]);
  });

  it('ends with its input, unless told to ignore that and SIGTERM', async () => {
    await using tidy = await startStdioUpstream({ tools: [] });
    const one = await connectPipe(tidy, { era: 'legacy' });
    one.endInput();
    expect(await one.exit).toBe(0);

    const stubborn = await startStdioUpstream({ stdio: { ignoreEof: true, ignoreSigterm: true } });
    const two = await connectPipe(stubborn, { era: 'legacy' });
    const pid = await stubborn.untilStarted();
    two.endInput();
    process.kill(pid, 'SIGTERM');
    await stubborn.change({ instructions: 'still there' });
    expect(alive(pid)).toBe(true);
    await stubborn[Symbol.asyncDispose]();
    await untilGone(pid);
  });

  it('leaves when the test that steers it is gone', async () => {
    const upstream = await startStdioUpstream({ stdio: { ignoreEof: true, ignoreSigterm: true } });
    await connectPipe(upstream, { era: 'legacy' });
    const pid = await upstream.untilStarted();
    await upstream[Symbol.asyncDispose]();
    expect(alive(pid)).toBe(false);
  });

  it('C-028, C-029: writes noise, and cuts characters in two', async () => {
    await using upstream = await startStdioUpstream({
      tools: ['echo'],
      stdio: {
        banner: ['Welcome!\n', '\u001b[31mred\u001b[0m\r\n'],
        noise: ['[log] x\n'],
        splitCharacters: true,
      },
    });
    await using agent = await connectPipe(upstream, { era: 'modern' });
    expect((await agent.call('echo', { text: '读—é🎉' })).structured).toEqual({ text: '读—é🎉' });
    expect(agent.noise.slice(0, 3)).toEqual(['Welcome!', '\u001b[31mred\u001b[0m\r', '[log] x']);
    // Whether a cut is seen is up to the pipe, so it is tried until it is.
    await expect
      .poll(async () => {
        await agent.call('echo', { text: 'é' });
        return agent.chunks.some((chunk) => chunk.toString('utf8').includes('\ufffd'));
      })
      .toBe(true);
  });

  it('C-098: dies on a probe', async () => {
    await using upstream = await startStdioUpstream({ era: 'legacy', stdio: { exitUnlessInitialize: true } });
    const probing = await connectPipe(upstream, { era: 'modern', greet: false });
    probing.begin('server/discover');
    expect(await probing.exit).toBe(1);
    expect(upstream.count('server/discover')).toBe(1);
    await using agent = await connectPipe(upstream, { era: 'legacy' });
    expect(agent.hello).toMatchObject({ protocolVersion: '2025-11-25' });
  });

  it('tells its environment and writes to stderr', async () => {
    await using upstream = await startStdioUpstream({ tools: ['env', 'stderr'] });
    await using agent = await connectPipe(upstream, { era: 'legacy', env: { ONE: '1' } });
    const { structured } = await agent.call('env', { names: ['ONE', 'NO_SUCH'] });
    expect(structured).toMatchObject({ env: { ONE: '1', NO_SUCH: null }, cwd: process.cwd() });
    await agent.call('stderr', { text: 'hello from stderr' });
    await expect.poll(() => agent.stderr()).toContain('hello from stderr');
  });
});
