import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import type { Entry } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { declaredHeaders, type ParamHeader, paramHeaders, paramMismatch } from '../protocol/param-headers.ts';
import { type RequestContext, requiredString, viewFor } from './context.ts';
import type { Conversation, Target } from './conversation.ts';
import type { Hello } from './hello.ts';
import type { Lookup } from './lookup.ts';
import { type SeenUris, withExposedUris } from './seen-uris.ts';
import type { Tasks } from './tasks.ts';

const HEADER_MISMATCH = -32020;
/** Longest wait for the server's word that a task is cancelled, in ms. */
const CANCEL_MS = 5_000;

export interface ForwardOptions {
  readonly store: Store;
  readonly hello: Hello;
  readonly lookup: Lookup;
  readonly seen: SeenUris;
  readonly conversation: Conversation;
  readonly tasks: Tasks;
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
      const named = { ...params, name: tool.original };
      return this.#needsTask(tool, context)
        ? this.#throughTask(target, named, context)
        : this.#send(target, named, context);
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

  /** A legacy tool that runs only as a task, called by a client whose era has no such tasks. */
  #needsTask(tool: Entry, context: RequestContext): boolean {
    const legacyServer = this.#options.hello.eraOf(tool.upstream) === 'legacy';
    return (
      context.codec.era === 'modern' &&
      legacyServer &&
      objectAt(tool.item, 'execution')?.['taskSupport'] === 'required'
    );
  }

  /** Makes the task and waits for its result (2025-11-25: basic/utilities/tasks); one that is given up is cancelled. */
  async #throughTask(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    const { conversation } = this.#options;
    const { upstream } = target;
    const created = await conversation.run(target, { ...params, task: {} }, context);
    const taskId = stringAt(created['task'], 'taskId');
    if (taskId === undefined) {
      return this.#exposed(created, upstream, context);
    }
    try {
      const result = await conversation.run({ upstream, method: 'tasks/result' }, { taskId }, context);
      return this.#exposed(result, upstream, context);
    } catch (thrown) {
      const patient = { ...context, signal: AbortSignal.timeout(CANCEL_MS) };
      await conversation
        .run({ upstream, method: 'tasks/cancel' }, { taskId }, patient)
        .catch((error: unknown) => {
          context.log.debug({ err: error }, 'a task was not cancelled');
        });
      throw thrown;
    }
  }

  async getPrompt(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const name = requiredString(params, 'name');
    const entry = await this.#options.lookup.entry('prompts', name, context);
    const target = { upstream: entry.upstream, method: 'prompts/get' };
    return this.#send(target, { ...params, name: entry.original }, context);
  }

  async readResource(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { upstream, uri } = await this.#options.lookup.resource(requiredString(params, 'uri'), context);
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

  /**
   * A request about a task, of either era: to the upstream whose task it is, under its own id. What the client gets
   * back names the id that it asked with; the result inside is treated like a direct one.
   */
  async task(method: string, params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { tasks } = this.#options;
    const route = tasks.route(params, context);
    const answer = await this.#send(
      { upstream: route.upstream, method },
      { ...params, taskId: route.taskId },
      context,
    );
    const inner = answer['result'];
    const named = tasks.answered(answer, route, params?.['taskId']);
    return isObject(inner) ? { ...named, result: this.#exposed(inner, route.upstream, context) } : named;
  }

  /**
   * A method that the core protocol does not have: it goes to the server here that declares an extension with it, and
   * that server decides what the client has to have declared. Of several servers the owner of the resource that the
   * request names is meant. Throws METHOD_UNKNOWN where nobody is, or more than one may be.
   */
  async extension(
    method: string,
    params: JsonObject | undefined,
    context: RequestContext,
  ): Promise<JsonObject> {
    const { hello, lookup } = this.#options;
    const owners = context.codec.era === 'modern' ? hello.withExtensionMethod(context.entrance, method) : [];
    const uri = stringAt(params, 'uri');
    if (owners.length > 1 && uri !== undefined) {
      const route = await lookup.resource(uri, context);
      return this.#send({ upstream: route.upstream, method }, { ...params, uri: route.uri }, context);
    }
    const [owner] = owners;
    if (owner === undefined || owners.length > 1) {
      throw new GatewayError('METHOD_UNKNOWN');
    }
    return this.#send({ upstream: owner, method }, params ?? {}, context);
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
        ? await this.#options.lookup.resource(uri, context)
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

  /** One request to its final result, or to the `input_required` that a modern client has to answer. */
  async #send(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    const { conversation, tasks } = this.#options;
    const result = await conversation.run(target, params, context);
    return tasks.created(this.#exposed(result, target.upstream, context), target.upstream, context);
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
