import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isObject, type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import type { Fixture } from './fixture-server.ts';

/**
 * The server of the suite's `tasks-*` scenarios (SEP-2663), by hand: the SDK has no tasks of this era. Modern only,
 * JSON only, no streams.
 */

const VERSION = '2026-07-28';
const TASKS = 'io.modelcontextprotocol/tasks';
const META = 'io.modelcontextprotocol/';

/** What a request gets that is refused; `status` is that of HTTP. */
class Refused extends Error {
  readonly status: number;
  readonly error: JsonObject;

  constructor(status: number, code: number, message: string, data?: JsonObject) {
    super(message);
    this.status = status;
    this.error = { code, message, ...(data === undefined ? {} : { data }) };
  }
}

interface Task {
  readonly taskId: string;
  readonly createdAt: string;
  /** Members of its state: status, and with it result, error or inputRequests. */
  state: JsonObject;
  lastUpdatedAt: string;
  readonly answered: (responses: JsonObject) => void;
  timer?: NodeJS.Timeout;
}

const said = (text: string) => ({ content: [{ type: 'text', text }] });
const elicit = (message: string, properties: JsonObject) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties } },
});
const question = (message: string) =>
  elicit(message, { name: { type: 'string' }, confirm: { type: 'boolean' } });

class Tasks {
  readonly #tasks = new Map<string, Task>();

  /** A task that waits for nothing but its time. */
  timed(ms: number, state: JsonObject): JsonObject {
    const task = this.#add({ status: 'working' });
    this.#later(task, ms, state);
    return created(task);
  }

  /** A task that asks, and completes when everything is answered. */
  asking(inputRequests: JsonObject): JsonObject {
    const open = new Map(Object.entries(inputRequests));
    const task = this.#add({ status: 'input_required', inputRequests }, (responses) => {
      for (const key of Object.keys(responses)) {
        open.delete(key);
      }
      if (open.size > 0) {
        change(task, { status: 'input_required', inputRequests: Object.fromEntries(open) });
      } else if (task.state['status'] === 'input_required') {
        this.#later(task, 20, { status: 'completed', result: said('all answered') });
        change(task, { status: 'working' });
      }
    });
    return created(task);
  }

  /** The task of `params.taskId`. */
  of(params: JsonObject): Task {
    const task = this.#tasks.get(stringAt(params, 'taskId') ?? '');
    if (task === undefined) {
      throw new Refused(200, -32602, 'There is no such task');
    }
    return task;
  }

  cancel(task: Task): void {
    clearTimeout(task.timer);
    if (['working', 'input_required'].includes(String(task.state['status']))) {
      change(task, { status: 'cancelled' });
    }
  }

  close(): void {
    for (const { timer } of this.#tasks.values()) {
      clearTimeout(timer);
    }
  }

  #add(state: JsonObject, answered: Task['answered'] = () => {}): Task {
    const now = new Date().toISOString();
    const task: Task = { taskId: randomUUID(), createdAt: now, lastUpdatedAt: now, state, answered };
    this.#tasks.set(task.taskId, task);
    return task;
  }

  #later(task: Task, ms: number, state: JsonObject): void {
    task.timer = setTimeout(() => change(task, state), ms);
  }
}

function change(task: Task, state: JsonObject): void {
  task.state = state;
  task.lastUpdatedAt = new Date().toISOString();
}

function face({ taskId, createdAt, lastUpdatedAt }: Task): JsonObject {
  return { taskId, createdAt, lastUpdatedAt, ttlMs: 60_000, pollIntervalMs: 100 };
}

/** What `tools/call` answers: the state, but none of what belongs to it. */
const created = (task: Task) => ({ resultType: 'task', ...face(task), status: task.state['status'] });

interface Call {
  readonly params: JsonObject;
  readonly args: JsonObject;
  /** Whether the client can take a task. */
  readonly tasks: boolean;
}

type Tool = (call: Call, tasks: Tasks) => JsonObject | Promise<JsonObject>;

const asTask =
  (run: Tool): Tool =>
  (call, tasks) => {
    if (!call.tasks) {
      throw missingExtension();
    }
    return run(call, tasks);
  };

const missingExtension = () =>
  new Refused(400, -32021, 'Tasks are needed', { requiredCapabilities: { extensions: { [TASKS]: {} } } });

const TOOLS: Readonly<Record<string, Tool>> = {
  greet: ({ args }) => said(`Hello, ${String(args['name'])}!`),
  async slow_compute({ args, tasks: able }, tasks) {
    const ms = 1000 * Number(args['seconds'] ?? 0);
    const result = said(`computed ${String(args['label'])}`);
    if (able) {
      return tasks.timed(ms, { status: 'completed', result });
    }
    await new Promise((resolve) => setTimeout(resolve, ms));
    return result;
  },
  failing_job: asTask((_call, tasks) =>
    tasks.timed(20, { status: 'completed', result: { ...said('the job failed'), isError: true } }),
  ),
  protocol_error_job: asTask((_call, tasks) =>
    tasks.timed(20, { status: 'failed', error: { code: -32603, message: 'The job broke' } }),
  ),
  confirm_delete: asTask((_call, tasks) => tasks.asking({ confirm: question('Really?') })),
  multi_input: asTask((_call, tasks) => tasks.asking({ first: question('One?'), second: question('Two?') })),
  test_tool_with_task: asTask(({ params }, tasks) => {
    const name = objectAt(objectAt(objectAt(params, 'inputResponses'), 'user_name'), 'content')?.['name'];
    return typeof name === 'string'
      ? tasks.timed(20, { status: 'completed', result: said(`Hello, ${name}!`) })
      : { resultType: 'input_required', inputRequests: { user_name: question('What is your name?') } };
  }),
};

const LISTED = Object.keys(TOOLS).map((name) => ({
  name,
  description: `Task fixture: ${name}`,
  inputSchema: { type: 'object' },
}));

const uncached = { ttlMs: 0, cacheScope: 'private' };

async function answer(method: string, params: JsonObject, tasks: Tasks): Promise<JsonObject> {
  const capabilities = objectAt(objectAt(params, '_meta'), `${META}clientCapabilities`);
  const able = isObject(objectAt(capabilities, 'extensions')?.[TASKS]);
  switch (method) {
    case 'server/discover':
      return {
        supportedVersions: [VERSION],
        capabilities: { tools: {}, extensions: { [TASKS]: {} } },
        ...uncached,
        _meta: { [`${META}serverInfo`]: { name: 'tasks-fixture', version: '1.0.0' } },
      };
    case 'tools/list':
      return { tools: LISTED, ...uncached };
    case 'tools/call': {
      const tool = TOOLS[stringAt(params, 'name') ?? ''];
      if (tool === undefined) {
        throw new Refused(200, -32602, 'Unknown tool');
      }
      return tool({ params, args: objectAt(params, 'arguments') ?? {}, tasks: able }, tasks);
    }
    case 'tasks/get':
    case 'tasks/update':
    case 'tasks/cancel':
      if (!able) {
        throw missingExtension();
      }
      return aboutTask(method, params, tasks);
    default:
      throw new Refused(404, -32601, 'Method not found');
  }
}

function aboutTask(method: string, params: JsonObject, tasks: Tasks): JsonObject {
  const task = tasks.of(params);
  if (method === 'tasks/get') {
    return { ...face(task), ...task.state };
  }
  if (method === 'tasks/update') {
    task.answered(objectAt(params, 'inputResponses') ?? {});
  } else {
    tasks.cancel(task);
  }
  return {};
}

/** Which member of `params` the header `Mcp-Name` mirrors. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** What the era demands of every request: version and capabilities in `_meta`, and headers that say the same. */
function checkRequest(headers: IncomingHttpHeaders, method: string, params: JsonObject): void {
  const meta = objectAt(params, '_meta') ?? {};
  const version = meta[`${META}protocolVersion`];
  if (typeof version !== 'string' || !isObject(meta[`${META}clientCapabilities`])) {
    throw new Refused(400, -32602, '_meta is incomplete');
  }
  const name = NAMED_BY[method];
  const expected = {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': stringAt(params, name) }),
  };
  for (const [header, value] of Object.entries(expected)) {
    if (headers[header] !== value) {
      throw new Refused(400, -32020, `${header} does not match the body`);
    }
  }
  if (version !== VERSION) {
    throw new Refused(400, -32022, 'Unsupported version', { supported: [VERSION], requested: version });
  }
}

export async function startTasksFixture(): Promise<Fixture> {
  const tasks = new Tasks();
  const server = createServer(async (request, response) => {
    const send = (status: number, body: JsonObject) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const chunks: Buffer[] = await request.toArray();
    const { id, method, params = {} } = JSON.parse(Buffer.concat(chunks).toString());
    if (id === undefined) {
      response.writeHead(202).end();
      return;
    }
    try {
      checkRequest(request.headers, method, params);
      send(200, {
        jsonrpc: '2.0',
        id,
        result: { resultType: 'complete', ...(await answer(method, params, tasks)) },
      });
    } catch (thrown) {
      const refused = thrown instanceof Refused ? thrown : new Refused(200, -32603, String(thrown));
      send(refused.status, { jsonrpc: '2.0', id, error: refused.error });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      tasks.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
