import { describe, expect, it } from 'vitest';
import { AGENTS } from '../../kit/agents.ts';
import { startHttpUpstream } from '../../kit/http-upstream.ts';
import { connectLegacy } from '../../kit/legacy-agent.ts';
import { connectModern } from '../../kit/modern-agent.ts';
import { connectPipe } from '../../kit/pipe-agent.ts';
import { descendants, untilAllGone } from '../../kit/processes.ts';
import { startStdioUpstream } from '../../kit/stdio-upstream.ts';

describe.each(AGENTS)('what tools of a scripted upstream do for a $era agent', ({ era, connect }) => {
  it('raw results pass as written', async () => {
    const result = { content: [{ type: 'video', data: 1 }], odd: null, _meta: { 'com.example/x': [] } };
    await using upstream = await startHttpUpstream({
      tools: ['card', 'bare'],
      calls: { card: { does: 'raw', result }, bare: { does: 'raw', result, exact: true } },
    });
    await using agent = await connect(upstream.url);
    expect((await agent.call('card')).result).toEqual(
      era === 'modern' ? { resultType: 'complete', ...result } : result,
    );
    expect((await agent.call('bare')).result).toEqual(result);
  });

  it('errors, failures and big results', async () => {
    await using upstream = await startHttpUpstream({ tools: ['rpc-error', 'fail', 'big'] });
    await using agent = await connect(upstream.url);
    const error = { code: -32042, message: 'sign in', data: { elicitations: [] } };
    await expect(agent.call('rpc-error', error)).rejects.toMatchObject({ code: -32042, data: error.data });
    expect((await agent.call('fail', { text: 'no' })).result).toMatchObject({ isError: true });
    expect((await agent.call('big', { bytes: 2_000_000 })).text).toHaveLength(2_000_000);
  });

  it('C-022: a burst of notices', async () => {
    await using upstream = await startHttpUpstream({ tools: ['burst'] });
    await using agent = await connect(upstream.url);
    await using notices = await agent.listen();
    await agent.call('burst', { count: 200 });
    await expect.poll(() => notices.count('notifications/tools/list_changed')).toBe(200);
  });

  it('C-060: progress with odd values, a foreign token, and after the response', async () => {
    await using upstream = await startHttpUpstream({ tools: ['progress'] });
    await using agent = await connect(upstream.url);
    const odd = await agent.call('progress', { values: [5, 3], token: 'mine' });
    expect(odd.progress.map((each) => [each['progressToken'], each['progress']])).toEqual([
      ['mine', 5],
      ['mine', 3],
    ]);
    await using pipe = await startStdioUpstream({ tools: ['progress'] });
    await using late = await connectPipe(pipe, { era });
    await late.call('progress', { steps: 1, token: 't', late: true });
    await late.notices.next('notifications/progress');
    await late.notices.next('notifications/progress');
  });

  it('unknown tools in every way there is', async () => {
    await using upstream = await startHttpUpstream({ tools: [] });
    await using agent = await connect(upstream.url);
    await expect(agent.call('x')).rejects.toMatchObject({ code: -32602 });
    await upstream.change({ unknownTool: 'is-error' });
    expect((await agent.call('x')).result['isError']).toBe(true);
    await upstream.change({ unknownTool: 'success' });
    expect((await agent.call('x')).result['isError']).toBeUndefined();
  });

  it('C-009: malformed items are listed as written', async () => {
    const tools = ['ok', { name: 'bad', inputSchema: null }, null, 7];
    await using upstream = await startHttpUpstream({ tools });
    await using agent = await connect(upstream.url);
    expect((await agent.result('tools/list'))['tools']).toEqual([
      { name: 'ok', description: 'Tool ok', inputSchema: { type: 'object' } },
      { name: 'bad', inputSchema: null },
      null,
      7,
    ]);
  });

  it('C-091: lists that are not offered, and lists that are not declared', async () => {
    await using upstream = await startHttpUpstream({
      prompts: [],
      resources: [],
      capabilities: { prompts: null, tools: {} },
      methods: { 'acme/x': { y: 1 } },
    });
    await using agent = await connect(upstream.url);
    expect(agent.hello['capabilities']).toMatchObject({ tools: {}, resources: { subscribe: true } });
    expect(agent.hello['capabilities']).not.toHaveProperty('prompts');
    await expect(agent.names('tools')).rejects.toMatchObject({ code: -32601 });
    expect(await agent.names('prompts')).toEqual([]);
    expect(await agent.result('acme/x')).toMatchObject({ y: 1 });
  });

  it('a held method waits for its release', async () => {
    await using upstream = await startHttpUpstream({
      tools: ['a'],
      faults: [{ on: 'tools/list', skip: 1, do: { hold: 'gate' } }],
    });
    await using agent = await connect(upstream.url);
    await agent.names();
    const names = agent.names();
    await upstream.untilReceived('tools/list', undefined, { times: 2 });
    expect(await upstream.release('gate')).toBe(1);
    expect(await names).toEqual(['a']);
  });

  it('a dropped request and a lost connection', async () => {
    await using upstream = await startHttpUpstream({
      tools: ['slow'],
      faults: [{ on: 'prompts/get', do: { drop: true } }],
    });
    await using agent = await connect(upstream.url);
    await expect(agent.request('prompts/get', { name: 'x' })).rejects.toThrow(/no answer/);
    const running = agent.begin('tools/call', { name: 'slow', arguments: {} });
    await upstream.untilReceived('tools/call');
    upstream.dropConnections();
    await expect(running.done).rejects.toThrow(/no answer/);
    expect(await agent.names()).toEqual(['slow']);
  });

  it('a bearer token is demanded', async () => {
    await using upstream = await startHttpUpstream({ tools: ['whoami'], http: { bearer: 'secret' } });
    await expect(connect(upstream.url)).rejects.toMatchObject({ answer: { status: 401 } });
    await using agent = await connect(upstream.url, { headers: { authorization: 'Bearer secret' } });
    const { structured } = await agent.call('whoami');
    expect(structured).toMatchObject({ era, headers: { authorization: 'Bearer secret' } });
    expect((await agent.http('GET', { authorization: null }).done).status).toBe(401);
  });
});

describe('what is of one era only', () => {
  it('C-069: a question on the shared channel reaches the GET stream', async () => {
    await using upstream = await startHttpUpstream({ tools: ['ask'] });
    await using agent = await connectLegacy(upstream.url, {
      capabilities: { roots: {} },
      answers: { 'roots/list': () => ({ roots: [] }) },
    });
    await using notices = await agent.listen();
    const { structured } = await agent.call('ask', { kind: 'roots', on: 'shared' });
    expect(structured).toEqual({ answers: [{ result: { roots: [] } }] });
    expect(notices.all[0]).toMatchObject({ id: 0, method: 'roots/list' });
  });

  it('a raw message reaches everyone, stamped on listen streams', async () => {
    await using upstream = await startHttpUpstream({ tools: [] });
    await using old = await connectLegacy(upstream.url);
    await using modern = await connectModern(upstream.url);
    await using first = await old.listen();
    await using second = await modern.listen({ tools: true }, { id: 'mine' });
    await upstream.push({ jsonrpc: '2.0', method: 'notifications/vendor', params: { a: 1 } });
    expect(await first.next('notifications/vendor')).toMatchObject({ params: { a: 1 } });
    expect(await second.next('notifications/vendor')).toMatchObject({
      params: { a: 1, _meta: { 'io.modelcontextprotocol/subscriptionId': 'mine' } },
    });
  });

  it('the 2024-11-05 pair names its endpoint as the script wants', async () => {
    await using upstream = await startHttpUpstream({
      http: { sse: 'only', ssePath: '/base/sse', sseEndpoint: 'messages?sid={sid}' },
    });
    await using agent = await connectLegacy(upstream.sseUrl, { greet: false });
    const stream = agent.http('GET');
    expect((await stream.opened).status).toBe(200);
    expect((await agent.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(405);
    stream.abort();
    expect((await stream.done).text).toMatch(/^event: endpoint\ndata: messages\?sid=[\w-]+\n\n$/);
  });

  it('C-032: a server behind a shell ends with its handle', async () => {
    const upstream = await startStdioUpstream({ stdio: { ignoreEof: true, ignoreSigterm: true } });
    const shell = { command: 'sh', args: ['-c', `${upstream.shellLine} & wait`], env: upstream.env };
    // The wrapper gives its background job no input, so nothing can be asked of it.
    const wrapper = await connectPipe(shell, { era: 'legacy', greet: false });
    const pid = await upstream.untilStarted();
    expect(descendants(wrapper.pid)).toEqual([pid]);
    await wrapper[Symbol.asyncDispose]();
    expect(upstream.pids).toEqual([pid]);
    await upstream[Symbol.asyncDispose]();
    await untilAllGone([pid]);
  });
});

describe('waiting', () => {
  it('says what came when the right thing did not', async () => {
    await using upstream = await startHttpUpstream({ id: 'u', tools: [] });
    await using agent = await connectModern(upstream.url);
    await expect(upstream.untilReceived('tools/list', undefined, { timeout: 1 })).rejects.toThrow(
      'u did not receive tools/list (1 of them); it received server/discover',
    );
    await using notices = await agent.listen();
    await expect(notices.next('notifications/x', 1)).rejects.toThrow(/no notifications\/x came/);
    await upstream.endListens('result');
    await expect(notices.next('notifications/x')).rejects.toThrow(/ended \(whole\) without/);
  });

  it('counts from a mark on', async () => {
    await using upstream = await startHttpUpstream({ tools: [] });
    await using agent = await connectModern(upstream.url);
    await agent.names();
    const after = upstream.mark();
    const next = upstream.untilReceived('tools/list', undefined, { after });
    await agent.names();
    expect((await next).n).toBe(after);
  });
});
