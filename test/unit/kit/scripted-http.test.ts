import { describe, expect, it } from 'vitest';
import { CLOSED } from '../../fixtures/upstreams/scripted-peer.ts';
import { META } from '../../fixtures/upstreams/scripted-script.ts';
import { AGENTS } from '../../kit/agents.ts';
import { startHttpUpstream } from '../../kit/http-upstream.ts';
import { connectLegacy } from '../../kit/legacy-agent.ts';
import { connectModern } from '../../kit/modern-agent.ts';

describe.each(AGENTS)('a scripted HTTP upstream and a $era agent', ({ era, connect }) => {
  it('lists, calls, reads, gets and completes', async () => {
    await using upstream = await startHttpUpstream({
      id: 'one',
      tools: ['echo', 'b', 'c'],
      prompts: ['hello'],
      resources: ['file:///a'],
      templates: ['db://{table}/{id}'],
      pageSize: 2,
    });
    await using agent = await connect(upstream.url);
    expect(await agent.names()).toEqual(['echo', 'b', 'c']);
    expect(upstream.count('tools/list')).toBe(2);
    expect(await agent.names('templates')).toEqual(['db://{table}/{id}']);
    const answer = await agent.call('echo', { a: [1, null, 'é🎉'] });
    expect(answer.structured).toEqual({ a: [1, null, 'é🎉'] });
    expect(await agent.result('resources/read', { uri: 'db://users/7' })).toMatchObject({
      contents: [{ uri: 'db://users/7', text: 'db://users/7 of one' }],
    });
    expect(await agent.result('prompts/get', { name: 'hello', arguments: { topic: 'x' } })).toMatchObject({
      messages: [{ role: 'user' }],
    });
    const ref = { type: 'ref/prompt', name: 'hello' };
    const completion = { ref, argument: { name: 'topic', value: 'a' } };
    expect(await agent.result('completion/complete', completion)).toMatchObject({
      completion: { values: ['a-1', 'a-2', 'hello'] },
    });
    await expect(agent.call('nobody')).rejects.toMatchObject({ code: -32602 });
    await expect(agent.result('no/such')).rejects.toMatchObject({ code: -32601 });
  });

  it('delivers progress and logs on the stream of the call', async () => {
    await using upstream = await startHttpUpstream({ tools: ['progress', 'log'] });
    await using agent = await connect(upstream.url);
    const { progress } = await agent.call('progress', { steps: 3 }, { progressToken: 0 });
    expect(progress.map((note) => [note['progressToken'], note['progress']])).toEqual([
      [0, 1],
      [0, 2],
      [0, 3],
    ]);
    expect((await agent.call('progress')).progress).toEqual([]);
    const meta = { [META.logLevel]: 'debug' };
    expect((await agent.call('log', { times: 2 }, { meta })).logs).toHaveLength(2);
    expect((await agent.call('log')).logs).toHaveLength(era === 'modern' ? 0 : 1);
  });

  it('announces changes to who listens, and only what was asked for', async () => {
    await using upstream = await startHttpUpstream({ tools: ['grow'], resources: ['u://x', 'u://y'] });
    await using agent = await connect(upstream.url);
    await using notices = await agent.listen({ tools: true, uris: ['u://x'] });
    await upstream.untilListening();
    await agent.call('grow', { name: 'late' });
    await notices.next('notifications/tools/list_changed');
    expect(await agent.names()).toEqual(['grow', 'late']);
    await upstream.notify({ updated: 'u://y' });
    await upstream.notify({ updated: 'u://x' });
    const updated = await notices.next('notifications/resources/updated');
    expect(updated['params']).toMatchObject({ uri: 'u://x' });
    expect(notices.count('notifications/resources/updated')).toBe(1);
    if (era === 'modern') {
      const stamp = {
        [META.subscription]: upstream.received.find((r) => r.method === 'subscriptions/listen')?.id,
      };
      expect(notices.all.every((message) => JSON.stringify(message).includes(JSON.stringify(stamp)))).toBe(
        true,
      );
    }
  });

  it('waits for new tools by notices, not by time', async () => {
    await using upstream = await startHttpUpstream({ tools: ['a'] });
    await using agent = await connect(upstream.url);
    const ready = agent.untilNames((names) => names.includes('b'));
    await upstream.untilReceived('tools/list');
    await upstream.addTool('b');
    await upstream.notify('tools');
    expect(await ready).toEqual(['a', 'b']);
  });

  it('holds a slow call until it is released', async () => {
    await using upstream = await startHttpUpstream({ tools: ['slow'] });
    await using agent = await connect(upstream.url);
    const running = agent.begin('tools/call', { name: 'slow', arguments: { tag: 'x' } });
    await upstream.untilReceived('tools/call');
    expect(await upstream.release('slow')).toBe(1);
    expect((await running.done).result).toMatchObject({ structuredContent: { done: 'x' } });
  });

  it('notices a cancel in the way of the era', async () => {
    await using upstream = await startHttpUpstream({ tools: ['slow'] });
    await using agent = await connect(upstream.url);
    const running = agent.begin('tools/call', { name: 'slow', arguments: {} });
    const { id } = await upstream.untilReceived('tools/call');
    await agent.cancel(running);
    if (era === 'modern') {
      const closed = await upstream.untilReceived(CLOSED);
      expect(closed.params).toEqual({ requestId: id, method: 'tools/call' });
    } else {
      const cancelled = await upstream.untilReceived('notifications/cancelled');
      expect(cancelled.params).toMatchObject({ requestId: id });
    }
    expect(await upstream.release('slow')).toBe(0);
  });

  it.each(['elicitation', 'sampling', 'roots'])('asks for %s and hears the answer', async (kind) => {
    await using upstream = await startHttpUpstream({ tools: ['ask'] });
    const content = { action: 'accept', content: { name: 'friend' } };
    await using agent = await connect(upstream.url, {
      capabilities: { [kind]: {} },
      answers: {
        'elicitation/create': () => content,
        'sampling/createMessage': () => content,
        'roots/list': () => content,
      },
    });
    const { structured, rounds } = await agent.call('ask', { kind, rounds: 2 });
    expect(structured).toEqual({ answers: [{ result: content }, { result: content }] });
    expect(rounds).toBe(era === 'modern' ? 3 : 1);
  });

  it('does not ask a client that declared nothing', async () => {
    await using upstream = await startHttpUpstream({ tools: ['ask'] });
    await using agent = await connect(upstream.url);
    if (era === 'modern') {
      await expect(agent.call('ask')).rejects.toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { elicitation: {} } },
        answer: { status: 400 },
      });
    } else {
      expect((await agent.call('ask')).result['isError']).toBe(true);
      const { structured } = await agent.call('ask', { always: true });
      expect(structured).toMatchObject({ answers: [{ error: { code: -32601 } }] });
    }
  });

  it('answers as the faults say, page by page and so often', async () => {
    await using upstream = await startHttpUpstream({
      tools: ['a', 'b', 'c'],
      pageSize: 2,
      faults: [
        { on: 'tools/list', page: 2, times: 1, do: { error: { code: -32603, message: 'not now' } } },
        {
          on: 'prompts/list',
          do: { status: 502, body: '<html>', headers: { 'content-type': 'text/html' } },
        },
      ],
    });
    await using agent = await connect(upstream.url);
    await expect(agent.names()).rejects.toMatchObject({ code: -32603 });
    expect(await agent.names()).toEqual(['a', 'b', 'c']);
    const answer = await agent.request('prompts/list');
    expect([answer.status, answer.text, answer.messages]).toEqual([502, '<html>', []]);
  });

  it.each(['same', 'cycle', 'endless'] as const)('can give %s cursors', async (how) => {
    await using upstream = await startHttpUpstream({ tools: ['a'], cursors: { tools: how } });
    await using agent = await connect(upstream.url);
    const first = await agent.result('tools/list');
    const second = await agent.result('tools/list', { cursor: String(first['nextCursor']) });
    expect(second['nextCursor']).toBe({ same: 'page-2', cycle: 'page-1', endless: 'page-3' }[how]);
    if (how !== 'endless') {
      await expect(agent.names()).rejects.toThrow(/came twice/);
    }
  });

  it('refuses while killed and serves again on the same port', async () => {
    await using upstream = await startHttpUpstream({ tools: ['a'] });
    await using agent = await connect(upstream.url);
    await upstream.kill();
    await expect(agent.names()).rejects.toThrow(/no answer/);
    await upstream.restart({ tools: ['b'] });
    await using again = await connect(upstream.url);
    expect(await again.names()).toEqual(['b']);
    expect(upstream.starts).toBe(2);
  });
});

describe('legacy sessions of a scripted HTTP upstream', () => {
  it('are required, forgotten and deleted', async () => {
    await using upstream = await startHttpUpstream({ era: 'legacy', tools: ['count'] });
    await using agent = await connectLegacy(upstream.url);
    await using other = await connectLegacy(upstream.url);
    await agent.call('count');
    expect((await agent.call('count')).structured).toEqual({ count: 2 });
    expect((await other.call('count')).structured).toEqual({ count: 1 });
    expect((await other.http('DELETE').done).status).toBe(200);
    expect((await other.http('DELETE').done).status).toBe(404);
    upstream.forgetSessions();
    expect((await agent.request('tools/list')).status).toBe(404);
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await agent.post(body)).status).toBe(400);
    expect((await agent.post('{')).error).toMatchObject({ code: -32700 });
  });

  it('negotiate every legacy version', async () => {
    await using upstream = await startHttpUpstream({ versions: ['2024-11-05', '2025-03-26'] });
    await using old = await connectLegacy(upstream.url, { version: '2024-11-05' });
    await using newest = await connectLegacy(upstream.url);
    expect([old.version, newest.version]).toEqual(['2024-11-05', '2025-03-26']);
    await old.request('ping');
    expect(upstream.received.at(-1)?.headers).not.toHaveProperty('mcp-protocol-version');
  });

  it('resume a stream that was dropped', async () => {
    await using upstream = await startHttpUpstream({
      tools: ['slow'],
      http: { answers: 'sse', eventIds: true, retry: 7 },
    });
    await using agent = await connectLegacy(upstream.url);
    const running = agent.begin(
      'tools/call',
      { name: 'slow', arguments: { steps: 1 } },
      { progressToken: 'p' },
    );
    await running.next('notifications/progress');
    upstream.dropStreams();
    const broken = await running.done;
    expect([broken.ended, broken.retry, broken.events.length]).toEqual(['broken', 7, 2]);
    await upstream.release('slow');
    const last = String(broken.events.at(0)?.id);
    const resumed = await agent.http('GET', { 'last-event-id': last }).done;
    expect(resumed.messages.map((message) => message['method'] ?? 'response')).toEqual([
      'notifications/progress',
      'response',
    ]);
  });

  it('a dropped connection is recorded but cancels nothing', async () => {
    await using upstream = await startHttpUpstream({ tools: ['slow'] });
    await using agent = await connectLegacy(upstream.url);
    const running = agent.begin('tools/call', { name: 'slow', arguments: {} });
    await upstream.untilReceived('tools/call');
    running.abort();
    await upstream.untilReceived(CLOSED);
    expect(await upstream.release('slow')).toBe(1);
    expect((await running.done).ended).toBe('client');
  });
});

describe('the modern side of a scripted HTTP upstream', () => {
  it('refuses headers that do not mirror the body', async () => {
    const inputSchema = {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    };
    await using upstream = await startHttpUpstream({ era: 'modern', tools: [{ name: 'sql', inputSchema }] });
    await using agent = await connectModern(upstream.url);
    const ask = (headers: Record<string, string | null>) =>
      agent.request('tools/call', { name: 'sql', arguments: { region: 'süd' } }, { headers });
    expect((await ask({})).error).toMatchObject({ code: -32020 });
    await agent.names();
    expect((await ask({})).status).toBe(200);
    for (const name of ['mcp-name', 'mcp-method', 'mcp-protocol-version', 'mcp-param-region']) {
      const refused = await ask({ [name]: null });
      expect([name, refused.status, refused.error?.code]).toEqual([name, 400, -32020]);
    }
    expect((await agent.http('GET').done).status).toBe(405);
    expect(upstream.count('tools/call')).toBe(6);
  });

  it('names its versions to a version it does not speak, and to legacy clients', async () => {
    await using upstream = await startHttpUpstream({ era: 'modern' });
    await expect(connectModern(upstream.url, { version: '2099-01-01' })).rejects.toMatchObject({
      code: -32022,
      data: { supported: ['2026-07-28'], requested: '2099-01-01' },
    });
    await expect(connectLegacy(upstream.url)).rejects.toMatchObject({ code: -32022 });
  });

  it('is not there in a legacy-only server', async () => {
    await using upstream = await startHttpUpstream({ era: 'legacy' });
    await expect(connectModern(upstream.url)).rejects.toMatchObject({
      code: -32000,
      answer: { status: 400 },
    });
    expect(upstream.count('server/discover')).toBe(1);
  });

  it.each(['result', 'cut', 'cancelled'] as const)('ends a listen stream by %s', async (how) => {
    await using upstream = await startHttpUpstream({ tools: ['a'] });
    await using agent = await connectModern(upstream.url);
    await using notices = await agent.listen({ tools: true, prompts: true });
    expect(notices.acknowledged).toMatchObject({ notifications: { toolsListChanged: true } });
    await upstream.endListens(how);
    const { ended, result, messages } = await notices.closed;
    expect(ended).toBe(how === 'cut' ? 'broken' : 'whole');
    expect(result?.['resultType']).toBe(how === 'result' ? 'complete' : undefined);
    expect(messages.at(-1)?.['method']).toBe(
      {
        result: undefined,
        cut: 'notifications/subscriptions/acknowledged',
        cancelled: 'notifications/cancelled',
      }[how],
    );
  });

  it('gives the hints of the script', async () => {
    await using upstream = await startHttpUpstream({
      tools: [],
      prompts: [],
      hints: { ttlMs: -5, cacheScope: null },
      hintsFor: { 'prompts/list': { ttlMs: 9, cacheScope: 'public' } },
    });
    await using agent = await connectModern(upstream.url);
    expect(await agent.result('tools/list')).toEqual({ resultType: 'complete', ttlMs: -5, tools: [] });
    expect(await agent.result('prompts/list')).toMatchObject({ ttlMs: 9, cacheScope: 'public' });
  });
});
