import type { Subject } from '../access/policy.ts';
import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import type { Entry, ResourceRoute } from '../catalog/snapshot.ts';
import { workForOneResult } from '../catalog/template.ts';
import { resourceAt, viewOf } from '../catalog/view.ts';
import { wireError } from '../protocol/codec.ts';
import { asJudged } from '../vetting/blind-values.ts';
import type { Checks } from '../vetting/checks.ts';
import type { JudgedResult } from '../vetting/results.ts';
import { type RequestContext, requiredString, viewFor } from './context.ts';
import type { Conversation, Target } from './conversation.ts';
import type { Hello } from './hello.ts';
import type { Lookup } from './lookup.ts';
import { exists, requireScopes } from './permission.ts';
import { flag, routed } from './record.ts';
import type { ReplyCache } from './reply-cache.ts';
import { isLinksInWords } from './required-links.ts';
import { onceEach, type SeenUris, withExposedUris } from './seen-uris.ts';
import type { Tasks } from './tasks.ts';
import { checkedHeaders } from './tool-headers.ts';

const HEADER_MISMATCH = -32020;

export interface ForwardOptions {
  readonly hello: Hello;
  readonly lookup: Lookup;
  readonly seen: SeenUris;
  readonly conversation: Conversation;
  readonly tasks: Tasks;
  readonly replies: ReplyCache;
  readonly checks: Checks;
}

/** Requests that one upstream answers. Only what the gateway owns is replaced; every other member passes untouched. */
export class Forward {
  readonly #options: ForwardOptions;

  constructor(options: ForwardOptions) {
    this.#options = options;
  }

  async callTool(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { lookup, checks } = this.#options;
    const name = requiredString(params, 'name');
    const found = lookup.entry('tools', name, context);
    const entry = found instanceof Promise ? await found : found;
    const send = async (tool: Entry) => {
      const headers = checkedHeaders(tool, params, context);
      const refusal = this.#refusal(tool, name, params, context);
      if (refusal !== undefined) {
        return refusal;
      }
      const asTask = this.#needsTask(tool, context);
      const hints = objectAt(tool.item, 'annotations');
      const target = { upstream: tool.upstream, method: 'tools/call', headers, hints, asTask };
      // Read before the call: its server may be gone from the configuration when the result comes.
      const held = checks.results.mode(tool);
      const result = await this.#send(target, { ...params, name: tool.original }, context);
      return isLinksInWords(result)
        ? result
        : flagged(checks.results.tool({ tool, name, held, sent: params?.['arguments'] }, result), context);
    };
    try {
      return await send(entry);
    } catch (thrown) {
      if (!(thrown instanceof UpstreamRpcError) || wireError(thrown).code !== HEADER_MISMATCH) {
        throw thrown;
      }
      // Refused before it acted, by a server that knows this code, because our copy of its schema is old: read it again,
      // and once more (spec 2026-07-28: transports/streamable-http, Client Behavior).
      return send(await lookup.again(entry, name, context));
    }
  }

  /** The answer to a call whose arguments do not fit: the server is not asked. */
  #refusal(
    tool: Entry,
    name: string,
    params: JsonObject | undefined,
    context: RequestContext,
  ): JsonObject | undefined {
    const given = params?.['arguments'];
    const blind = asJudged(tool.item['inputSchema'], given);
    const check = this.#options.checks.arguments;
    const judged = check.judge(tool, name, blind);
    if (judged.kind === 'refused') {
      routed(context, tool);
      flag(context, 'arguments_rejected');
      // What is said of a long text that nobody has read has to be said of that text.
      const told = blind === given ? judged : check.judge(tool, name, given);
      return (told.kind === 'refused' ? told : judged).refusal;
    }
    if (judged.kind === 'warned') {
      flag(context, 'arguments_unfit');
    }
    return undefined;
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

  async getPrompt(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const name = requiredString(params, 'name');
    const entry = await this.#options.lookup.entry('prompts', name, context);
    const target = { upstream: entry.upstream, method: 'prompts/get' };
    const result = await this.#send(target, { ...params, name: entry.original }, context);
    return flagged(this.#options.checks.results.texts(entry, result), context);
  }

  async readResource(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { lookup, replies, conversation, checks } = this.#options;
    const { upstream, uri } = await lookup.resource(requiredString(params, 'uri'), context);
    const sent = { ...params, uri };
    const result = await replies.read({ upstream, uri, params: sent }, context, () =>
      conversation.run({ upstream, method: 'resources/read' }, sent, context),
    );
    const given = checks.results.texts({ upstream, original: '' }, result);
    return this.#exposed(flagged(given, context), upstream, context);
  }

  /** Completion of a prompt's argument or a template's variable. A server that offers none completes nothing. */
  async complete(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { hello } = this.#options;
    if (!hello.offers(context, 'completions')) {
      throw new GatewayError('METHOD_UNKNOWN', { detail: 'No server here offers completions.' });
    }
    const { upstream, ref } = await this.#reference(params, context);
    if (!hello.upstreamDeclares(upstream, 'completions', context)) {
      return { completion: { values: [] } };
    }
    return this.#vetted({ upstream, method: 'completion/complete' }, { ...params, ref }, context);
  }

  /**
   * A request about a task, of either era: to the upstream whose task it is, under its own id. What the client gets
   * back names the id that it asked with; the result inside is treated like a direct one.
   */
  async task(method: string, params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { tasks, checks } = this.#options;
    const route = tasks.route(params, context);
    const sent = await this.#send(
      {
        upstream: route.upstream,
        method,
        task: { theirs: route.taskId, ours: String(params?.['taskId']) },
        home: route.home,
      },
      { ...params, taskId: route.taskId },
      context,
    );
    const answer = flagged(
      checks.results.task({ upstream: route.upstream, original: method }, sent),
      context,
    );
    const inner = answer['result'];
    const named = tasks.answered(answer, route, params?.['taskId']);
    return isObject(inner) ? { ...named, result: this.#exposed(inner, route.upstream, context) } : named;
  }

  /**
   * A method that the core protocol does not have: it goes to the server here that declares an extension with it, and
   * that server decides what the client has to have declared. Of several servers the owner of the resource that the
   * request names is meant. Throws METHOD_UNKNOWN where nobody is, or more than one may be, URI_UNKNOWN for a resource
   * that the client may not see, and SCOPE_INSUFFICIENT.
   */
  async extension(
    method: string,
    params: JsonObject | undefined,
    context: RequestContext,
  ): Promise<JsonObject> {
    const { hello, lookup } = this.#options;
    const asSubject = (upstream: string): Subject => ({ kind: 'methods', upstream, original: method });
    const able = context.codec.era === 'modern' ? hello.withExtensionMethod(context, method) : [];
    const owners = able.filter((upstream) => exists(asSubject(upstream), context));
    const uri = stringAt(params, 'uri');
    const [first, another] = owners;
    if (first === undefined || (another !== undefined && uri === undefined)) {
      throw new GatewayError('METHOD_UNKNOWN');
    }
    if (uri === undefined) {
      requireScopes(asSubject(first), context);
      return this.#vetted({ upstream: first, method }, params ?? {}, context);
    }
    const route = another === undefined ? ownUri(uri, first, context) : await lookup.resource(uri, context);
    if (!owners.includes(route.upstream)) {
      throw new GatewayError('METHOD_UNKNOWN');
    }
    requireScopes(asSubject(route.upstream), context);
    return this.#vetted({ upstream: route.upstream, method }, { ...params, uri: route.uri }, context);
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
    if (template !== undefined) {
      requireScopes(template.entry, context);
    }
    const route =
      template === undefined
        ? await this.#options.lookup.resource(uri, context)
        : { upstream: template.entry.upstream, uri: template.entry.original };
    return { upstream: route.upstream, ref: { ...ref, uri: route.uri } };
  }

  /** A request of which nothing but the texts of its answer is looked at. */
  async #vetted(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    const result = await this.#send(target, params, context);
    const of = { upstream: target.upstream, original: target.method };
    return flagged(this.#options.checks.results.texts(of, result), context);
  }

  /** One request to its final result, or to the `input_required` that a modern client has to answer. */
  #send(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    const { conversation, tasks } = this.#options;
    const { upstream } = target;
    return conversation
      .run(target, params, context)
      .then((result) => tasks.created(this.#exposed(result, upstream, context), upstream, context));
  }

  /** The result with its URIs as this client knows them; each is remembered as given to this principal. */
  #exposed(result: JsonObject, upstream: string, context: RequestContext): JsonObject {
    let expose: ((uri: string) => string) | undefined;
    return withExposedUris(result, (uri) => {
      expose ??= this.#exposer(upstream, context);
      return expose(uri);
    });
  }

  /** For the URIs of one result. */
  #exposer(upstream: string, context: RequestContext): (uri: string) => string {
    const view = viewFor(context);
    const work = workForOneResult();
    return onceEach(upstream, (uri) => {
      const exposed = view.exposeUri(upstream, uri, work);
      this.#options.seen.note(context.principal, exposed, { upstream, uri });
      return exposed;
    });
  }
}

function flagged({ result, flags }: JudgedResult, context: RequestContext): JsonObject {
  for (const each of flags) {
    flag(context, each);
  }
  return result;
}

/** A resource as the one server knows it that is asked about it. Throws URI_UNKNOWN where the client may not see it. */
function ownUri(uri: string, upstream: string, context: RequestContext): ResourceRoute {
  const known = viewOf(context.catalog, context.entrance.selection).resource(uri);
  const route = known?.upstream === upstream ? known : { upstream, uri };
  if (!exists(resourceAt(route), context)) {
    throw new GatewayError('URI_UNKNOWN', { data: { uri } });
  }
  requireScopes(resourceAt(route), context);
  return route;
}
