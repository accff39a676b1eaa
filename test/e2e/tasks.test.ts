import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { everythingStdio } from '../kit/real-servers.ts';
import type { Recorded } from '../kit/recorder.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

/** Tasks of both kinds (SEP-2663, and 2025-11-25), in all four combinations of eras and over both carriers. */
const CARRIERS = [
  { carrier: 'stdio', start: startStdioUpstream },
  { carrier: 'http', start: startHttpUpstream },
] as const;

const TASKS = 'io.modelcontextprotocol/tasks';
const RELATED = 'io.modelcontextprotocol/related-task';
/** Its server's id, and a title that holds it as well: only the id is the gateway's to replace. */
const ID = 'task-1';
const NOW = '2026-11-30T00:00:00Z';
const DONE = { content: [{ type: 'text', text: `the end of ${ID}` }] };
const able = { capabilities: { elicitation: { form: {} }, extensions: { [TASKS]: {} } } };
const withoutTasks = { capabilities: { elicitation: { form: {} } } };
const ELICITED = { action: 'accept', content: { name: 'Ada' } };
const job = { name: 'up.job', arguments: { n: 1 } };
const about = (taskId: string) => ({ headers: { 'mcp-name': taskId } });
const namesTask = ({ params }: Recorded) => params['taskId'] === ID;

const modernTask = (more: JsonObject): JsonObject => ({
  taskId: ID,
  createdAt: NOW,
  lastUpdatedAt: NOW,
  ttlMs: 60_000,
  pollIntervalMs: 250,
  ...more,
});
const question = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
};

const MODERN: Script = {
  id: 'up',
  era: 'modern',
  tools: ['job', 'echo'],
  capabilities: { extensions: { [TASKS]: {} } },
  calls: { job: { does: 'raw', result: modernTask({ resultType: 'task', status: 'working' }) } },
  methods: {
    'tasks/get': modernTask({ status: 'completed', result: DONE }),
    'tasks/update': {},
    'tasks/cancel': {},
  },
};
/** The first look at the task finds it in this state. */
const atFirst = (state: JsonObject) => [
  { on: 'tasks/get', times: 1, do: { result: modernTask({ resultType: 'complete', ...state }) } },
];

const legacyTask = (status: string): JsonObject => ({
  taskId: ID,
  status,
  createdAt: NOW,
  lastUpdatedAt: NOW,
  ttl: 60_000,
  pollInterval: 250,
});

const LEGACY: Script = {
  id: 'up',
  era: 'legacy',
  tools: [
    { name: 'job', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
    { name: 'either', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } },
    'echo',
  ],
  capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
  calls: { job: { does: 'raw', result: { task: legacyTask('working') } }, either: { does: 'echo' } },
  methods: {
    'tasks/get': legacyTask('completed'),
    'tasks/result': { ...DONE, _meta: { [RELATED]: { taskId: ID }, 'com.example/kept': 1 } },
    'tasks/cancel': legacyTask('cancelled'),
  },
};

describe.each(CARRIERS)('tasks of a modern upstream over $carrier', ({ start }) => {
  describe('for a modern client', () => {
    let up: ScriptedUpstream;
    let gateway: StartedGateway;

    beforeAll(async () => {
      up = await start(MODERN);
      gateway = await startGateway({ upstreams: { up: up.config } });
      await gateway.gateway.settled();
    });

    afterAll(async () => {
      await gateway?.close();
      await up?.[Symbol.asyncDispose]();
    });

    const created = async (agent: Awaited<ReturnType<typeof connectModern>>) => {
      const result = await agent.result('tools/call', job);
      return { result, taskId: String(result['taskId']) };
    };

    it('are offered, and passed on under ids that only this gateway can read', async () => {
      await using agent = await connectModern(gateway.url, able);
      expect(agent.hello).toMatchObject({ capabilities: { extensions: { [TASKS]: {} } } });
      const { result, taskId } = await created(agent);
      expect(taskId).not.toContain(ID);
      expect(result).toMatchObject({ ...modernTask({ resultType: 'task', status: 'working' }), taskId });
      const got = await agent.result('tasks/get', { taskId }, about(taskId));
      expect(got).toMatchObject({ ...modernTask({ status: 'completed' }), resultType: 'complete', taskId });
      expect(got['result']).toEqual(DONE);
      const inputResponses = { who: ELICITED, 'no/such key': { x: [1] } };
      await agent.result('tasks/update', { taskId, inputResponses }, about(taskId));
      const { params } = await up.untilReceived('tasks/update', namesTask);
      expect(params['inputResponses']).toEqual(inputResponses);
      await agent.result('tasks/cancel', { taskId }, about(taskId));
      await up.untilReceived('tasks/cancel', namesTask);
    });

    it('are nobody’s under an id that is changed, of the server, or made up; the server hears nothing of it', async () => {
      await using agent = await connectModern(gateway.url, able);
      const { taskId } = await created(agent);
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        for (const foreign of [`${taskId}A`, taskId.slice(0, -2), ID, 'made-up']) {
          const params = { taskId: foreign, inputResponses: {}, tag: 'foreign' };
          const { error } = await agent.request(method, params, about(foreign));
          expect(error, method).toMatchObject({ code: -32602 });
        }
      }
      await agent.call('up.echo', { tag: 'last' });
      await up.untilReceived('tools/call', ({ params }) => objectAt(params, 'arguments')?.['tag'] === 'last');
      expect(up.received.filter(({ params }) => params['tag'] === 'foreign')).toEqual([]);
    });

    it('are refused to one that did not declare them', async () => {
      await using agent = await connectModern(gateway.url, able);
      await using plain = await connectModern(gateway.url, withoutTasks);
      const missing = {
        code: -32021,
        data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
      };
      // The server makes a task of the call all the same, as it must not.
      const made = await plain.request('tools/call', job);
      expect([made.status, made.error]).toMatchObject([400, missing]);
      const { taskId } = await created(agent);
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const { status, error } = await plain.request(method, { taskId }, about(taskId));
        expect([status, error], method).toMatchObject([400, missing]);
      }
      const listen = { notifications: { taskIds: [taskId] } };
      const heard = await plain.request('subscriptions/listen', listen);
      expect([heard.status, heard.error]).toMatchObject([400, missing]);
      for (const method of ['tasks/list', 'tasks/result']) {
        const { status, error } = await agent.request(method, { taskId });
        expect([status, error?.code], method).toEqual([404, -32601]);
      }
    });

    it('tell of their states on a listen stream, under the id that the client has', async () => {
      await using agent = await connectModern(gateway.url, able);
      const { taskId } = await created(agent);
      const after = up.mark();
      const stream = agent.begin('subscriptions/listen', {
        notifications: { taskIds: [taskId, `${taskId}A`, ID, 7], resourceSubscriptions: [] },
      });
      const acknowledged = await stream.next();
      expect(objectAt(acknowledged, 'params')?.['notifications']).toEqual({ taskIds: [taskId] });
      await up.untilReceived(
        'subscriptions/listen',
        ({ params }) =>
          JSON.stringify(objectAt(params, 'notifications')?.['taskIds']) === JSON.stringify([ID]),
        { after },
      );
      await using deaf = await agent.listen({ tools: true });
      const told = (task: string, status: string) =>
        up.push({
          jsonrpc: '2.0',
          method: 'notifications/tasks',
          params: modernTask({ taskId: task, status, ...(status === 'completed' ? { result: DONE } : {}) }),
        });
      await told('task-of-others', 'working');
      await told(ID, 'completed');
      const { params } = await stream.next((message) => message['method'] === 'notifications/tasks');
      expect(params).toMatchObject({ ...modernTask({ status: 'completed', result: DONE }), taskId });
      expect(objectAt(params, '_meta')).toEqual({ [META.subscription]: stream.id });
      await up.addTool('fence');
      await up.notify('tools');
      await deaf.next('notifications/tools/list_changed');
      const tasks = (message: JsonObject) => message['method'] === 'notifications/tasks';
      expect(deaf.count(tasks)).toBe(0);
      const heard = stream.messages.filter(tasks);
      expect(new Set(heard.map((message) => objectAt(message, 'params')?.['taskId']))).toEqual(
        new Set([taskId]),
      );
      stream.abort();
    });
  });

  describe('for a legacy client, which has none of them', () => {
    const silent = { 'elicitation/create': () => new Promise<JsonObject>(() => {}) };
    const answering = { 'elicitation/create': () => ELICITED };

    it('are hidden: it gets the final result', async () => {
      await using up = await start({ ...MODERN, faults: atFirst({ status: 'working' }) });
      await using gateway = await startGateway({ upstreams: { up: up.config } });
      await gateway.gateway.settled();
      await using agent = await connectLegacy(gateway.url);
      const result = await agent.result('tools/call', job);
      expect(result).toEqual(DONE);
      expect(up.count('tasks/get', namesTask)).toBe(2);
      expect(agent.hello).not.toHaveProperty('capabilities.tasks');
      expect(agent.hello).not.toHaveProperty('capabilities.extensions');
    });

    it('ask it on the stream of its call, each question once', async () => {
      const asks = { status: 'input_required', inputRequests: { who: question } };
      const faults = [...atFirst(asks), ...atFirst(asks)];
      await using up = await start({ ...MODERN, faults });
      await using gateway = await startGateway({ upstreams: { up: up.config } });
      await gateway.gateway.settled();
      await using agent = await connectLegacy(gateway.url, { ...withoutTasks, answers: answering });
      const { result, answer } = await agent.call(job.name, job.arguments);
      expect(result).toEqual(DONE);
      expect(answer.messages.filter(({ method }) => method === 'elicitation/create')).toHaveLength(1);
      const { params } = await up.untilReceived('tasks/update', namesTask);
      expect(params['inputResponses']).toEqual({ who: ELICITED });
      expect(up.count('tasks/update')).toBe(1);
    });

    it.each([
      [{ status: 'failed', error: { code: -31_999, message: 'broken', data: { a: 1 } } }, -31_999],
      [{ status: 'cancelled' }, -32_603],
    ])('end as they end: %j', async (state, code) => {
      await using up = await start({ ...MODERN, faults: atFirst(state) });
      await using gateway = await startGateway({ upstreams: { up: up.config } });
      await gateway.gateway.settled();
      await using agent = await connectLegacy(gateway.url);
      expect((await agent.request('tools/call', job)).error).toMatchObject({ code });
    });

    const working = [
      { on: 'tasks/get', do: { result: modernTask({ resultType: 'complete', status: 'working' }) } },
    ];
    const asking = atFirst({ status: 'input_required', inputRequests: { who: question } });

    it.each([
      { when: 'while it waits', faults: working },
      { when: 'while it is asked', faults: asking },
    ])('are cancelled with its call, $when', async ({ faults }) => {
      await using up = await start({ ...MODERN, faults });
      await using gateway = await startGateway({ upstreams: { up: up.config } });
      await gateway.gateway.settled();
      await using agent = await connectLegacy(gateway.url, { ...withoutTasks, answers: silent });
      const call = agent.begin('tools/call', job);
      if (faults === asking) {
        await call.next((message) => message['method'] === 'elicitation/create');
      } else {
        await up.untilReceived('tasks/get', namesTask);
      }
      await agent.cancel(call);
      await up.untilReceived('tasks/cancel', namesTask);
      expect((await call.done).result).toBeUndefined();
    });

    it('are cancelled where it cannot be asked, which it is told', async () => {
      await using up = await start({ ...MODERN, faults: asking });
      await using gateway = await startGateway({ upstreams: { up: up.config } });
      await gateway.gateway.settled();
      await using agent = await connectLegacy(gateway.url);
      const { error } = await agent.request('tools/call', job);
      expect(error).toMatchObject({ code: -32_603, message: expect.stringMatching(/capability/) });
      await up.untilReceived('tasks/cancel', namesTask);
    });

    it('are cancelled when they take longer than a call may', async () => {
      await using up = await start({ ...MODERN, faults: working });
      const timeouts = { call: '300ms', total: '400ms' };
      await using gateway = await startGateway({ upstreams: { up: { ...up.config, timeouts } } });
      await gateway.gateway.settled();
      await using agent = await connectLegacy(gateway.url);
      const { result } = await agent.request('tools/call', job);
      expect(result).toMatchObject({ isError: true });
      expect(JSON.stringify(result)).toContain('[up]');
      await up.untilReceived('tasks/cancel', namesTask);
    });
  });
});

it('a task that is awaited for a modern client goes on when the wait for its result breaks', async () => {
  const breaks = [{ status: 503 }, { drop: true }] as const;
  const faults = breaks.map((fault) => ({ on: 'tasks/result', times: 1, do: fault }));
  await using up = await startHttpUpstream({ ...LEGACY, faults });
  await using gateway = await startGateway({ upstreams: { up: up.config } });
  await gateway.gateway.settled();
  await using agent = await connectModern(gateway.url, withoutTasks);
  expect(await agent.result('tools/call', job)).toMatchObject(DONE);
  expect([up.count('tasks/result'), up.count('tasks/cancel')]).toEqual([3, 0]);
});

it('a task that is awaited for a legacy client goes on when looks at it fail on their way', async () => {
  const faults = [{ status: 503 }, { drop: true }, { status: 429, headers: { 'retry-after': '1' } }] as const;
  const looks = faults.map((fault) => ({ on: 'tasks/get', times: 1, do: fault }));
  await using up = await startHttpUpstream({ ...MODERN, faults: looks });
  await using gateway = await startGateway({ upstreams: { up: up.config } });
  await gateway.gateway.settled();
  await using agent = await connectLegacy(gateway.url);
  expect(await agent.result('tools/call', job)).toEqual(DONE);
  expect([up.count('tasks/get'), up.count('tasks/cancel')]).toEqual([4, 0]);
});

describe.each(CARRIERS)('tasks of a legacy upstream over $carrier', ({ start }) => {
  const open = async (faults: Script['faults'] = []) => {
    const up = await start({ ...LEGACY, faults });
    const gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
    return {
      up,
      gateway,
      async [Symbol.asyncDispose]() {
        await gateway.close();
        await up[Symbol.asyncDispose]();
      },
    };
  };

  it('pass between legacy peers under ids that only this gateway can read', async () => {
    await using scene = await open();
    const { up, gateway } = scene;
    await using agent = await connectLegacy(gateway.url);
    expect(agent.hello).toMatchObject({
      capabilities: { tasks: { cancel: {}, requests: { tools: { call: {} } } } },
    });
    expect(agent.hello).not.toHaveProperty('capabilities.tasks.list');
    const tools = await agent.list('tools');
    expect(tools.map((tool) => objectAt(tool, 'execution')?.['taskSupport'])).toEqual([
      'required',
      'optional',
      undefined,
    ]);
    const { task } = (await agent.result('tools/call', { ...job, task: { ttl: 5 } })) as { task: JsonObject };
    const taskId = String(task['taskId']);
    expect(taskId).not.toContain(ID);
    expect(task).toEqual({ ...legacyTask('working'), taskId });
    expect((await up.untilReceived('tools/call')).params['task']).toEqual({ ttl: 5 });
    expect(await agent.result('tasks/get', { taskId })).toEqual({ ...legacyTask('completed'), taskId });
    expect(await agent.result('tasks/result', { taskId })).toEqual({
      ...DONE,
      _meta: { [RELATED]: { taskId }, 'com.example/kept': 1 },
    });
    expect(await agent.result('tasks/cancel', { taskId })).toEqual({ ...legacyTask('cancelled'), taskId });
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect(up.count(method, namesTask)).toBe(1);
      expect((await agent.request(method, { taskId: `${taskId}A` })).error?.code, method).toBe(-32_602);
      expect((await agent.request(method, { taskId: ID })).error?.code, method).toBe(-32_602);
    }
    // Whose a task is, a server that everybody shares cannot say.
    for (const method of ['tasks/list', 'tasks/update']) {
      expect((await agent.request(method, { taskId })).error?.code, method).toBe(-32_601);
    }
  });

  it('are kept from a modern client, which gets the final result of a tool that runs only as one', async () => {
    await using scene = await open([{ on: 'tasks/result', do: { hold: 'end' } }]);
    const { up, gateway } = scene;
    await using agent = await connectModern(gateway.url, able);
    expect(agent.hello).not.toHaveProperty(['capabilities', 'extensions', TASKS]);
    expect((await agent.list('tools')).filter((tool) => 'execution' in tool)).toEqual([]);
    const call = agent.begin('tools/call', job);
    await up.untilReceived('tasks/result', namesTask);
    await up.release('end');
    const { result } = await call.done;
    expect(result).toMatchObject({ ...DONE, resultType: 'complete', _meta: { 'com.example/kept': 1 } });
    expect(result).not.toHaveProperty(['_meta', RELATED]);
    expect((await agent.call('up.either', { n: 1 })).structured).toEqual({ n: 1 });
    const { params } = await up.untilReceived('tools/call', (entry) => entry.params['name'] === 'either');
    expect(params).not.toHaveProperty('task');
  });

  it('are cancelled with the call of a modern client', async () => {
    await using scene = await open([{ on: 'tasks/result', do: { hold: 'end' } }]);
    const { up, gateway } = scene;
    await using agent = await connectModern(gateway.url);
    const call = agent.begin('tools/call', job);
    await up.untilReceived('tasks/result', namesTask);
    await agent.cancel(call);
    await up.untilReceived('tasks/cancel', namesTask);
  });
});

describe('a question in the middle of a task of a legacy server, a real one,', () => {
  const params = {
    name: 'everything.simulate-research-query',
    arguments: { topic: 'python', ambiguous: true },
  };
  const chosen = { action: 'accept', content: { interpretation: 'snake' } };
  let gateway: StartedGateway;

  beforeAll(async () => {
    gateway = await startGateway({ upstreams: { everything: { ...everythingStdio(), isolation: 'user' } } });
    await gateway.gateway.settled();
  });

  afterAll(() => gateway?.close());

  it('reaches a legacy client when it asks for the result, and names the task by the client’s id', async () => {
    const asked: JsonObject[] = [];
    const answers = {
      'elicitation/create': (question: JsonObject) => {
        asked.push(question);
        return chosen;
      },
    };
    await using agent = await connectLegacy(gateway.url, { ...withoutTasks, answers });
    await agent.untilNames((names) => names.includes(params.name));
    const { task } = (await agent.result('tools/call', { ...params, task: {} })) as { task: JsonObject };
    const { taskId } = task;
    const result = await agent.result('tasks/result', { taskId });
    expect(JSON.stringify(result)).toContain('python (snake)');
    expect(asked.map(({ _meta }) => _meta)).toEqual([{ [RELATED]: { taskId } }]);
  });

  it('is put to a modern client as the question of its call, which goes on with the answer', async () => {
    await using agent = await connectModern(gateway.url, withoutTasks);
    await agent.untilNames((names) => names.includes(params.name));
    const asked = await agent.result('tools/call', params);
    expect(asked).toMatchObject({ resultType: 'input_required' });
    expect(JSON.stringify(asked)).not.toContain(RELATED);
    const [key = ''] = Object.keys(objectAt(asked, 'inputRequests') ?? {});
    const { requestState } = asked;
    const result = await agent.result('tools/call', {
      ...params,
      inputResponses: { [key]: chosen },
      requestState,
    });
    expect(result).toMatchObject({ resultType: 'complete' });
    expect(JSON.stringify(result)).toContain('python (snake)');
  });
});
