import type { JsonObject } from '../../src/base/json.ts';
import type { RpcErrorObject, RpcId } from '../../src/protocol/json-rpc.ts';
import type { Era, Kind } from '../../src/protocol/model.ts';
import type { Answer, Exchange } from './http-exchange.ts';
import type { MessageMatch } from './message-queue.ts';

export type { Answer };

/** A header that is null is not sent, not even where the agent would send it by itself. */
export type HeaderChanges = Readonly<Record<string, string | null>>;

/** What the agent answers to questions of the server, by method: a result, or `{ error }`. Unknown ones get -32601. */
export type Answers = Readonly<Record<string, (params: JsonObject) => JsonObject | Promise<JsonObject>>>;

export interface AgentOptions {
  /** Default: the newest of its era. */
  readonly version?: string;
  readonly capabilities?: JsonObject;
  readonly clientInfo?: JsonObject;
  /** Sent with every request, e.g. `authorization`, `host`, `origin`. */
  readonly headers?: HeaderChanges;
  readonly answers?: Answers;
  /** False: send nothing at the start (legacy `initialize`, modern `server/discover`); for hand-made traffic. */
  readonly greet?: boolean;
}

export interface AskOptions {
  /** Default: counts from 0. */
  readonly id?: RpcId;
  readonly headers?: HeaderChanges;
  /** Further `_meta` members of the request. */
  readonly meta?: JsonObject;
  readonly progressToken?: RpcId;
}

export interface CallOptions extends AskOptions {
  /** Instead of the agent's own. */
  readonly answers?: Answers;
}

export interface CallAnswer {
  readonly result: JsonObject;
  /** `structuredContent` of the result, `{}` where there is none. */
  readonly structured: JsonObject;
  /** Text of its first content block. */
  readonly text: string;
  /** `params` of the progress notifications, in order. */
  readonly progress: readonly JsonObject[];
  /** `params` of the log notifications. */
  readonly logs: readonly JsonObject[];
  /** How often the call was sent: more than once where the modern server asked for input. */
  readonly rounds: number;
  readonly answer: Answer;
}

export interface ListenFilter {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  /** Resources to hear updates of. */
  readonly uris?: readonly string[];
}

/** An open stream of notices: the legacy GET stream, or one modern `subscriptions/listen`. */
export interface NoticeStream extends AsyncDisposable {
  /** The modern acknowledgement; undefined in the legacy era. */
  readonly acknowledged: JsonObject | undefined;
  readonly all: readonly JsonObject[];
  /** The next message that matches, skipping others. */
  next(match?: MessageMatch, timeout?: number): Promise<JsonObject>;
  count(match?: MessageMatch): number;
  /** Resolves when the stream is over; `messages` and `ended` tell how. */
  readonly closed: Promise<Answer>;
  close(): Promise<void>;
}

/** A client that sends what it is told to over raw HTTP, and hides nothing. One shape for both eras. */
export interface Agent extends AsyncDisposable {
  readonly era: Era;
  readonly url: string;
  readonly version: string;
  /** Result of `initialize` or `server/discover`; `{}` without greeting. */
  readonly hello: JsonObject;
  /** Legacy session id. */
  readonly sessionId: string | undefined;
  /** Starts a request and gives it back while it runs. */
  begin(method: string, params?: JsonObject, options?: AskOptions): Exchange;
  /** Sends a request and waits for the whole answer, whatever it is. */
  request(method: string, params?: JsonObject, options?: AskOptions): Promise<Answer>;
  /** The result of a request; throws {@link RpcError} for an error. */
  result(method: string, params?: JsonObject, options?: AskOptions): Promise<JsonObject>;
  notify(method: string, params?: JsonObject, options?: AskOptions): Promise<Answer>;
  /** Every item of a kind, all pages; throws where a cursor comes twice. */
  list(kind: Kind): Promise<JsonObject[]>;
  /** The names (for resources and templates: URIs) of a kind, in order. */
  names(kind?: Kind): Promise<string[]>;
  /** Resolves with the names once they satisfy `ready`; lists anew after each notice of change. */
  untilNames(ready: (names: string[]) => boolean, kind?: Kind, timeout?: number): Promise<string[]>;
  call(name: string, args?: JsonObject, options?: CallOptions): Promise<CallAnswer>;
  /** Gives a running request up in the way of the era: `notifications/cancelled`, or the stream closed. */
  cancel(running: Exchange): Promise<void>;
  /** Default filter: all three lists. */
  listen(filter?: ListenFilter, options?: AskOptions): Promise<NoticeStream>;
  /** Any body and any headers; only content-type and accept are added. An object is sent as JSON. */
  post(body: unknown, headers?: HeaderChanges): Promise<Answer>;
  /** A request that is no POST. Session and version headers are added in the legacy era. */
  http(method: string, headers?: HeaderChanges): Exchange;
}

/** An error answer, thrown. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  readonly answer: Answer;

  constructor(error: RpcErrorObject, answer: Answer) {
    super(`${error.code} ${error.message}`);
    this.name = 'RpcError';
    this.code = error.code;
    this.data = error.data;
    this.answer = answer;
  }
}

export type Connect = (url: string, options?: AgentOptions) => Promise<Agent>;
