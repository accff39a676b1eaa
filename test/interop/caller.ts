import { type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import { KIND_FACTS, type Kind } from '../../src/protocol/model.ts';
import type { Agent, Connect } from '../kit/agent.ts';
import { createMessageQueue, type MessageQueue } from '../kit/message-queue.ts';
import type { Installed } from './install.ts';
import { startPeer } from './peer-process.ts';
import { type ClientRow, clientCommand } from './peers.ts';

/** What a call brought. */
export interface Called {
  readonly result: JsonObject;
  /** `params` of its progress notifications. */
  readonly progress: readonly JsonObject[];
}

/** What a prompt or template is named by in a completion. */
export type CompletionRef = { readonly name: string } | { readonly uri: string };

/** The same face on every client. Results are the JSON of the SDK's own objects; errors are thrown. */
export interface Caller extends AsyncDisposable {
  /** Negotiated. */
  readonly version: string;
  readonly instructions: string;
  /** Notices that came, and the questions this client was asked, in order. */
  readonly notices: MessageQueue;
  items(kind: Kind): Promise<readonly JsonObject[]>;
  call(name: string, args?: JsonObject): Promise<Called>;
  /** Begins a call and resolves with what gives it up, once it has made progress. */
  hang(name: string): Promise<() => Promise<void>>;
  read(uri: string): Promise<JsonObject>;
  prompt(name: string, args: JsonObject): Promise<JsonObject>;
  complete(ref: CompletionRef, name: string, value: string): Promise<JsonObject>;
  /** From now on it hears of changes: of the tools, and of these resources. */
  listen(uris: readonly string[]): Promise<void>;
  /** Wants logs, where that is said once for a session. */
  wantLogs(): Promise<void>;
}

/** A program of another SDK in front of the gateway. */
export async function startCaller(row: ClientRow, url: string, installed: Installed): Promise<Caller> {
  const peer = await startPeer(clientCommand(row, url, installed));
  let ids = 0;
  const begin = (op: string, args: JsonObject): number => {
    ids += 1;
    peer.send({ ...args, id: ids, op });
    return ids;
  };
  const outcome = async (id: number): Promise<JsonObject> => {
    await expectLine(peer.lines, (line) => line['id'] === id);
    const answer = peer.lines.all.find((line) => line['id'] === id);
    const error = objectAt(answer, 'error');
    if (error) {
      throw Object.assign(new Error(stringAt(error, 'message')), error);
    }
    return objectAt(answer, 'result') ?? {};
  };
  const ask = (op: string, args: JsonObject = {}) => outcome(begin(op, args));
  const progressOf = (id: number) =>
    peer.lines.all
      .filter((line) => line['method'] === 'notifications/progress' && line['call'] === id)
      .map((line) => objectAt(line, 'params') ?? {});
  return {
    version: stringAt(peer.first, 'version') ?? '',
    instructions: stringAt(peer.first, 'instructions') ?? '',
    notices: peer.lines,
    async items(kind) {
      return (await ask(kind))[KIND_FACTS[kind].member] as readonly JsonObject[];
    },
    async call(name, args = {}) {
      const id = begin('call', { name, arguments: args });
      const result = await outcome(id);
      return { result, progress: progressOf(id) };
    },
    async hang(name) {
      const id = begin('call', { name, arguments: {} });
      const over = outcome(id).then(
        () => undefined,
        () => undefined,
      );
      await expectLine(peer.lines, (line) => progressOf(id).length > 0 || line['id'] === id);
      return async () => {
        peer.send({ id, op: 'cancel' });
        await over;
      };
    },
    read: (uri) => ask('read', { uri }),
    prompt: (name, args) => ask('prompt', { name, arguments: args }),
    complete: (ref, name, value) => ask('complete', { ref, name, value }),
    async listen(uris) {
      await ask('listen', { uris });
    },
    async wantLogs() {
      await ask('level');
    },
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  };
}

/** Resolves once some line, whenever it came, is as wanted. */
async function expectLine(lines: MessageQueue, wanted: (line: JsonObject) => boolean): Promise<void> {
  if (lines.count(wanted) === 0) {
    await lines.next(wanted);
  }
}
