import { type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import { KIND_FACTS, type Kind } from '../../src/protocol/model.ts';
import { eraOf } from '../../src/protocol/versions.ts';
import type { Connect } from '../kit/agent.ts';
import type { Installed } from './install.ts';
import { createLines, type Lines } from './lines.ts';
import { startPeer } from './peer-process.ts';
import { type ClientRow, clientCommand, type Front } from './peers.ts';

/** What a call brought. */
export interface Called {
  readonly result: JsonObject;
  /** `params` of its progress notifications so far: an SDK may tell of the last ones after the result. */
  readonly progress: () => readonly JsonObject[];
}

/** What a prompt or template is named by in a completion. */
export type CompletionRef = { readonly name: string } | { readonly uri: string };

/** The same face on every client. Results are the JSON of the SDK's own objects; errors are thrown. */
export interface Caller extends AsyncDisposable {
  /** Negotiated. */
  readonly version: string;
  readonly instructions: string;
  /** Notices that came, and the questions this client was asked. */
  readonly heard: Lines;
  /** Questions that its SDK answers by itself, and does not tell of. */
  readonly answersItself: readonly string[];
  items(kind: Kind): Promise<readonly JsonObject[]>;
  call(name: string, args?: JsonObject): Promise<Called>;
  /** Begins a call and resolves with what gives it up, once it has made progress. */
  hang(name: string): Promise<() => Promise<void>>;
  read(uri: string): Promise<JsonObject>;
  prompt(name: string, args: JsonObject): Promise<JsonObject>;
  complete(ref: CompletionRef, name: string, value: string): Promise<JsonObject>;
  /** From now on it hears of changes: of the tools, and of these resources. */
  listen(uris: readonly string[]): Promise<void>;
  /** Wants logs, where that is said once for a session. A server may send them though it does not declare it. */
  wantLogs(): Promise<void>;
}

/** A program of another SDK in front of the gateway. */
export async function startCaller(row: ClientRow, front: Front, installed: Installed): Promise<Caller> {
  const { first, lines, send, ...peer } = await startPeer(clientCommand(row, front, installed));
  let ids = 0;
  const begin = (op: string, args: JsonObject): number => {
    ids += 1;
    send({ ...args, id: ids, op });
    return ids;
  };
  const answerTo = (id: number) => lines.all.find((line) => line['id'] === id);
  const outcome = async (id: number): Promise<JsonObject> => {
    const answer = await lines.until(() => answerTo(id), `the answer to command ${id}`, 20_000);
    const error = objectAt(answer, 'error');
    if (error) {
      throw Object.assign(new Error(stringAt(error, 'message')), { code: error['code'] });
    }
    return objectAt(answer, 'result') ?? {};
  };
  const ask = (op: string, args: JsonObject = {}) => outcome(begin(op, args));
  const progressOf = (id: number) =>
    lines.all
      .filter((line) => line['method'] === 'notifications/progress' && line['call'] === id)
      .map((line) => objectAt(line, 'params') ?? {});
  const version = stringAt(first, 'version') ?? '';
  return {
    version,
    instructions: stringAt(first, 'instructions') ?? '',
    heard: lines,
    answersItself: row.sdk === 'go' ? ['roots/list'] : [],
    async items(kind) {
      return (await ask(kind))[KIND_FACTS[kind].member] as readonly JsonObject[];
    },
    async call(name, args = {}) {
      const id = begin('call', { name, arguments: args });
      const result = await outcome(id);
      return { result, progress: () => progressOf(id) };
    },
    async hang(name) {
      const id = begin('call', { name, arguments: {} });
      await lines.until(() => progressOf(id)[0] ?? answerTo(id), `progress of ${name}`);
      return async () => {
        send({ id, op: 'cancel' });
      };
    },
    read: (uri) => ask('read', { uri }),
    prompt: (name, args) => ask('prompt', { name, arguments: args }),
    complete: (ref, name, value) => ask('complete', { ref, name, value }),
    async listen(uris) {
      await ask('listen', { uris });
    },
    async wantLogs() {
      if (eraOf(version) === 'legacy' && objectAt(first['capabilities'], 'logging')) {
        await ask('level');
      }
    },
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  };
}

const ANSWERS = {
  'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
  'sampling/createMessage': {
    role: 'assistant',
    content: { type: 'text', text: 'Hello from the model' },
    model: 'm',
    stopReason: 'endTurn',
  },
  'roots/list': { roots: [{ uri: 'file:///srv/interop', name: 'interop' }] },
} as const;

/** An agent of the test kit in front of the gateway, for servers of other SDKs. */
export async function agentCaller(connect: Connect, url: string): Promise<Caller> {
  const heard = createLines('the agent');
  const answers = Object.fromEntries(
    Object.entries(ANSWERS).map(([method, answer]) => [
      method,
      (params: JsonObject) => {
        heard.push({ method, params });
        return answer;
      },
    ]),
  );
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const options = { capabilities, answers, logLevel: 'info' };
  const agent = await connect(url, options);
  let tokens = 0;
  const token = () => {
    tokens += 1;
    return `call-${tokens}`;
  };
  return {
    version: agent.version,
    instructions: stringAt(agent.hello, 'instructions') ?? '',
    heard,
    answersItself: [],
    items: (kind) => agent.list(kind),
    async call(name, args = {}) {
      const { result, progress, logs } = await agent.call(name, args, { progressToken: token() });
      for (const params of logs) {
        heard.push({ method: 'notifications/message', params });
      }
      return { result, progress: () => progress };
    },
    async hang(name) {
      const running = agent.begin('tools/call', { name, arguments: {} }, { progressToken: token() });
      await running.next('notifications/progress');
      return () => agent.cancel(running);
    },
    read: (uri) => agent.result('resources/read', { uri }),
    prompt: (name, args) => agent.result('prompts/get', { name, arguments: args }),
    complete(ref, name, value) {
      const named = 'name' in ref ? { type: 'ref/prompt', ...ref } : { type: 'ref/resource', ...ref };
      return agent.result('completion/complete', { ref: named, argument: { name, value } });
    },
    async listen(uris) {
      const stream = await agent.listen({ tools: true, ...(uris.length > 0 ? { uris } : {}) });
      const forward = async (): Promise<never> => {
        for (;;) {
          heard.push(await stream.next(undefined, 2 ** 31 - 1));
        }
      };
      // It ends with the stream, when the agent is closed.
      forward().catch((reason: unknown) => heard.end(String(reason)));
    },
    async wantLogs() {
      if (agent.era === 'legacy' && objectAt(agent.hello['capabilities'], 'logging')) {
        await agent.result('logging/setLevel', { level: 'info' });
      }
    },
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  };
}
