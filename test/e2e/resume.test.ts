import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import type { Agent, AgentOptions } from '../kit/agent.ts';
import { startFaultProxy } from '../kit/faults.ts';
import type { Exchange } from '../kit/http-exchange.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const PROGRESS = 'notifications/progress';
const CHANGED = 'notifications/tools/list_changed';

/** A call that reports its progress in steps, each of which waits for `release('step')`. */
const STEPPED = { name: 'up.progress', arguments: { steps: 3, gate: 'step' } };
const tools = ['echo', 'progress', 'slow', 'ask', 'log'];

const begin = (agent: Agent, call: object = STEPPED) =>
  agent.begin('tools/call', { ...call }, { progressToken: 'p' });

/** Cuts a connection, and tells the last event that came over it. */
async function lose(running: Exchange): Promise<string> {
  running.abort();
  const { events } = await running.done;
  const last = events.findLast(({ id }) => id !== undefined)?.id;
  if (last === undefined) {
    throw new Error('there was no event id');
  }
  return last;
}

/** Lets a tool go on that waits, or soon will. */
const step = (up: ScriptedUpstream, label = 'step') => expect.poll(() => up.release(label)).toBe(1);
const resume = (agent: Agent, lastEvent: string) => agent.http('GET', { 'last-event-id': lastEvent });
const steps = (messages: readonly object[]) =>
  messages.flatMap((message) =>
    'params' in message ? (message.params as { progress?: number }).progress : [],
  );

async function scene(config: object = {}, options: AgentOptions = {}, upstream: object = {}) {
  const up: ScriptedUpstream = await startHttpUpstream({ id: 'up', tools, ...upstream });
  const gateway = await startGateway({ upstreams: { up: up.config }, ...config });
  const agent = await connectLegacy(gateway.url, options);
  await agent.untilNames((names) => names.length === tools.length);
  const end = async () => {
    await agent[Symbol.asyncDispose]();
    await gateway.close();
    await up[Symbol.asyncDispose]();
  };
  return { up, gateway, agent, [Symbol.asyncDispose]: end };
}

describe('event streams of a session', () => {
  it('begin with an event that has an id and no data, and give every event an id of its own', async () => {
    await using here = await scene();
    const call = begin(here.agent);
    await using own = await here.agent.listen();
    await call.next(PROGRESS);
    await step(here.up);
    await call.next(PROGRESS);
    await step(here.up);
    await call.next(PROGRESS);
    await step(here.up);
    const { events, retry, result } = await call.done;
    expect(result).toBeDefined();
    expect(events.map(({ data }) => data === '')).toEqual([true, false, false, false, false]);
    expect(retry).toBeGreaterThan(0);
    const ids = events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(5);
    expect(ids.every((id) => /^[\x21-\x7e]{1,64}$/.test(id ?? ''))).toBe(true);
    await own.close();
    const [first] = (await own.closed).events;
    expect(first).toMatchObject({ data: '', id: expect.any(String) });
    expect(ids).not.toContain(first?.id);
  });

  it.each(['2025-06-18', '2025-03-26', '2024-11-05'])(
    'in version %s have ids, but no event without data, which clients of that time fail on',
    async (version) => {
      await using here = await scene({}, { version });
      const { events } = await begin(here.agent, { name: 'up.progress', arguments: { steps: 2 } }).done;
      expect(events.map(({ data, id }) => data !== '' && id !== undefined)).toEqual([true, true, true]);
    },
  );

  it('take the place of JSON when an answer takes long, so that it can be waited for somewhere else', async () => {
    await using here = await scene({ streams: { openAfter: '1ms' } });
    const slow = begin(here.agent, { name: 'up.slow', arguments: {} });
    expect((await slow.opened).headers['content-type']).toContain('text/event-stream');
    const last = await lose(slow);
    await step(here.up, 'slow');
    const { result } = await resume(here.agent, last).done.then(
      ({ messages }) => messages[0] as { result: object },
    );
    expect(result).toMatchObject({ structuredContent: { done: true } });
  });

  it('are not used where there is nothing to say before the answer', async () => {
    await using here = await scene();
    const { headers } = await here.agent.request('tools/call', { name: 'up.echo', arguments: {} });
    expect(headers['content-type']).toContain('application/json');
  });
});

describe.each([
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const)('a call whose connection broke, at a $era upstream over $carrier,', ({ era, start }) => {
  it('goes on; what the client missed is sent again, then the rest as it comes, up to the result', async () => {
    await using up: ScriptedUpstream = await start({ id: 'up', era, tools });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await using agent = await connectLegacy(gateway.url);
    await agent.untilNames((names) => names.length === tools.length);
    const call = begin(agent);
    await call.next(PROGRESS);
    const last = await lose(call);
    await step(up);
    const again = resume(agent, last);
    expect(steps([await again.next(PROGRESS)])).toEqual([2]);
    await step(up);
    await again.next(PROGRESS);
    await step(up);
    const { messages, ended } = await again.done;
    expect(steps(messages)).toEqual([2, 3]);
    expect(messages.at(-1)).toMatchObject({ id: call.id, result: { structuredContent: { steps: 3 } } });
    expect(ended).toBe('whole');
    expect(up.received.filter(({ method }) => method === 'notifications/cancelled')).toEqual([]);
  });
});

describe('taking up a stream', () => {
  it('works after the call is over, again and again, and is refused with 204 once nothing is left', async () => {
    await using here = await scene();
    const call = begin(here.agent, { name: 'up.progress', arguments: { steps: 2 } });
    const { events } = await call.done;
    const [priming, first] = events.map(({ id }) => id ?? '');
    expect(steps((await resume(here.agent, priming!).done).messages)).toEqual([1, 2]);
    const twice = await resume(here.agent, first!).done;
    expect(steps(twice.messages)).toEqual([2]);
    expect(twice.messages.at(-1)).toMatchObject({ id: call.id, result: {} });
    expect((await resume(here.agent, events.at(-1)?.id ?? '').done).status).toBe(204);
  });

  it('moves it: the connection before ends, and each message is sent on one only', async () => {
    await using here = await scene();
    const { agent, up } = here;
    const response = await fetch(agent.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': agent.sessionId ?? '',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'x',
        method: 'tools/call',
        params: { ...STEPPED, _meta: { progressToken: 'p' } },
      }),
    });
    const pieces = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    const { value: head = '' } = await pieces.next();
    // Nobody has noticed yet that this connection is of no use any more.
    const again = resume(agent, /^id: (.+)$/m.exec(head)?.[1] ?? '');
    await again.next(PROGRESS);
    await step(up);
    await again.next(PROGRESS);
    let rest = head;
    for (let piece = await pieces.next(); !piece.done; piece = await pieces.next()) {
      rest += piece.value;
    }
    expect(rest.match(/"progress":\d/g)).toEqual(['"progress":1']);
    again.abort();
  });

  it('brings the questions too that the server had meanwhile', async () => {
    const answers = { 'elicitation/create': () => ({ action: 'accept', content: { name: 'Ada' } }) };
    await using here = await scene(
      { streams: { openAfter: '1ms' } },
      { capabilities: { elicitation: {} }, answers },
      { faults: [{ on: 'tools/call', times: 1, do: { hold: 'call' } }] },
    );
    const call = begin(here.agent, { name: 'up.ask', arguments: { kind: 'elicitation' } });
    await call.opened;
    const last = await lose(call);
    await step(here.up, 'call');
    const { messages } = await resume(here.agent, last).done;
    expect(messages.map((message) => message['method'] ?? 'answer')).toEqual([
      'elicitation/create',
      'answer',
    ]);
    expect(messages.at(-1)).toMatchObject({
      result: { structuredContent: { answers: [{ result: { content: { name: 'Ada' } } }] } },
    });
  });

  it('keeps as much as configured, the newest events first of all', async () => {
    await using here = await scene({ streams: { replayEvents: 3 } });
    const logs = { name: 'up.log', arguments: { times: 20, always: true } };
    const { events } = await begin(here.agent, logs).done;
    expect(events.length).toBe(22);
    const { messages } = await resume(here.agent, events[0]?.id ?? '').done;
    const told = messages.map(({ params }) => (params as { data?: string } | undefined)?.data);
    expect(told).toEqual(['line 19', 'line 20', undefined]);
    expect(messages.at(-1)).toMatchObject({ result: { structuredContent: { lines: 20 } } });
  });

  it('never shows the stream of another session', async () => {
    await using here = await scene();
    await using other = await connectLegacy(here.gateway.url);
    const call = begin(here.agent);
    await call.next(PROGRESS);
    const last = await lose(call);
    const stranger = resume(other, last);
    expect((await stranger.opened).status).toBe(200);
    const mine = resume(here.agent, last);
    await step(here.up);
    expect(steps([await mine.next(PROGRESS)])).toEqual([2]);
    stranger.abort();
    const { messages, events } = await stranger.done;
    expect(messages).toEqual([]);
    expect(events[0]?.id?.split('.')[0]).not.toBe(last.split('.')[0]);
  });

  it.each(['nonsense', 'AAAAAAAAAAAA.1', '9'.repeat(5_000)])(
    'begins a new stream of the session for an id it does not know (%#)',
    async (id) => {
      await using here = await scene();
      const stream = resume(here.agent, id);
      expect((await stream.opened).status).toBe(200);
      await grow(here.up);
      await stream.next(CHANGED);
    },
  );
});

describe('the own stream of a session', () => {
  it('brings the changes of the time between two connections', async () => {
    await using here = await scene();
    const before = await here.agent.listen();
    await before.close();
    const last = (await before.closed).events[0]?.id ?? '';
    await grow(here.up);
    await expect.poll(() => here.agent.names()).toContain('up.more');
    const after = resume(here.agent, last);
    await after.next(CHANGED);
    after.abort();
  });

  it('is a new one without the id; the one before is over, and its messages are never sent on another', async () => {
    await using here = await scene();
    const before = await here.agent.listen();
    await before.close();
    const last = (await before.closed).events[0]?.id ?? '';
    const again = resume(here.agent, last);
    await grow(here.up);
    await again.next(CHANGED);
    again.abort();
    await again.done;
    await using fresh = await here.agent.listen();
    const { messages, ended } = await resume(here.agent, last).done;
    expect({ ended, changes: messages.map(({ method }) => method) }).toEqual({
      ended: 'whole',
      changes: [CHANGED],
    });
    expect(fresh.count()).toBe(0);
  });

  it('of several that are open, one gets each message: the newest, or what is left when that breaks', async () => {
    await using here = await scene();
    await using older = await here.agent.listen();
    const newer = await here.agent.listen();
    await grow(here.up);
    await newer.next(CHANGED);
    await newer.close();
    await grow(here.up, 'again');
    await older.next(CHANGED);
    expect(older.count(CHANGED)).toBe(1);
  });

  it('is open again after a restart of the gateway, whatever id the client has', async () => {
    await using here = await scene();
    const before = await here.agent.listen();
    await here.gateway.restart();
    const last = (await before.closed).events[0]?.id ?? '';
    // Connections of before the restart are of no use, and the agent finds that out one by one.
    await expect.poll(() => here.agent.request('ping').then(({ status }) => status, String)).toBe(200);
    const after = resume(here.agent, last);
    await grow(here.up);
    await after.next(CHANGED);
    after.abort();
    const { events } = await after.done;
    expect(events[0]).toMatchObject({ data: '' });
    expect(events[0]?.id).not.toBe(last);
  });
});

describe('DELETE', () => {
  it('ends every stream of the session, and what was kept of it', async () => {
    await using here = await scene();
    const own = await here.agent.listen();
    const call = begin(here.agent);
    await call.next(PROGRESS);
    await here.agent.http('DELETE').done;
    expect((await own.closed).ended).toBe('whole');
    const { ended, events } = await call.done;
    expect(ended).toBe('whole');
    expect((await resume(here.agent, events[0]?.id ?? '').done).status).toBe(404);
  });
});

describe('a request that is still being served when its session ends', () => {
  it('begins nothing more for it: no resource is watched for nobody', async () => {
    const resources = [{ uri: 'note://x' }, { uri: 'note://y' }];
    await using up = await startHttpUpstream({
      id: 'up',
      era: 'legacy',
      resources,
      capabilities: { resources: { subscribe: true } },
    });
    const fault = { on: 'initialize', do: { hold: 'connect' } };
    await using late = await startHttpUpstream({ id: 'late', era: 'legacy', faults: [fault] });
    const config = { lists: { firstWait: '1m' }, upstreams: { up: up.config, late: late.config } };
    await using gateway = await startGateway(config);
    await late.untilReceived('initialize');
    const gone = await connectLegacy(gateway.url);
    // It waits for the server that may own it and is still connecting.
    const subscribing = gone.begin('resources/subscribe', { uri: 'note://x' });
    await using staying = await connectLegacy(gateway.url);
    const other = staying.begin('resources/subscribe', { uri: 'note://y' });
    await expect.poll(() => gateway.gateway.fleet.isPending('up')).toBe(false);
    await gone.http('DELETE').done;
    await late.release('connect');
    await Promise.all([subscribing.done, other.done]);
    const { params } = await up.untilReceived('resources/subscribe');
    expect(params).toMatchObject({ uri: 'note://y' });
  });
});

describe('an upstream that closes a stream of its own before the result', () => {
  it('changes nothing for the client', async () => {
    await using here = await scene({}, {}, { era: 'legacy', http: { eventIds: true, retry: 1 } });
    const call = begin(here.agent);
    await call.next(PROGRESS);
    (here.up as Awaited<ReturnType<typeof startHttpUpstream>>).dropStreams();
    await step(here.up);
    await call.next(PROGRESS);
    await step(here.up);
    await call.next(PROGRESS);
    await step(here.up);
    const { messages } = await call.done;
    expect(steps(messages)).toEqual([1, 2, 3]);
    expect(messages.at(-1)).toMatchObject({ result: { structuredContent: { steps: 3 } } });
  });
});

describe('the client of the SDK (v1)', () => {
  const connect = async (url: string, sessionId?: string) => {
    const client = new Client({ name: 'resumer', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL(url), sessionId ? { sessionId } : {});
    await client.connect(transport as Transport);
    return { client, transport, [Symbol.asyncDispose]: () => client.close() };
  };

  it('gets its result by itself when the connection breaks in the middle of a call', async () => {
    await using here = await scene({ listen: { allowedHosts: ['*'] } });
    await using proxy = await startFaultProxy(here.gateway.port);
    await using sdk = await connect(proxy.url('/mcp'));
    const seen: number[] = [];
    const result = sdk.client.callTool(STEPPED, undefined, {
      onprogress: ({ progress }) => void seen.push(progress),
    });
    await expect.poll(() => seen).toEqual([1]);
    proxy.resetOnce();
    await step(here.up);
    await expect.poll(() => seen, { timeout: 5_000 }).toEqual([1, 2]);
    await step(here.up);
    await expect.poll(() => seen).toEqual([1, 2, 3]);
    await step(here.up);
    expect(await result).toMatchObject({ structuredContent: { steps: 3 } });
  });

  it('takes up a call of a process that has ended, with the token it kept', async () => {
    await using here = await scene();
    const first = await connect(here.gateway.url);
    let token = '';
    const seen: number[] = [];
    const lost = first.client.callTool(STEPPED, undefined, {
      onprogress: ({ progress }) => void seen.push(progress),
      onresumptiontoken: (given) => {
        token = given;
      },
    });
    lost.catch(() => {});
    await expect.poll(() => seen).toEqual([1]);
    const { sessionId } = first.transport;
    await first.client.close();
    await step(here.up);
    await using second = await connect(here.gateway.url, sessionId);
    const request = { method: 'tools/call' as const, params: STEPPED };
    const result = second.client.request(request, CallToolResultSchema, { resumptionToken: token });
    await step(here.up);
    await step(here.up);
    expect(await result).toMatchObject({ structuredContent: { steps: 3 } });
  });

  it('comes back once after an error on a stream, as it does, and then no more', async () => {
    const fault = { on: 'tools/call', do: { hold: 'call', error: { code: -32000, message: 'no' } } };
    await using here = await scene({ streams: { openAfter: '1ms' } }, {}, { faults: [fault] });
    const resumed: number[] = [];
    const spy = async (url: string | URL, init?: RequestInit) => {
      const response = await fetch(url, init);
      if (new Headers(init?.headers).has('last-event-id')) {
        resumed.push(response.status);
      }
      return response;
    };
    const transport = new StreamableHTTPClientTransport(new URL(here.gateway.url), { fetch: spy });
    const client = new Client({ name: 'resumer', version: '1.0.0' });
    await client.connect(transport as Transport);
    const call = client.callTool({ name: 'up.slow', arguments: {} });
    call.catch(() => {});
    await step(here.up, 'call');
    await expect(call).rejects.toMatchObject({ code: -32000 });
    await expect.poll(() => resumed, { timeout: 5_000 }).toEqual([204]);
    await client.ping();
    await client.close();
    expect(resumed).toEqual([204]);
  });
});

async function grow(up: ScriptedUpstream, name = 'more'): Promise<void> {
  await up.untilListening();
  await up.addTool(name);
  await up.notify('tools');
}
