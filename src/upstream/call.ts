import type { EndSignal } from '../base/ender.ts';
import type { ErrorCode } from '../base/error-table.ts';
import type { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import type { RpcNotification, RpcResponse } from '../protocol/json-rpc.ts';

/** How long the parts of a call took, in ms, summed up over its requests. */
export interface CallTimes {
  /** Waiting for its turn; see lane.ts. */
  queuedMs?: number;
  /** From its turn until its answer. */
  upstreamMs?: number;
}

export interface CallOptions {
  readonly envelope: Envelope;
  /** Ends the call early: the upstream is told, the caller gets CANCELLED. */
  readonly signal?: EndSignal | undefined;
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
  /** Where its times are noted; absent: nobody wants to know. */
  readonly times?: CallTimes | undefined;
  /** Further HTTP headers (`Mcp-Param-*`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Notices that belong to this call: its progress, and messages on its own stream. */
  readonly onNotice?: (notice: RpcNotification) => void;
  /**
   * A question of the upstream in the middle of this call, on a connection that is this client's own. Resolves with the
   * result for the upstream; rejects with an RpcRefusal or a GatewayError. The silence timer rests meanwhile: people
   * are slow.
   */
  readonly onQuestion?: ((question: Question) => Promise<JsonObject>) | undefined;
}

/** A request of a server to its client: elicitation, sampling or roots. */
export interface Question {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Aborts when the upstream takes the question back. */
  readonly signal: EndSignal;
}

/** The connection's calls, as one of them knows them. */
export interface CallHolder {
  /** It is over: true the first time. */
  over(call: Call): boolean;
  /** Nobody waits for it any more. Returns what its maker gets. */
  givenUp(call: Call, code: ErrorCode, why: string): GatewayError;
  /** It has to be looked at by then. */
  due(time: number): void;
}

/** One request that waits for its answer. Settled exactly once; later attempts change nothing. */
export class Call {
  readonly id: number;
  readonly method: string;
  readonly options: CallOptions;
  readonly answer: Promise<RpcResponse>;
  readonly #holder: CallHolder;
  /** When it will have been silent for too long, and when it will have taken too long: as `performance.now()` tells it. */
  #silentAt: number;
  readonly #lateAt: number;
  #last = Number.NEGATIVE_INFINITY;
  #holds = 0;
  #resolve: (response: RpcResponse) => void = () => {};
  #reject: (reason: GatewayError) => void = () => {};

  #answered = false;
  #over = false;

  constructor(id: number, method: string, options: CallOptions, holder: CallHolder) {
    this.id = id;
    this.method = method;
    this.options = options;
    this.#holder = holder;
    const now = performance.now();
    this.#silentAt = now + options.timeoutMs;
    this.#lateAt = now + options.totalMs;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Begins to listen for the end that its maker may put to it. */
  watch(): void {
    const { signal } = this.options;
    if (signal?.aborted) {
      this.#aborted();
    } else {
      signal?.addEventListener('abort', this.#aborted, { once: true });
    }
  }

  /** The upstream answered it; false while it waits, and where it was given up. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Nobody waits for it any more, however it ended. */
  get over(): boolean {
    return this.#over;
  }

  resolve(response: RpcResponse): void {
    if (this.#end()) {
      this.#answered = true;
      this.#resolve(response);
    }
  }

  reject(reason: GatewayError): void {
    if (this.#end()) {
      this.#reject(reason);
    }
  }

  /** When it has to be given up. */
  get dueAt(): number {
    return this.held ? this.#lateAt : Math.min(this.#silentAt, this.#lateAt);
  }

  /** It is due. */
  expire(): void {
    const { timeoutMs, totalMs } = this.options;
    const silent = !this.held && this.#silentAt <= this.#lateAt;
    const why = silent ? `(no answer for ${timeoutMs} ms)` : `(limit: ${totalMs} ms in all)`;
    this.#giveUp('UPSTREAM_TIMEOUT', why);
  }

  /** Takes note of progress; false where it does not increase, as it must (case C-060). */
  advance(progress: number): boolean {
    if (progress > this.#last) {
      this.#last = progress;
      this.#silentAt = performance.now() + this.options.timeoutMs;
      return true;
    }
    return false;
  }

  /** A question of this call is being answered. */
  get held(): boolean {
    return this.#holds > 0;
  }

  /** Lets the silence timer rest until the returned function is called; nests. */
  hold(): () => void {
    this.#holds += 1;
    return () => {
      this.#holds -= 1;
      this.#silentAt = performance.now() + this.options.timeoutMs;
      this.#holder.due(this.dueAt);
    };
  }

  readonly #aborted = () => this.#giveUp('CANCELLED', '');

  #giveUp(code: ErrorCode, why: string): void {
    if (this.#end()) {
      this.#reject(this.#holder.givenUp(this, code, why));
    }
  }

  #end(): boolean {
    this.#over = true;
    this.options.signal?.removeEventListener('abort', this.#aborted);
    return this.#holder.over(this);
  }
}
