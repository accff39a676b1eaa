import { ByNumber } from '../base/by-number.ts';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { Alarm } from '../base/time.ts';
import { isRpcId, type RpcId, type RpcNotification } from '../protocol/json-rpc.ts';
import { META, metaOf } from '../protocol/meta.ts';
import { Call, type CallHolder, type CallOptions, type Question } from './call.ts';

/** Calls given up that are remembered one by one; beyond, nobody can ever tell whose a log message is. */
const MOST_LATE = 1_000;

/** The requests of one connection that wait for an answer, each with ids and deadlines of the gateway's own. */
export class Calls {
  readonly #upstream: string;
  readonly #abandoned: (call: Call, why: string) => void;
  readonly #open = new ByNumber<Call>();
  #nextId = 1;
  /** Calls given up whose log messages may still come: until their late answer does. */
  readonly #loggedLate = new Set<RpcId>();
  /** There were more than are remembered: none of them must be taken for answered. */
  #tooManyLate = false;
  readonly #idle: (() => void)[] = [];
  /** One timer for all deadlines: it fires no later than the first of them, and looks who is due. */
  readonly #alarm = new Alarm(() => this.#look());

  /** `abandoned` is told of a call that nobody waits for any more, so that the upstream can be told. */
  constructor(upstream: string, abandoned: (call: Call, why: string) => void) {
    this.#upstream = upstream;
    this.#abandoned = abandoned;
  }

  get(id: RpcId | undefined): Call | undefined {
    return this.#open.get(id);
  }

  /** Whether the upstream has something to work on: streams that stay open are no work. */
  get working(): boolean {
    return this.#open.values().some(isWork);
  }

  open(method: string, options: CallOptions): Call {
    const call = new Call(this.#nextId++, method, options, this.#holder);
    this.#open.set(call.id, call);
    call.watch();
    this.#alarm.set(call.dueAt);
    return call;
  }

  readonly #holder: CallHolder = {
    over: (call) => {
      const open = this.#open.delete(call.id);
      if (open) {
        this.#settled();
      }
      return open;
    },
    givenUp: (call, code, why) => {
      // Log messages of a call that was given up may still come: whose the next ones are, nobody can tell any more.
      if (call.options.envelope.logLevel !== undefined) {
        this.#giveUpLogged(call.id);
      }
      this.#abandoned(call, why);
      return new GatewayError(code, { upstream: this.#upstream, ...(why === '' ? {} : { detail: why }) });
    },
    due: (time) => this.#alarm.set(time),
  };

  #look(): void {
    const now = performance.now();
    for (const call of this.#open.values()) {
      if (call.dueAt <= now) {
        call.expire();
      } else {
        this.#alarm.set(call.dueAt);
      }
    }
  }

  /**
   * The likely cause of a question without origin: the call that has waited longest and is not held up by a question
   * already, else the one that has waited longest at all. All of them are the same client's.
   */
  askable(): Call | undefined {
    const calls = this.#open.values().filter((call) => call.options.onQuestion !== undefined);
    return calls.find((call) => !call.held) ?? calls[0];
  }

  /**
   * How to ask the client by way of the call that a question likely belongs to. Where the server answers that call while the
   * question is with the client, and so takes it along, it was another's: it is asked once more, by way of the likeliest left.
   */
  asking(likeliest: Call): (question: Question) => Promise<JsonObject> {
    return async (question) => {
      let call = likeliest;
      for (;;) {
        const release = call.hold();
        try {
          return await this.#asked(call, question);
        } catch (thrown) {
          const lost = thrown instanceof GatewayError && thrown.code === 'CANCELLED';
          const guessedWrong = lost && call.answered && !question.signal.aborted;
          const next = guessedWrong ? this.askable() : undefined;
          if (next === undefined) {
            throw thrown;
          }
          call = next;
        } finally {
          release();
        }
      }
    };
  }

  #asked({ options }: Call, question: Question): Promise<JsonObject> {
    const refusal = () => Promise.reject(new GatewayError('QUESTION_REFUSED', { upstream: this.#upstream }));
    return options.onQuestion?.(question) ?? refusal();
  }

  /** Whose a notice is: of the request on whose stream, or under whose subscription id, it came. */
  ownerOf(
    notice: RpcNotification,
    origin: RpcId | undefined,
    { isolated, modern }: { readonly isolated: boolean; readonly modern: boolean },
  ): Call | undefined {
    const logged = notice.method === 'notifications/message';
    if (!logged && notice.method !== 'notifications/subscriptions/acknowledged') {
      return undefined;
    }
    const known = this.get(origin ?? subscriptionOf(notice));
    return known ?? (logged ? this.#logOwner(isolated, modern) : undefined);
  }

  /**
   * Whose a log message is that came on a channel which many calls share, and so names no call. On one client's own
   * connection it is that client's. A modern server writes only for requests that asked for logs, but some write for any: it is
   * clear where just one request is open, which asked, and none that did was given up. Elsewhere nobody can tell, and
   * nobody is told (case C-067).
   */
  #logOwner(isolated: boolean, modern: boolean): Call | undefined {
    if (isolated) {
      return this.askable();
    }
    const [only, ...others] = this.#open.values().filter(isWork);
    const isClear = modern && !this.#tooManyLate && this.#loggedLate.size === 0 && others.length === 0;
    return isClear && only?.options.envelope.logLevel !== undefined ? only : undefined;
  }

  /** An answer to a call that was given up: nothing of it will come any more. */
  late(id: RpcId | undefined): void {
    if (id !== undefined) {
      this.#loggedLate.delete(id);
    }
  }

  #giveUpLogged(id: RpcId): void {
    this.#tooManyLate ||= this.#loggedLate.size >= MOST_LATE;
    if (this.#tooManyLate) {
      this.#loggedLate.clear();
    } else {
      this.#loggedLate.add(id);
    }
  }

  /** Resolves when the upstream has nothing more to work on; see {@link working}. */
  untilIdle(): Promise<void> {
    return this.working ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }

  #settled(): void {
    if (this.#idle.length > 0 && !this.working) {
      for (const resolve of this.#idle.splice(0)) {
        resolve();
      }
    }
  }

  /**
   * Settles whatever still waits. To a request that is refused, the end of a session says that nothing was done, so that it
   * may be made again; to those under way it says nothing.
   */
  endAll(reason: GatewayError): void {
    const lost = { upstream: this.#upstream, logged: 'its session has ended', cause: reason };
    const why = reason.code === 'UPSTREAM_SESSION' ? new GatewayError('UPSTREAM_LOST', lost) : reason;
    this.#alarm.cancel();
    for (const call of this.#open.values()) {
      call.reject(why);
    }
  }
}

function subscriptionOf(notice: RpcNotification): RpcId | undefined {
  const id = metaOf(notice.params)[META.subscription];
  return isRpcId(id) ? id : undefined;
}

function isWork({ options }: Call): boolean {
  return options.aside !== true && Number.isFinite(options.totalMs);
}
