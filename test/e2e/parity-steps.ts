import { isObject, type JsonObject, without } from '../../src/base/json.ts';
import type { RpcErrorObject } from '../../src/protocol/json-rpc.ts';
import { KIND_FACTS, KINDS, type Kind } from '../../src/protocol/model.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent } from '../kit/agent.ts';
import type { PipeAgent } from '../kit/pipe-agent.ts';
import type { SdkFace } from '../kit/sdk-clients.ts';

/** What one client is to do with one server, in this order. Names are the server's own. */
export interface Plan {
  readonly calls: readonly (readonly [name: string, args?: JsonObject])[];
  readonly prompts?: readonly (readonly [name: string, args?: Readonly<Record<string, string>>])[];
  readonly reads?: readonly string[];
  readonly completions?: readonly (readonly [ref: JsonObject, name: string, value: string])[];
  /** A call, and the progress that the server reports of it. */
  readonly progress?: {
    readonly call: readonly [string, JsonObject?];
    readonly steps: readonly JsonObject[];
  };
}

/** What came of each step: a result, or the code and text of an error. */
export type Log = Readonly<Record<string, unknown>>;

/** Any client, as far as the plan needs it. `ask` rejects with an error that has a `code`. */
export interface Visitor {
  offers(capability: string): boolean;
  list(kind: Kind): Promise<readonly JsonObject[]>;
  ask(method: Asked, params: JsonObject): Promise<JsonObject>;
  long(
    name: string,
    args: JsonObject | undefined,
  ): Promise<{ result: JsonObject; progress: readonly JsonObject[] }>;
}

type Asked = 'tools/call' | 'prompts/get' | 'resources/read' | 'completion/complete';

/**
 * Takes a client through the plan. `prefix` stands before the names of tools and prompts; the log is free of it, and of
 * what the protocol or the gateway documents as its own in a result.
 */
export async function tour(visitor: Visitor, plan: Plan, prefix = ''): Promise<Log> {
  const log: Record<string, unknown> = {};
  const step = async (method: Asked, params: JsonObject, shown = params) => {
    const outcome = await visitor.ask(method, params).catch(failed);
    log[`${method} ${JSON.stringify(shown)}`] = withoutHop(outcome);
  };
  for (const kind of KINDS.filter((each) => visitor.offers(KIND_FACTS[each].capability))) {
    const named = KIND_FACTS[kind].key === 'name' ? prefix : '';
    log[kind] = (await visitor.list(kind)).map((item) => withoutPrefix(item, named));
  }
  for (const [name, args] of plan.calls) {
    await step('tools/call', { name: `${prefix}${name}`, arguments: args ?? {} }, { name, args });
  }
  for (const [name, args] of plan.prompts ?? []) {
    await step('prompts/get', { name: `${prefix}${name}`, arguments: args ?? {} }, { name, args });
  }
  for (const uri of plan.reads ?? []) {
    await step('resources/read', { uri });
  }
  for (const [ref, name, value] of plan.completions ?? []) {
    const argument = { name, value };
    const own = ref['type'] === 'ref/prompt' ? { ...ref, name: `${prefix}${String(ref['name'])}` } : ref;
    await step('completion/complete', { ref: own, argument }, { ref, argument });
  }
  if (plan.progress) {
    const [name, args] = plan.progress.call;
    const { result, progress } = await visitor.long(`${prefix}${name}`, args);
    log['long'] = withoutHop(result);
    log['progress'] = progress;
  }
  return log;
}

export function sdkVisitor(client: SdkFace): Visitor {
  return {
    offers: (capability) => Object.hasOwn(client.capabilities, capability),
    list(kind) {
      switch (kind) {
        case 'tools':
          return client.listTools();
        case 'prompts':
          return client.listPrompts();
        case 'resources':
          return client.listResources();
        case 'templates':
          return client.listTemplates();
      }
    },
    ask(method, params) {
      const { name, uri, ref, argument } = params;
      switch (method) {
        case 'tools/call':
          return client.callTool(String(name), params['arguments'] as JsonObject);
        case 'prompts/get':
          return client.getPrompt(String(name), params['arguments'] as Record<string, string>);
        case 'resources/read':
          return client.readResource(String(uri));
        case 'completion/complete':
          return client.complete(ref as JsonObject, argument as { name: string; value: string });
      }
    },
    async long(name, args) {
      const progress: JsonObject[] = [];
      const result = await client.callTool(name, args, { onProgress: (each) => void progress.push(each) });
      return { result, progress };
    },
  };
}

/** A client that hides nothing. Its progress keeps the token, which must be its own. */
export function rawVisitor(agent: Agent): Visitor {
  return {
    offers: offered(agent.hello),
    list: (kind) => agent.list(kind),
    ask: async (method, params) =>
      method === 'tools/call'
        ? (await agent.call(String(params['name']), params['arguments'] as JsonObject)).result
        : agent.result(method, params),
    async long(name, args) {
      const { result, progress } = await agent.call(name, args, { progressToken: TOKEN });
      return { result, progress };
    },
  };
}

/** The same over stdin and stdout, without questions. */
export function pipeVisitor(agent: PipeAgent): Visitor {
  const ask = async (method: string, params: JsonObject): Promise<JsonObject> => {
    const { result, error } = await agent.begin(method, params).done;
    if (result === undefined) {
      throw error;
    }
    return result;
  };
  return {
    offers: offered(agent.hello),
    async list(kind) {
      const { list, member } = KIND_FACTS[kind];
      return (await ask(list, {}))[member] as JsonObject[];
    },
    ask,
    async long(name, args) {
      const params = { name, arguments: args ?? {}, _meta: { progressToken: TOKEN } };
      const result = await ask('tools/call', params);
      const notices = agent.notices.all.filter(({ method }) => method === 'notifications/progress');
      return { result, progress: notices.map((notice) => notice['params'] as JsonObject) };
    },
  };
}

const TOKEN = 'token-0';

function offered(hello: JsonObject): (capability: string) => boolean {
  return (capability) => Object.hasOwn(hello['capabilities'] as JsonObject, capability);
}

function failed(thrown: unknown): JsonObject {
  const { code, message, data } = thrown as RpcErrorObject;
  // Both codes say that a resource does not exist, each in its era; the v1 SDK puts the code into the text.
  const text = String(message).replace(/^(?:(?:MCP error )?-?\d+:? )+/, '');
  return { failed: { code: code === -32002 ? -32602 : code, text, data } };
}

function withoutPrefix(item: JsonObject, prefix: string): JsonObject {
  const name = String(item['name']);
  return { ...item, name: name.startsWith(prefix) ? name.slice(prefix.length) : `no prefix: ${name}` };
}

/** Without the members that only one era has, or that every hop writes for itself. */
function withoutHop(result: JsonObject): JsonObject {
  const rest = without(result, 'resultType', 'ttlMs', 'cacheScope');
  const meta = rest['_meta'];
  if (!isObject(meta) || !Object.hasOwn(meta, META.serverInfo)) {
    return rest;
  }
  const kept = without(meta, META.serverInfo);
  return Object.keys(kept).length === 0 ? without(rest, '_meta') : { ...rest, _meta: kept };
}

/** The log of a legacy client as a modern one has it: task support of tools is a matter of the legacy era alone. */
export function withoutExecution(log: Log): Log {
  const tools = log['tools'] as readonly JsonObject[];
  return { ...log, tools: tools.map((tool) => without(tool, 'execution')) };
}
