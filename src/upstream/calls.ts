import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { after } from '../base/time.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import { isRpcId, type RpcId, type RpcNotification, type RpcResponse } from '../protocol/json-rpc.ts';
import { META, metaOf } from '../protocol/meta.ts';

export interface CallOptions {
  readonly envelope: Envelope;
  /** Ends the call early: the upstream is told, the caller gets CANCELLED. */
  readonly signal?: AbortSignal | undefined;
  /** Longest silence in ms: each progress notice starts it anew. Infinity for none. */
  readonly timeoutMs: number;
  /** Longest duration in ms whatever the progress. Infinity for none. */
  readonly totalMs: number;
  /** Ask for progress, also where the client did not: it is what extends `timeoutMs` (case C-065). */
  readonly progress?: boolean;
  /** The gateway's own, beside the work of the upstream. */
  readonly aside?: boolean;
  /** It may be made again though it may have taken effect; see relay/repeatable.ts. */
  readonly repeatable?: boolean;
  /** Further HTTP headers (`Mcp-Param-*`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Notices that belong to this call: its progress, and messages on its own stream. */
  readonly onNotice?: (notice: RpcNotification) => void;
  /**
   * A question of the upstream in the middle of this call, on a connection that is this client's own. Resolves with the
   * result for the upstream; rejects with an RpcRefusal or a GatewayError. The silence timer rests meanwhile: people
   * are slow.
   */
  readonly onQuestion?: (question: Question) => Promise<JsonObject>;
}

/** A request of a server to its client: elicitation, sampling or roots. */
export interface Question {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Aborts when the upstream takes the question back. */
  readonly signal: AbortSignal;
}

/** One request that waits for its answer. Settled exactly once; later attempts change nothing. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly options: CallOptions;
  readonly answer: Promise<RpcResponse>;
  readonly resolve: (response: RpcResponse) => void;
  readonly reject: (reason: GatewayError) => void;
  /** Takes note of progress; false where it does not increase, as it must (case C-060). */
  advance(progress: number): boolean;
  /** A question of this call is being answered. */
  readonly held: boolean;
  /** Lets the silence timer rest until the returned function is called; nests. */
  hold(): () => void;
}

/** Calls given up that are remembered one by one; beyond, nobody can ever tell whose a log message is. */
const MOST_LATE = 1_000;

/** The requests of one connection that wait for an answer, each with ids and deadlines of the gateway's own. */
export class Calls {
  readonly #upstream: string;
  readonly #abandoned: (call: Call, why: string) => void;
  readonly #open = new Map<RpcId, Call>();
  #nextId = 1;
  /** Calls given up whose log messages may still come: until their late answer does. */
  readonly #loggedLate = new Set<RpcId>();
  /** There were more than are remembered: none of them must be taken for answered. */
  #tooManyLate = false;
  readonly #idle: (() => void)[] = [];

  /** `abandoned` is told of a call that nobody waits for any more, so that the upstream can be told. */
  constructor(upstream: string, abandoned: (call: Call, why: string) => void) {
    this.#upstream = upstream;
    this.#abandoned = abandoned;
  }

  get(id: RpcId | undefined): Call | undefined {
    return id === undefined ? undefined : this.#open.get(id);
  }

  /** Whether the upstream has something to work on: streams that stay open are no work. */
  get working(): boolean {
    return [...this.#open.values()].some(
      ({ options }) => options.aside !== true && Number.isFinite(options.totalMs),
    );
  }

  open(method: string, options: CallOptions): Call {
    const id = this.#nextId++;
    const cleanups: (() => void)[] = [];
    const { promise, resolve, reject } = deferred<RpcResponse>();
    const settle = (act: () => void) => {
      if (this.#open.delete(id)) {
        for (const cleanup of cleanups) {
          cleanup();
        }
        act();
        this.#settled();
      }
    };
    const giveUp = (code: ErrorCode, why: string) =>
      settle(() => {
        // Log messages of a call that was given up may still come: whose the next ones are, nobody can tell any more.
        if (options.envelope.logLevel !== undefined) {
          this.#giveUpLogged(id);
        }
        this.#abandoned(call, why);
        reject(new GatewayError(code, { upstream: this.#upstream, ...(why === '' ? {} : { detail: why }) }));
      });
    const silence = restartable(options.timeoutMs, () =>
      giveUp('UPSTREAM_TIMEOUT', `(no answer for ${options.timeoutMs} ms)`),
    );
    const total = restartable(options.totalMs, () =>
      giveUp('UPSTREAM_TIMEOUT', `(limit: ${options.totalMs} ms in all)`),
    );
    cleanups.push(silence.cancel, total.cancel);
    let last = Number.NEGATIVE_INFINITY;
    let held = 0;
    const call: Call = {
      id,
      method,
      options,
      answer: promise,
      resolve: (response) => settle(() => resolve(response)),
      reject: (reason) => settle(() => reject(reason)),
      advance: (progress) => {
        const increased = progress > last;
        last = increased ? progress : last;
        if (increased && held === 0) {
          silence.restart();
        }
        return increased;
      },
      get held() {
        return held > 0;
      },
      hold: () => {
        held += 1;
        silence.cancel();
        return () => {
          held -= 1;
          if (held === 0 && this.#open.has(id)) {
            silence.restart();
          }
        };
      },
    };
    this.#open.set(id, call);
    onAbort(options.signal, () => giveUp('CANCELLED', ''), cleanups);
    return call;
  }

  /**
   * The likely cause of a question without origin: the call that has waited longest and is not held up by a question
   * already, else the one that has waited longest at all. All of them are the same client's.
   */
  askable(): Call | undefined {
    const calls = [...this.#open.values()].filter((call) => call.options.onQuestion !== undefined);
    return calls.find((call) => !call.held) ?? calls[0];
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
   * connection it is that client's. A modern server writes only for requests that asked for logs, so it is clear where
   * just one did and none was given up. Elsewhere nobody can tell, and nobody is told (case C-067).
   */
  #logOwner(isolated: boolean, modern: boolean): Call | undefined {
    if (isolated) {
      return this.askable();
    }
    const logged = [...this.#open.values()].filter((call) => call.options.envelope.logLevel !== undefined);
    return modern && !this.#tooManyLate && this.#loggedLate.size === 0 && logged.length === 1
      ? logged[0]
      : undefined;
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

  /** Resolves when no call waits any more. */
  untilIdle(): Promise<void> {
    return this.#open.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  #settled(): void {
    if (this.#open.size === 0) {
      for (const resolve of this.#idle.splice(0)) {
        resolve();
      }
    }
  }

  /** Settles whatever still waits. */
  endAll(reason: GatewayError): void {
    for (const call of [...this.#open.values()]) {
      call.reject(reason);
    }
  }
}

function subscriptionOf(notice: RpcNotification): RpcId | undefined {
  const id = metaOf(notice.params)[META.subscription];
  return isRpcId(id) ? id : undefined;
}

function onAbort(signal: AbortSignal | undefined, act: () => void, cleanups: (() => void)[]): void {
  if (signal === undefined) {
    return;
  }
  if (signal.aborted) {
    act();
    return;
  }
  signal.addEventListener('abort', act, { once: true });
  cleanups.push(() => signal.removeEventListener('abort', act));
}

/** A timer that can start anew; Infinity never fires. */
function restartable(ms: number, fire: () => void): { restart: () => void; cancel: () => void } {
  let cancel = () => {};
  const restart = () => {
    cancel();
    cancel = Number.isFinite(ms) ? after(ms, fire) : cancel;
  };
  restart();
  return { restart, cancel: () => cancel() };
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: Error) => void = () => {};
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
