import { Agent as HttpAgent } from 'node:http';
import { type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import type { RpcErrorObject, RpcId } from '../../src/protocol/json-rpc.ts';
import { type Era, KIND_FACTS, type Kind } from '../../src/protocol/model.ts';
import {
  type Agent,
  type AgentOptions,
  type Answers,
  type AskOptions,
  type CallAnswer,
  type CallOptions,
  type HeaderChanges,
  type ListenFilter,
  type NoticeStream,
  RpcError,
} from './agent.ts';
import { type Answer, type Exchange, exchange } from './http-exchange.ts';
import { PATIENCE } from './waits.ts';

const JSON_POST = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** The connection pool of one agent, and everything it has under way. */
export interface Wire {
  readonly url: URL;
  send(request: {
    readonly method: string;
    readonly headers: HeaderChanges;
    /** Of this one request: they win over everything else. */
    readonly own?: HeaderChanges | undefined;
    readonly body?: unknown;
    readonly id?: RpcId;
    readonly onMessage?: (message: JsonObject) => void;
  }): Exchange;
  nextId(): RpcId;
  close(): void;
}

const pools = new Set<HttpAgent>();

/**
 * Drops the connections that agents keep and do not use: those to a gateway that has just ended are dead, which their
 * pool may learn only after it has sent the next request there.
 */
export function dropKept(): void {
  for (const pool of pools) {
    for (const socket of Object.values(pool.freeSockets).flat()) {
      socket?.destroy();
    }
  }
}

export function createWire(url: string, always: HeaderChanges = {}): Wire {
  const target = new URL(url);
  const pool = new HttpAgent({ keepAlive: true });
  pools.add(pool);
  const running = new Set<Exchange>();
  let ids = 0;
  return {
    url: target,
    nextId() {
      ids += 1;
      return ids - 1;
    },
    send({ method, headers, own, body, id, onMessage }) {
      const merged = { ...headers, ...always, ...own };
      const sent = Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null);
      const started = exchange(target, {
        method,
        headers: Object.fromEntries(sent),
        agent: pool,
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(id === undefined ? {} : { id }),
        ...(onMessage ? { onMessage } : {}),
      });
      running.add(started);
      const forget = () => running.delete(started);
      started.done.then(forget, forget);
      return started;
    },
    close() {
      for (const each of running) {
        each.abort();
      }
      pool.destroy();
      pools.delete(pool);
    },
  };
}

/** What differs between the eras. */
export interface EraParts {
  readonly era: Era;
  readonly version: string;
  readonly hello: JsonObject;
  readonly sessionId: string | undefined;
  /** Headers of a request that is no POST. */
  readonly plainHeaders: HeaderChanges;
  /** `params` and headers of a request as the era wants them. */
  dress(
    method: string,
    params: JsonObject,
    options: AskOptions,
  ): { params: JsonObject; headers: HeaderChanges };
  /** Told of every list that was read to its end. */
  listed?(kind: Kind, items: readonly JsonObject[]): void;
  cancel(running: Exchange): Promise<void>;
  listen(agent: Agent, filter: ListenFilter, options: AskOptions): Promise<NoticeStream>;
}

/** Everything that is the same in both eras. */
export function createAgent(wire: Wire, options: AgentOptions, parts: EraParts): Agent {
  const respond = async (question: JsonObject, answers: Answers): Promise<void> => {
    const outcome = await answerTo(question, answers);
    const { headers } = parts.dress('', {}, {});
    const body = { jsonrpc: '2.0', id: question['id'], ...outcome };
    await wire.send({ method: 'POST', headers: { ...JSON_POST, ...headers }, body }).done;
  };

  const start = (
    method: string,
    params: JsonObject,
    ask: AskOptions,
    answers: Answers = options.answers ?? {},
  ): Exchange => {
    const id = ask.id ?? wire.nextId();
    const dressed = parts.dress(method, params, ask);
    return wire.send({
      method: 'POST',
      headers: { ...JSON_POST, ...dressed.headers },
      own: ask.headers,
      body: { jsonrpc: '2.0', id, method, params: dressed.params },
      id,
      onMessage: (message) => {
        if ('method' in message && 'id' in message) {
          // The connection may be gone before the answer is; the test sees that elsewhere.
          respond(message, answers).catch(() => undefined);
        }
      },
    });
  };

  const request: Agent['request'] = (method, params = {}, ask = {}) => start(method, params, ask).done;

  const result: Agent['result'] = async (method, params, ask) => resultOf(await request(method, params, ask));

  const agent: Agent = {
    era: parts.era,
    url: wire.url.href,
    version: parts.version,
    get hello() {
      return parts.hello;
    },
    sessionId: parts.sessionId,
    begin: (method, params = {}, ask = {}) => start(method, params, ask),
    request,
    result,
    notify(method, params = {}, ask = {}) {
      const dressed = parts.dress(method, params, ask);
      const body = { jsonrpc: '2.0', method, params: dressed.params };
      return wire.send({
        method: 'POST',
        headers: { ...JSON_POST, ...dressed.headers },
        own: ask.headers,
        body,
      }).done;
    },
    async list(kind) {
      const { list, member } = KIND_FACTS[kind];
      const items: JsonObject[] = [];
      const cursors = new Set<string>();
      for (let cursor: string | undefined; ; ) {
        const page = await result(list, cursor === undefined ? {} : { cursor });
        items.push(...((page[member] ?? []) as JsonObject[]));
        cursor = stringAt(page, 'nextCursor');
        if (cursor === undefined) {
          parts.listed?.(kind, items);
          return items;
        }
        if (cursors.has(cursor)) {
          throw new Error(`${list}: cursor ${cursor} came twice`);
        }
        cursors.add(cursor);
      }
    },
    async names(kind = 'tools') {
      return (await agent.list(kind)).map((item) => String(item[KIND_FACTS[kind].key]));
    },
    untilNames: (ready, kind = 'tools', timeout = PATIENCE) => untilNames(agent, ready, kind, timeout),
    call: (name, args = {}, ask = {}) => call(start, name, args, ask, ask.answers ?? options.answers ?? {}),
    cancel: parts.cancel,
    listen: (filter = { tools: true, prompts: true, resources: true }, ask = {}) =>
      parts.listen(agent, filter, ask),
    post: (body, headers = {}) => wire.send({ method: 'POST', headers: JSON_POST, own: headers, body }).done,
    http: (method, headers = {}) =>
      wire.send({
        method,
        headers: parts.plainHeaders,
        own: headers,
        onMessage: (message) => {
          if ('method' in message && 'id' in message) {
            respond(message, options.answers ?? {}).catch(() => undefined);
          }
        },
      }),
    async [Symbol.asyncDispose]() {
      wire.close();
    },
  };
  return agent;
}

/** The result in an answer; throws an RpcError for an error, and for anything that is no JSON-RPC at all. */
export function resultOf(answer: Answer): JsonObject {
  if (answer.result) {
    return answer.result;
  }
  const error: RpcErrorObject = answer.error ?? {
    code: 0,
    message: `no JSON-RPC answer: HTTP ${answer.status} ${answer.ended} ${answer.text.slice(0, 200)}`,
  };
  throw new RpcError(error, answer);
}

async function answerTo(question: JsonObject, answers: Answers): Promise<JsonObject> {
  const method = String(question['method']);
  const answer = answers[method];
  if (!answer) {
    return method === 'ping'
      ? { result: {} }
      : { error: { code: -32601, message: `This client has no ${method}` } };
  }
  const given = await answer(objectAt(question, 'params') ?? {});
  return 'error' in given ? { error: given['error'] } : { result: given };
}

/** Calls a tool; where the server answers that it needs input, gives it and calls again, up to ten times. */
async function call(
  start: (method: string, params: JsonObject, ask: AskOptions, answers: Answers) => Exchange,
  name: string,
  args: JsonObject,
  ask: CallOptions,
  answers: Answers,
): Promise<CallAnswer> {
  const messages: JsonObject[] = [];
  let more: JsonObject = {};
  for (let rounds = 1; ; rounds += 1) {
    const { id: _once, ...again } = ask;
    const answer = await start(
      'tools/call',
      { name, arguments: args, ...more },
      rounds === 1 ? ask : again,
      answers,
    ).done;
    messages.push(...answer.messages);
    const result = resultOf(answer);
    const questions = objectAt(result, 'inputRequests');
    if (result['resultType'] !== 'input_required' || rounds === 10 || Object.keys(answers).length === 0) {
      return summary(result, messages, rounds, answer);
    }
    more = {
      ...(questions ? { inputResponses: await answerAll(questions, answers) } : {}),
      ...(result['requestState'] === undefined ? {} : { requestState: result['requestState'] }),
    };
  }
}

async function answerAll(questions: JsonObject, answers: Answers): Promise<JsonObject> {
  const responses: Record<string, unknown> = {};
  for (const key of Object.keys(questions)) {
    const outcome = await answerTo(objectAt(questions, key) ?? {}, answers);
    responses[key] = outcome['result'] ?? { action: 'decline' };
  }
  return responses;
}

function summary(
  result: JsonObject,
  messages: readonly JsonObject[],
  rounds: number,
  answer: Answer,
): CallAnswer {
  const paramsOf = (method: string) =>
    messages
      .filter((message) => message['method'] === method)
      .map((message) => objectAt(message, 'params') ?? {});
  const content = Array.isArray(result['content']) ? result['content'] : [];
  return {
    result,
    structured: objectAt(result, 'structuredContent') ?? {},
    text: stringAt(content[0], 'text') ?? '',
    progress: paramsOf('notifications/progress'),
    logs: paramsOf('notifications/message'),
    rounds,
    answer,
  };
}

async function untilNames(
  agent: Agent,
  ready: (names: string[]) => boolean,
  kind: Kind,
  timeout: number,
): Promise<string[]> {
  const until = Date.now() + timeout;
  const change = kind === 'templates' ? 'resources' : kind;
  await using notices = await agent.listen({ [change]: true });
  for (;;) {
    const names = await agent.names(kind);
    if (ready(names)) {
      return names;
    }
    await notices
      .next(`notifications/${change}/list_changed`, Math.max(until - Date.now(), 1))
      .catch((cause: unknown) => {
        throw new Error(`the ${kind} stayed ${names.join(', ') || 'none'}`, { cause });
      });
  }
}

/** A notice stream over one running request. */
export function noticeStream(
  running: Exchange,
  acknowledged: JsonObject | undefined,
  beforeClose: () => Promise<void> = () => Promise.resolve(),
): NoticeStream {
  const close = async () => {
    await beforeClose();
    running.abort();
    await running.done;
  };
  return {
    acknowledged,
    all: running.messages,
    next: running.next,
    count: running.count,
    closed: running.done,
    close,
    [Symbol.asyncDispose]: close,
  };
}
