import { ERRORS, type ErrorCode } from '../base/error-table.ts';
import { GatewayError, RpcRefusal } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { createRation } from '../base/ration.ts';
import {
  failure,
  type RpcErrorObject,
  type RpcRequest,
  type RpcResponse,
  result,
} from '../protocol/json-rpc.ts';
import type { Call, Question } from './call.ts';

/** Most questions of one connection that are being answered, answers on their way included; more are not heard. */
const MOST_OPEN = 100;
const REPORTS_PER_MINUTE = 2;

/** What a question gets that nobody can answer (2025-11-25: an undeclared capability must not be used). */
const REFUSED = wordsOf('QUESTION_REFUSED');

function wordsOf(code: ErrorCode): RpcErrorObject {
  const { rpc, says } = ERRORS[code];
  return { code: rpc, message: says };
}

/** Why a question was not answered, as the upstream may hear it. */
function refusalOf(thrown: unknown): RpcErrorObject {
  if (thrown instanceof RpcRefusal) {
    return thrown.error;
  }
  return thrown instanceof GatewayError && thrown.code === 'CANCELLED'
    ? wordsOf('QUESTION_UNANSWERED')
    : REFUSED;
}

interface Open {
  readonly withdrawn: AbortController;
  /** The call that it belongs to. */
  readonly call: Call | undefined;
}

/** The questions of one upstream that are being answered, by its own ids. */
export class Inquiries {
  readonly #send: (reply: RpcResponse) => Promise<void>;
  readonly #log: Log;
  readonly #reports = createRation(REPORTS_PER_MINUTE);
  readonly #open = new Map<unknown, Open>();
  #answering = 0;

  /** `send` resolves when the answer has left, or cannot leave any more; it never rejects. */
  constructor(send: (reply: RpcResponse) => Promise<void>, log: Log) {
    this.#send = send;
    this.#log = log;
  }

  /**
   * Answers one request of the upstream. `ask` is how to reach its client; undefined on a shared connection, which
   * declares no client capabilities: there everything but `ping` is refused at once (cases C-067, C-069). The call that
   * it belongs to rests meanwhile. A server that asks and takes no answers would fill our memory with them, so beyond
   * {@link MOST_OPEN} it is not heard, unless a question is open whose call is over: that one is given up then.
   */
  answer(
    message: RpcRequest,
    ask: ((question: Question) => Promise<JsonObject>) | undefined,
    call: Call | undefined,
  ): void {
    if (this.#answering >= MOST_OPEN && !this.#giveUpOldest()) {
      this.#reportFlood();
      return;
    }
    this.#answering += 1;
    this.#answered(message, ask, call)
      .catch((thrown: unknown) => this.#log.error({ err: thrown }, 'a question was not answered'))
      .finally(() => {
        this.#answering -= 1;
      });
  }

  async #answered(
    message: RpcRequest,
    ask: ((question: Question) => Promise<JsonObject>) | undefined,
    call: Call | undefined,
  ): Promise<void> {
    if (message.method === 'ping') {
      return this.#send(result(message.id, {}));
    }
    if (ask === undefined) {
      return this.#send(failure(message.id, REFUSED));
    }
    const withdrawn = new AbortController();
    this.#open.set(message.id, { withdrawn, call });
    const release = call?.hold();
    const reply = await ask({ method: message.method, params: message.params, signal: withdrawn.signal })
      .then((answer): RpcResponse => result(message.id, answer))
      .catch((thrown: unknown) => failure(message.id, refusalOf(thrown)));
    if (this.#open.get(message.id)?.withdrawn === withdrawn) {
      this.#open.delete(message.id);
    }
    release?.();
    return this.#send(reply);
  }

  #reportFlood(): void {
    const withheld = this.#reports.take();
    if (withheld !== undefined) {
      this.#log.warn(
        { open: this.#answering, withheld },
        'it asks faster than it takes answers; questions were dropped',
      );
    }
  }

  /** Gives up the oldest question that its server has gone on without; false where there is none. */
  #giveUpOldest(): boolean {
    for (const [id, { withdrawn, call }] of this.#open) {
      if (call?.over === true) {
        this.#open.delete(id);
        withdrawn.abort();
        return true;
      }
    }
    return false;
  }

  /** The upstream takes a question back. */
  withdraw(id: unknown): void {
    this.#open.get(id)?.withdrawn.abort();
  }

  withdrawAll(): void {
    for (const { withdrawn } of this.#open.values()) {
      withdrawn.abort();
    }
  }
}
