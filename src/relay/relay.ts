import type { Allowance } from '../access/allowance.ts';
import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError, toGatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import { wireError } from '../protocol/codec.ts';
import type { RpcErrorObject, RpcNotification, RpcRequest } from '../protocol/json-rpc.ts';
import { failure, result } from '../protocol/json-rpc.ts';
import { isLogLevel } from '../protocol/log-level.ts';
import { type CacheHints, KIND_FACTS, KINDS, type Kind } from '../protocol/model.ts';
import type { RequestContext } from './context.ts';
import type { Forward } from './forward.ts';
import type { Hello } from './hello.ts';
import type { Lists } from './list.ts';
import { Thinner } from './thinner.ts';
import type { Honoured, Watching } from './watching.ts';

/** What goes back: one JSON-RPC response as text, and the HTTP status that belongs to it. */
export interface Reply {
  readonly status: number;
  readonly json: string;
  /** Why the HTTP answer as a whole is a refusal, with headers of its own, whatever the era: 403 and 429. */
  readonly refused?: GatewayError;
}

export interface RelayOptions {
  readonly allowance: Allowance;
  readonly hello: Hello;
  readonly lists: Lists;
  readonly forward: Forward;
  readonly watching: Watching;
  /** Longest time a client is told it may keep an answer, in ms. */
  readonly maxTtl: () => number;
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
      ['tools/call', (params, context) => forward.callTool(params, context)],
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
    const thinner = new Thinner(given.notify);
    const context = { ...given, notify: (notice: RpcNotification) => thinner.notify(notice) };
    let leave = () => {};
    try {
      const place = this.#options.allowance.request(context.principal);
      leave = place instanceof Promise ? await place : place;
      return { status: 200, json: await this.#answer(message, context) };
    } catch (thrown) {
      return this.#failed(message, thrown, context);
    } finally {
      leave();
      thinner.finish();
    }
  }

  /** What a listen filter asks for besides the lists, as far as it can be honoured for this client. */
  honour(filter: unknown, context: RequestContext): Promise<Honoured> {
    return this.#options.watching.honour(filter, context);
  }

  async #answer(message: RpcRequest, context: RequestContext): Promise<string> {
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
    const answer = await (handler === undefined
      ? this.#options.forward.extension(method, params, context)
      : handler(params, context));
    return JSON.stringify(
      result(id, this.#encode(method, answer, context, hintsOf(answer, context, this.#options.maxTtl()))),
    );
  }

  async #list(message: RpcRequest, kind: Kind, context: RequestContext): Promise<string> {
    const page = await this.#options.lists.page(kind, message.params, context);
    const rest = page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor };
    const around = this.#encode(message.method, rest, context, page.hints);
    const members = JSON.stringify(around).slice(1, -1);
    const tail = members === '' ? '' : `,${members}`;
    return `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"${page.member}":[${page.items}]${tail}}}`;
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
      withClientUri(wireError(passed ? thrown : toGatewayError(thrown)), uri),
      uri,
    );
    const json = JSON.stringify(failure(id, error));
    if (thrown instanceof GatewayError && REFUSED.has(thrown.code)) {
      return { status: thrown.row.http, json, refused: thrown };
    }
    return { status: codec.era === 'legacy' ? 200 : (MODERN_STATUS[error.code] ?? 200), json };
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
