import { describe, expect, it } from 'vitest';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { everythingStdio } from '../kit/real-servers.ts';
import { startGateway } from '../kit/start-gateway.ts';

const script = { id: 'up', era: 'legacy' as const, tools: ['count', 'whoami', 'ask'] };

describe('C-051: connections to a stateful legacy server', () => {
  it('belong to one session each with `isolation: session`, and end with it', async () => {
    await using up = await startHttpUpstream(script);
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, isolation: 'session' } } });
    await using a = await connectLegacy(gateway.url);
    await using b = await connectLegacy(gateway.url);
    const sessions = [];
    for (const agent of [a, a, b]) {
      sessions.push((await agent.call('up.whoami')).structured['connection']);
    }
    const [first, again, other] = sessions;
    expect(first).toBeTypeOf('string');
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    const before = up.mark();
    expect((await a.http('DELETE').done).status).toBe(204);
    const goodbye = await up.untilReceived('$DELETE', undefined, { after: before });
    expect(goodbye.connection).toBe(first);
    expect((await b.call('up.whoami')).structured['connection']).toBe(other);
  });

  it('declare exactly what that client declared, and the shared one nothing (C-070)', async () => {
    await using up = await startHttpUpstream(script);
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, isolation: 'user' } } });
    await using plain = await connectLegacy(gateway.url, { capabilities: {} });
    await using able = await connectModern(gateway.url, {
      capabilities: { elicitation: { form: {} }, roots: { listChanged: true } },
    });
    await plain.call('up.whoami');
    await able.call('up.whoami');
    const declared = up.received
      .filter(({ method }) => method === 'initialize')
      .map(({ params }) => params['capabilities']);
    expect(declared).toEqual([{}, {}, { elicitation: { form: {} }, roots: {} }]);
  });

  it('are bounded with a clear error, and an idle one makes room', async () => {
    await using up = await startHttpUpstream({ ...script, tools: ['slow', 'whoami'] });
    await using gateway = await startGateway({
      upstreams: { up: { ...up.config, isolation: 'session', limits: { connections: 1 } } },
    });
    await using a = await connectLegacy(gateway.url);
    await using b = await connectLegacy(gateway.url);
    const busy = a.begin('tools/call', { name: 'up.slow', arguments: {} });
    await up.untilReceived('tools/call');
    const refused = await b.request('tools/call', { name: 'up.whoami', arguments: {} });
    expect(refused.result).toMatchObject({ isError: true });
    expect(JSON.stringify(refused.result)).toMatch(/\[up\].*connections/);
    await up.release('slow');
    expect((await busy.done).result).toMatchObject({ structuredContent: { done: true } });
    expect((await b.call('up.whoami')).structured['connection']).toBeTypeOf('string');
  });

  it('close when nobody uses them any more', async () => {
    await using up = await startHttpUpstream(script);
    await using gateway = await startGateway({
      upstreams: { up: { ...up.config, isolation: 'user', timeouts: { idle: '20ms' } } },
    });
    await using agent = await connectModern(gateway.url);
    const mine = (await agent.call('up.whoami')).structured['connection'];
    const goodbye = await up.untilReceived('$DELETE');
    expect(goodbye.connection).toBe(mine);
  });

  it('hear that the roots of their client changed', async () => {
    await using up = await startHttpUpstream(script);
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, isolation: 'session' } } });
    await using agent = await connectLegacy(gateway.url, { capabilities: { roots: { listChanged: true } } });
    const mine = (await agent.call('up.whoami')).structured['connection'];
    await agent.notify('notifications/roots/list_changed');
    expect((await up.untilReceived('notifications/roots/list_changed')).connection).toBe(mine);
  });
});

describe('tasks of the 2025-11-25 kind, of a real server', () => {
  const config = { upstreams: { everything: { ...everythingStdio() } } };
  const call = { name: 'everything.simulate-research-query', arguments: { topic: 'patch cables' } };

  it('are kept from a modern client, which gets the final result of a tool that runs only as one', async () => {
    await using gateway = await startGateway(config);
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.includes(call.name));
    const tools = await agent.list('tools');
    const listed = tools.find(({ name }) => name === call.name);
    expect(listed).toBeDefined();
    expect(listed).not.toHaveProperty('execution');
    expect(agent.hello).not.toHaveProperty('capabilities.tasks');
    const { text } = await agent.call(call.name, call.arguments);
    expect(text).toContain('patch cables');
  });

  it('pass between legacy peers, under ids that only this gateway can read', async () => {
    await using gateway = await startGateway(config);
    await using agent = await connectLegacy(gateway.url);
    await agent.untilNames((names) => names.includes(call.name));
    await using later = await connectLegacy(gateway.url);
    expect(later.hello).toMatchObject({ capabilities: { tasks: { requests: { tools: { call: {} } } } } });
    const { task } = (await agent.result('tools/call', { ...call, task: { ttl: 60_000 } })) as {
      task: { taskId: string };
    };
    const { taskId } = task;
    expect(taskId.length).toBeGreaterThan(100);
    expect(await later.result('tasks/get', { taskId })).toMatchObject({ taskId });
    const result = await agent.result('tasks/result', { taskId });
    expect(JSON.stringify(result['content'])).toContain('patch cables');
    expect(result['_meta']).toEqual({ 'io.modelcontextprotocol/related-task': { taskId } });
    const foreign = await agent.request('tasks/get', { taskId: `${taskId}x` });
    expect(foreign.error?.code).toBe(-32602);
  });
});
