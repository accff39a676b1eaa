import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import type { Entry } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { logLevelReaches } from '../protocol/log-level.ts';
import { META, metaOf } from '../protocol/meta.ts';
import { declaredHeaders, type ParamHeader, paramHeaders, paramMismatch } from '../protocol/param-headers.ts';
import type { CallOptions } from '../upstream/calls.ts';
import type { Fleet } from '../upstream/fleet.ts';
import { type RequestContext, requiredString, viewFor } from './context.ts';
import type { Hello } from './hello.ts';
import type { Lookup } from './lookup.ts';
import { type SeenUris, withExposedUris } from './seen-uris.ts';

const HEADER_MISMATCH = -32020;

export interface ForwardOptions {
  readonly fleet: Fleet;
  readonly store: Store;
  readonly hello: Hello;
  readonly lookup: Lookup;
  readonly seen: SeenUris;
}

/** What one request is about, besides its params. */
interface Target {
  readonly upstream: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Requests that one upstream answers. Only what the gateway owns is replaced; every other member passes untouched. */
export class Forward {
  readonly #options: ForwardOptions;
  readonly #marks = new WeakMap<object, readonly ParamHeader[]>();

  constructor(options: ForwardOptions) {
    this.#options = options;
  }

  async callTool(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { lookup, store } = this.#options;
    const name = requiredString(params, 'name');
    const entry = await lookup.entry('tools', name, context);
    const send = (tool: Entry) => {
      const headers = this.#checkedHeaders(tool, params, context);
      const target = { upstream: tool.upstream, method: 'tools/call', headers };
      return this.#send(target, { ...params, name: tool.original }, context);
    };
    try {
      return await send(entry);
    } catch (thrown) {
      if (!(thrown instanceof UpstreamRpcError) || thrown.error.code !== HEADER_MISMATCH) {
        throw thrown;
      }
      // Refused before it acted, because our copy of its schema is old: read it again, and once more
      // (spec 2026-07-28: transports/streamable-http, Client Behavior).
      await store.refresh(entry.upstream, ['tools']);
      return send(store.current.toolOf(entry.upstream, entry.original) ?? entry);
    }
  }

  async getPrompt(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const name = requiredString(params, 'name');
    const entry = await this.#options.lookup.entry('prompts', name, context);
    const target = { upstream: entry.upstream, method: 'prompts/get' };
    return this.#send(target, { ...params, name: entry.original }, context);
  }

  readResource(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { upstream, uri } = this.#options.lookup.resource(requiredString(params, 'uri'), context);
    return this.#send({ upstream, method: 'resources/read' }, { ...params, uri }, context);
  }

  /** Completion of a prompt's argument or a template's variable. A server that offers none completes nothing. */
  async complete(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { hello } = this.#options;
    if (!hello.offers(context.entrance, 'completions')) {
      throw new GatewayError('METHOD_UNKNOWN', { detail: 'No server here offers completions.' });
    }
    const { upstream, ref } = await this.#reference(params, context);
    if (!hello.upstreamDeclares(upstream, 'completions')) {
      return { completion: { values: [] } };
    }
    return this.#send({ upstream, method: 'completion/complete' }, { ...params, ref }, context);
  }

  async #reference(
    params: JsonObject | undefined,
    context: RequestContext,
  ): Promise<{ upstream: string; ref: JsonObject }> {
    const ref = params?.['ref'];
    if (!isObject(ref)) {
      throw new GatewayError('PARAMS_INVALID', { detail: 'params.ref must be an object.' });
    }
    if (ref['type'] === 'ref/prompt') {
      const entry = await this.#options.lookup.entry('prompts', requiredString(ref, 'name'), context);
      return { upstream: entry.upstream, ref: { ...ref, name: entry.original } };
    }
    if (ref['type'] !== 'ref/resource') {
      throw new GatewayError('PARAMS_INVALID', {
        detail: 'params.ref.type must be ref/prompt or ref/resource.',
      });
    }
    const uri = requiredString(ref, 'uri');
    const template = viewFor(context)
      .list('templates')
      .find(({ item }) => item['uriTemplate'] === uri);
    const route =
      template === undefined
        ? this.#options.lookup.resource(uri, context)
        : { upstream: template.entry.upstream, uri: template.entry.original };
    return { upstream: route.upstream, ref: { ...ref, uri: route.uri } };
  }

  /** The `Mcp-Param-*` headers towards the upstream, after the client's own were found to match its arguments. */
  #checkedHeaders(
    tool: Entry,
    params: JsonObject | undefined,
    context: RequestContext,
  ): Record<string, string> {
    let marks = this.#marks.get(tool.item);
    if (marks === undefined) {
      const declared = declaredHeaders(tool.item['inputSchema']);
      marks = declared.valid ? declared.headers : [];
      this.#marks.set(tool.item, marks);
    }
    const args = params?.['arguments'];
    const fault = context.headers === undefined ? undefined : paramMismatch(marks, args, context.headers);
    if (fault !== undefined) {
      throw new GatewayError('HEADER_MISMATCH', { detail: fault });
    }
    return paramHeaders(marks, args);
  }

  async #send(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    const { fleet } = this.#options;
    const { upstream, method } = target;
    const { timeouts } = fleet.settings(upstream);
    const options: CallOptions = {
      envelope: envelopeOf(context),
      signal: context.signal,
      timeoutMs: timeouts.call,
      totalMs: timeouts.total,
      progress: method === 'tools/call' || metaOf(params)[META.progressToken] !== undefined,
      onNotice: (notice) => relayNotice(notice, params, context),
      ...(target.headers === undefined ? {} : { headers: target.headers }),
    };
    const result = await fleet.call(upstream, method, params, options);
    const { resultType } = result;
    if (resultType !== undefined && resultType !== 'complete') {
      // The gateway declared no client capability and no extension, so nothing but a final result is an answer.
      throw new GatewayError('UPSTREAM_NOT_MCP', {
        upstream,
        logged: 'a result of a type that was not negotiated',
      });
    }
    return this.#exposed(result, upstream, context);
  }

  /** The result with its URIs as this client knows them; each is remembered as given to this principal. */
  #exposed(result: JsonObject, upstream: string, context: RequestContext): JsonObject {
    const view = viewFor(context);
    return withExposedUris(result, (uri) => {
      const exposed = view.exposeUri(upstream, uri);
      this.#options.seen.note(context.principal, exposed, { upstream, uri });
      return exposed;
    });
  }
}

function envelopeOf(context: RequestContext) {
  const { info, logLevel } = context.client;
  return { clientInfo: info, clientCapabilities: {}, ...(logLevel === undefined ? {} : { logLevel }) };
}

/** Progress under the client's own token, and only where it gave one; log messages it wants to hear. */
function relayNotice(
  notice: { readonly jsonrpc: '2.0'; readonly method: string; readonly params?: JsonObject },
  params: JsonObject,
  context: RequestContext,
): void {
  if (notice.method === 'notifications/progress') {
    const progressToken = metaOf(params)[META.progressToken];
    if (progressToken !== undefined) {
      context.notify({ ...notice, params: { ...notice.params, progressToken } });
    }
    return;
  }
  const level = stringAt(notice.params, 'level');
  if (notice.method === 'notifications/message' && logLevelReaches(level, context)) {
    context.notify(notice);
  }
}
