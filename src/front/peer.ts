import { Ender } from '../base/ender.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { classify, type RpcId, type RpcMessage, type RpcRequest } from '../protocol/json-rpc.ts';
import { addOutlet, removeOutlet } from './aside.ts';
import { takeAnswer } from './asking.ts';
import { batchOf } from './batch.ts';
import { type Calls, cancel, track } from './calls.ts';
import { answerInSession, callerOf, endSession, greet, hear, modernContext } from './channel.ts';
import type { FrontOptions } from './front.ts';
import { claimedVersion, envelopeFault, noBatches } from './inbound.ts';
import { serveListen } from './listen-route.ts';
import type { Outlet } from './outlet.ts';
import { refusal } from './refusal.ts';
import type { Standing } from './regime.ts';
import type { Session } from './sessions.ts';
import { SharedListen } from './shared-listen.ts';

/** Most messages of one client that are worked on at once: each holds what it came with. */
const MOST_RUNNING = 1_000;

export interface PeerOptions {
  readonly front: FrontOptions;
  readonly standing: Standing;
  /** Everything to the client goes here. */
  readonly outlet: Outlet;
  /** Whether the modern era is spoken too. */
  readonly modern: boolean;
}

/**
 * A client on one channel that carries everything both ways: a pipe, or the HTTP+SSE pair of 2024-11-05. Its session
 * lives no longer than the channel, and neither does anything else that it began.
 */
export class Peer {
  readonly #options: PeerOptions;
  /** Modern requests under way; those of the session are with the session. */
  readonly #calls: Calls = new Map();
  /** How to end each `subscriptions/listen` gracefully. */
  readonly #farewells = new Set<() => void>();
  readonly #running = new Set<Promise<void>>();
  #session: Session | undefined;

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** Takes one parsed message or batch; resolves when it was served. Answers go to the outlet, failures too. */
  take(value: unknown): Promise<void> {
    const running = this.#take(value)
      .catch((thrown: unknown) => this.refuse(toGatewayError(thrown), undefined))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  /** Answers something that was no message, or may not be one here. */
  refuse(error: GatewayError, id: RpcId | undefined): void {
    const { standing, outlet } = this.#options;
    standing.log[error.row.log]({ err: error }, 'refused');
    outlet.send(refusal(error, id).json);
  }

  /** The client says nothing more: resolves when everything it asked for is answered. */
  async drained(): Promise<void> {
    for (const question of [...(this.#session?.live.questions.values() ?? [])]) {
      question.drop();
    }
    while (this.#running.size > 0) {
      await Promise.all(this.#running);
    }
  }

  /** Ends everything that the client began. Idempotent. */
  close(): void {
    for (const farewell of [...this.#farewells]) {
      farewell();
    }
    for (const id of [...this.#calls.keys()]) {
      cancel(this.#calls, id);
    }
    this.#endSession();
  }

  get #isFull(): boolean {
    return this.#running.size >= MOST_RUNNING;
  }

  async #take(value: unknown): Promise<void> {
    if (Array.isArray(value)) {
      return this.#batch(value);
    }
    const found = classify(value);
    if (found.kind === 'invalid') {
      return this.refuse(new GatewayError('REQUEST_INVALID', { detail: `(${found.reason})` }), found.id);
    }
    const { message } = found;
    return 'id' in message && 'method' in message ? this.#answer(message) : this.#hear(message);
  }

  async #answer(message: RpcRequest): Promise<void> {
    const { front, standing, outlet, modern } = this.#options;
    if (this.#isFull) {
      return this.refuse(new GatewayError('RATE_LIMITED'), message.id);
    }
    const session = this.#session;
    const version = claimedVersion(message, session !== undefined);
    if (version !== undefined) {
      return modern
        ? this.#modern(message, version)
        : this.refuse(new GatewayError('METHOD_UNKNOWN'), message.id);
    }
    if (message.method === 'initialize') {
      return this.#initialize(message);
    }
    if (session === undefined) {
      return this.refuse(new GatewayError('SESSION_REQUIRED'), message.id);
    }
    const say = (json: string) => outlet.send(json);
    const { reply, cancelled } = await answerInSession(front, standing, session, message, say);
    if (!cancelled) {
      outlet.send(reply.json);
    }
  }

  #initialize(message: RpcRequest): void {
    const { front, standing, outlet } = this.#options;
    this.#endSession();
    const { introduction, json } = greet(front, standing, message);
    this.#session = front.sessions.attached(introduction);
    outlet.send(json);
    const caller = callerOf(front, standing.principal, this.#session);
    addOutlet(front, this.#session, { caller, standing }, outlet);
  }

  async #modern(message: RpcRequest, version: string): Promise<void> {
    const { front, standing, outlet } = this.#options;
    const fault = envelopeFault(message, version);
    if (fault !== undefined) {
      return this.refuse(fault, message.id);
    }
    const signal = new Ender();
    const done = track(this.#calls, message.id, signal);
    const way = { signal, say: (json: string) => outlet.send(json) };
    const context = modernContext(front, standing, { message, version, headers: undefined }, way);
    if (message.method === 'subscriptions/listen') {
      const stream = new SharedListen(outlet, message.id, signal);
      stream.onClose(done);
      try {
        const farewell = await serveListen({ front, standing, context }, message, () => stream);
        this.#farewells.add(farewell);
        stream.onClose(() => this.#farewells.delete(farewell));
      } catch (thrown) {
        done();
        this.refuse(toGatewayError(thrown), message.id);
      }
      return;
    }
    const { json } = await front.relay.handle(message, context);
    done();
    if (!signal.aborted) {
      outlet.send(json);
    }
  }

  async #batch(values: readonly unknown[]): Promise<void> {
    const { front, standing, outlet } = this.#options;
    const session = this.#session;
    if (session === undefined) {
      throw noBatches();
    }
    if (this.#isFull) {
      throw new GatewayError('RATE_LIMITED');
    }
    const answers: string[] = [];
    await batchOf(front, standing, session, values).serve({
      say: (json) => outlet.send(json),
      answer: ({ json }, cancelled) => {
        answers.push(...(cancelled ? [] : [json]));
      },
    });
    if (answers.length > 0) {
      outlet.send(`[${answers.join(',')}]`);
    }
  }

  /** A notification, or the answer to a question of a server. */
  #hear(message: Exclude<RpcMessage, RpcRequest>): void {
    const { front, standing } = this.#options;
    const session = this.#session;
    if ('method' in message) {
      if (message.method === 'notifications/cancelled') {
        cancel(this.#calls, message.params?.['requestId']);
      }
      if (session !== undefined) {
        hear(front, message, session, standing.log);
      }
    } else if (session !== undefined) {
      takeAnswer(session, message);
    }
  }

  #endSession(): void {
    const { front, outlet } = this.#options;
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) {
      removeOutlet(session, outlet);
      endSession(front, session);
    }
  }
}
