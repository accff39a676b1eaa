import type { Allowance } from '../access/allowance.ts';
import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError, toGatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import { JsonParts, writeJson } from '../base/long-text.ts';
import { wireError } from '../protocol/codec.ts';
import type { RpcErrorObject, RpcNotification, RpcRequest } from '../protocol/json-rpc.ts';
import { failure, result } from '../protocol/json-rpc.ts';
import { isLogLevel } from '../protocol/log-level.ts';
import { type CacheHints, KIND_FACTS, KINDS, type Kind } from '../protocol/model.ts';
import type { ResultCheck } from '../vetting/results.ts';
import type { RequestContext } from './context.ts';
import type { Finder } from './find.ts';
import type { Forward } from './forward.ts';
import type { Hello } from './hello.ts';
import type { Lists } from './list.ts';
import { flag, type Outcome, type RequestRecord } from './record.ts';
import { Thinner } from './thinner.ts';
import type { Honoured, Watching } from './watching.ts';

/** What goes back: one JSON-RPC response as text, and the HTTP status that belongs to it. */
export interface Reply {
  readonly status: number;
  readonly json: string;
  /** The same, where parts of it were never decoded: then `json` takes time. */
  readonly parts?: JsonParts;
  /** Why the HTTP answer as a whole is a refusal, with headers of its own, whatever the era: 403 and 429. */
  readonly refused?: GatewayError;
}

/** Hears of every request. Nothing waits for it. */
export interface RequestObserver {
  /** It came in. Must not throw. */
  begin(message: RpcRequest, context: RequestContext): RequestRecord;
  /** Before anything is done about it. Throws AUDIT_FAILED where it must not be done now. */
  admit(message: RpcRequest): void;
  /** What became of it is known. Must not throw. */
  end(record: RequestRecord, message: RpcRequest, context: RequestContext, reply: Reply): void;
}

export interface RelayOptions {
  readonly allowance: Allowance;
  readonly hello: Hello;
  readonly lists: Lists;
  readonly finder: Finder;
  readonly forward: Forward;
  readonly watching: Watching;
  /** Looks at errors of upstreams before they are passed on. */
  readonly errors: Pick<ResultCheck, 'error'>;
  /** Longest time a client is told it may keep an answer, in ms. */
  readonly maxTtl: () => number;
  /** Undefined: nobody wants to know. */
  readonly observer?: RequestObserver | undefined;
}

type Handler = (params: JsonObject | undefined, context: RequestContext) => Promise<JsonObject>;

const LIST_KINDS = new Map<string, Kind>(KINDS.map((kind) => [KIND_FACTS[kind].list, kind]));

/** Statuses of JSON-RPC errors on Streamable HTTP, modern era; every other error is 200 (spec: streamable-http). */
const MODERN_STATUS: Readonly<Record<number, number>> = {
  [-32601]: 404,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
};

/** Refusals that HTTP has a word for which clients act on (RFC 6750, 3.1; RFC 6585, 4). */
const REFUSED: ReadonlySet<ErrorCode> = new Set(['SCOPE_INSUFFICIENT', 'RATE_LIMITED']);

/** One request in, one reply out. Every error of the gateway passes here, is logged once and put into its era's form. */
export class Relay {
  readonly #options: RelayOptions;
  readonly #handlers: ReadonlyMap<string, Handler>;

  constructor(options: RelayOptions) {
    this.#options = options;
    const { forward } = options;
    this.#handlers = new Map<string, Handler>([
      ['ping', async () => ({})],
      ['logging/setLevel', async (params, context) => setLogLevel(options.hello, params, context)],
      ['resources/subscribe', (params, context) => options.watching.subscribe(params, context)],
      ['resources/unsubscribe', async (params, context) => options.watching.unsubscribe(params, context)],
      ['tools/call', (params, context) => options.finder.callTool(params, context)],
      ['prompts/get', (params, context) => forward.getPrompt(params, context)],
      ['resources/read', (params, context) => forward.readResource(params, context)],
      ['tasks/get', (params, context) => forward.task('tasks/get', params, context)],
      ['tasks/result', (params, context) => forward.task('tasks/result', params, context)],
      ['tasks/update', (params, context) => forward.task('tasks/update', params, context)],
      ['tasks/cancel', (params, context) => forward.task('tasks/cancel', params, context)],
      ['completion/complete', (params, context) => forward.complete(params, context)],
    ]);
  }

  /** Never rejects: a failure is a reply too. */
  async handle(message: RpcRequest, given: RequestContext): Promise<Reply> {
    const { observer } = this.#options;
    const record = observer?.begin(message, given);
    const thinner = new Thinner(given.notify);
    const notify = (notice: RpcNotification) => thinner.notify(notice);
    const context = record === undefined ? { ...given, notify } : { ...given, notify, record };
    let leave = () => {};
    let reply: Reply;
    try {
      observer?.admit(message);
      const place = this.#options.allowance.request(context.principal);
      leave = place instanceof Promise ? await place : place;
      reply = replyOf(await this.#answer(message, context));
    } catch (thrown) {
      reply = this.#failed(message, thrown, context);
    } finally {
      leave();
      thinner.finish();
    }
    if (record !== undefined) {
      observer?.end(record, message, context, reply);
    }
    return reply;
  }

  /** What a listen filter asks for besides the lists, as far as it can be honoured for this client. */
  honour(filter: unknown, context: RequestContext): Promise<Honoured> {
    return this.#options.watching.honour(filter, context);
  }

  #answer(message: RpcRequest, context: RequestContext): Promise<string | JsonParts> | string {
    const { method, params, id } = message;
    const { codec } = context;
    const kind = LIST_KINDS.get(method);
    if (codec.methods.has(method) && kind !== undefined) {
      return this.#list(message, kind, context);
    }
    if (codec.methods.has(method) && method === 'server/discover') {
      const { result: discovered, hints } = this.#options.hello.discover(context);
      return JSON.stringify(result(id, this.#encode(method, discovered, context, hints)));
    }
    const handler = codec.methods.has(method) ? this.#handlers.get(method) : undefined;
    return (handler ?? this.#extension(method))(params, context).then((answer) => {
      if (context.record !== undefined) {
        context.record.outcome = outcomeOf(answer);
      }
      const hints = hintsOf(answer, context, this.#options.maxTtl());
      return writeJson(result(id, this.#encode(method, answer, context, hints)));
    });
  }

  #extension(method: string): Handler {
    return (params, context) => this.#options.forward.extension(method, params, context);
  }

  async #list(message: RpcRequest, kind: Kind, context: RequestContext): Promise<string | JsonParts> {
    const page = await this.#options.lists.page(kind, message.params, context);
    if (context.record !== undefined) {
      context.record.offered = page.offered;
    }
    const rest = page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor };
    const around = this.#encode(message.method, rest, context, page.hints);
    const members = JSON.stringify(around).slice(1, -1);
    const tail = members === '' ? '' : `,${members}`;
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"${page.member}":[`;
    const end = `]${tail}}}`;
    return typeof page.items === 'string' ? head + page.items + end : new JsonParts([head, page.items, end]);
  }

  #encode(method: string, content: JsonObject, context: RequestContext, hints?: CacheHints): JsonObject {
    const { serverInfo } = this.#options.hello;
    return context.codec.encodeResult(method, content, {
      serverInfo,
      ...(hints === undefined ? {} : { hints }),
    });
  }

  #failed(message: RpcRequest, thrown: unknown, context: RequestContext): Reply {
    const { codec } = context;
    const { method, id } = message;
    const passed = thrown instanceof UpstreamRpcError;
    noteFailure(context.record, thrown);
    if (passed) {
      context.log.debug(
        { upstream: thrown.upstream, code: thrown.error.code },
        'the upstream answered with an error',
      );
    } else {
      const error = toGatewayError(thrown);
      context.log[error.row.log]({ err: error, method }, 'request failed');
      if (method === 'tools/call' && error.row.result === true) {
        return {
          status: 200,
          json: JSON.stringify(result(id, this.#encode(method, asResult(error), context))),
        };
      }
    }
    const uri = method.startsWith('resources/') ? stringAt(message.params, 'uri') : undefined;
    const error = codec.encodeError(
      withClientUri(passed ? this.#vetted(thrown, message, context) : wireError(toGatewayError(thrown)), uri),
      uri,
    );
    const json = JSON.stringify(failure(id, error));
    if (thrown instanceof GatewayError && REFUSED.has(thrown.code)) {
      return { status: thrown.row.http, json, refused: thrown };
    }
    return { status: codec.era === 'legacy' ? 200 : (MODERN_STATUS[error.code] ?? 200), json };
  }

  /** What an upstream's error may say to a client. */
  #vetted(thrown: UpstreamRpcError, { method, params }: RpcRequest, context: RequestContext): RpcErrorObject {
    const of = { upstream: thrown.upstream, original: method, sent: params };
    const { error, flags } = this.#options.errors.error(of, wireError(thrown));
    for (const each of flags) {
      flag(context, each);
    }
    return error;
  }
}

function replyOf(json: string | JsonParts): Reply {
  return typeof json === 'string' ? { status: 200, json } : new ReplyInParts(json);
}

class ReplyInParts implements Reply {
  readonly status = 200;
  readonly parts: JsonParts;

  constructor(parts: JsonParts) {
    this.parts = parts;
  }

  get json(): string {
    return this.parts.toString();
  }
}

function outcomeOf({ resultType, isError }: JsonObject): Outcome {
  return resultType === 'input_required' ? resultType : isError === true ? 'tool_error' : 'ok';
}

function noteFailure(record: RequestRecord | undefined, thrown: unknown): void {
  if (record === undefined) {
    return;
  }
  if (thrown instanceof UpstreamRpcError) {
    record.upstream ??= thrown.upstream;
    record.outcome = 'upstream_error';
    record.rpcCode = thrown.error.code;
    return;
  }
  const { code, upstream } = toGatewayError(thrown);
  record.outcome = code === 'CANCELLED' ? 'cancelled' : 'error';
  record.code = code;
  if (upstream !== undefined) {
    record.upstream ??= upstream;
  }
}

/** The level of one legacy session. Each of its requests carries it on, in the form of the upstream's era. */
function setLogLevel(hello: Hello, params: JsonObject | undefined, context: RequestContext): JsonObject {
  const level = params?.['level'];
  if (!hello.promised(context, 'logging')) {
    throw new GatewayError('METHOD_UNKNOWN', { detail: 'No server here offers logging.' });
  }
  if (!isLogLevel(level)) {
    throw new GatewayError('PARAMS_INVALID', { detail: 'params.level is no log level.' });
  }
  context.session?.setLogLevel(level);
  return {};
}

/** A failure that a model can act on, as the result of its call (spec: server/tools, Error Handling). */
function asResult(error: GatewayError): JsonObject {
  const server = error.upstream === undefined ? '' : `[${error.upstream}] `;
  const retry = error.data?.['retryAfterMs'];
  const wait = typeof retry === 'number' ? ` Next try in ${Math.ceil(retry / 1000)} s.` : '';
  return { content: [{ type: 'text', text: `${server}${error.message}${wait}` }], isError: true };
}

/** Errors about a resource name it as the client knows it (spec 2026-07-28: server/resources, Error Handling). */
function withClientUri(error: RpcErrorObject, uri: string | undefined): RpcErrorObject {
  const named = uri !== undefined && isObject(error.data) && Object.hasOwn(error.data, 'uri');
  return named ? { ...error, data: { ...(error.data as JsonObject), uri } } : error;
}

/**
 * Hints that the upstream gave for a result that is passed on: bounded, and never widened. Where rules decide who may
 * have it, it is nobody else's.
 */
function hintsOf(answer: JsonObject, { access }: RequestContext, maxTtl: number): CacheHints {
  const { ttlMs, cacheScope } = answer;
  const scope = cacheScope === 'public' || cacheScope === 'private' ? cacheScope : undefined;
  return {
    ttlMs: typeof ttlMs === 'number' ? Math.min(ttlMs, maxTtl) : undefined,
    scope: access.key === '' ? scope : 'private',
  };
}
