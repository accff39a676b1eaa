import { GatewayError, RpcRefusal } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import {
  failure,
  type RpcErrorObject,
  type RpcRequest,
  type RpcResponse,
  result,
} from '../protocol/json-rpc.ts';
import type { Call, Question } from './calls.ts';

/** What a question gets that nobody can answer (2025-11-25: an undeclared capability must not be used). */
const REFUSED: RpcErrorObject = { code: -32601, message: 'This client declared no such capability.' };

/** Why a question was not answered, as the upstream may hear it. */
function refusalOf(thrown: unknown): RpcErrorObject {
  if (thrown instanceof RpcRefusal) {
    return thrown.error;
  }
  return thrown instanceof GatewayError && thrown.code === 'CANCELLED'
    ? { code: -32603, message: 'The client did not answer.' }
    : REFUSED;
}

/** The questions of one upstream that are being answered, by its own ids. */
export class Inquiries {
  readonly #reply: (reply: RpcResponse) => void;
  readonly #log: Log;
  readonly #open = new Map<unknown, AbortController>();

  constructor(reply: (reply: RpcResponse) => void, log: Log) {
    this.#reply = reply;
    this.#log = log;
  }

  /**
   * Answers one request of the upstream. `ask` is how to reach its client; undefined on a shared connection, which
   * declares no client capabilities: there everything but `ping` is refused at once (cases C-067, C-069). The call that
   * it belongs to rests meanwhile.
   */
  answer(
    message: RpcRequest,
    ask: ((question: Question) => Promise<JsonObject>) | undefined,
    call: Call | undefined,
  ): void {
    if (message.method === 'ping') {
      this.#reply(result(message.id, {}));
      return;
    }
    if (ask === undefined) {
      this.#reply(failure(message.id, REFUSED));
      return;
    }
    const withdrawn = new AbortController();
    this.#open.set(message.id, withdrawn);
    const release = call?.hold();
    ask({ method: message.method, params: message.params, signal: withdrawn.signal })
      .then((answer) => result(message.id, answer))
      .catch((thrown: unknown) => failure(message.id, refusalOf(thrown)))
      .then((reply) => {
        this.#open.delete(message.id);
        release?.();
        this.#reply(reply);
      })
      .catch((thrown: unknown) => this.#log.error({ err: thrown }, 'a question was not answered'));
  }

  /** The upstream takes a question back. */
  withdraw(id: unknown): void {
    this.#open.get(id)?.abort();
  }

  withdrawAll(): void {
    for (const withdrawn of this.#open.values()) {
      withdrawn.abort();
    }
  }
}
