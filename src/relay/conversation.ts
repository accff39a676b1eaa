import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, without } from '../base/json.ts';
import type { Settings } from '../config/settings.ts';
import { extensionsOf, hasExtension, requiring, TASKS } from '../protocol/extensions.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import { progressTokenOf } from '../protocol/meta.ts';
import { CONVERSABLE, ofTask, type TaskNames } from '../protocol/questions.ts';
import type { CallOptions } from '../upstream/call.ts';
import type { Fleet } from '../upstream/fleet.ts';
import { awaitTask } from './await-task.ts';
import type { RequestContext } from './context.ts';
import { throughTask } from './legacy-task.ts';
import type { ParkedCalls } from './parked.ts';
import type { ParkedHooks } from './parked-call.ts';
import { recordedCall } from './record.ts';
import { relayNotice } from './relay-notice.ts';
import { mayRepeat } from './repeatable.ts';
import type { RequestStates, StateSubject } from './request-state.ts';
import { canVisit, linkQuestions, linksInWords, requiredLinks } from './required-links.ts';
import { answersOf, askOnStream, inputRequestsOf, partyOf } from './reverse.ts';

/** Where a request goes, besides its params. */
export interface Target {
  readonly upstream: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The annotations of the tool that is called. */
  readonly hints?: JsonObject | undefined;
  /** A legacy tool that runs only as a task, for a client whose era has no such tasks: made as one, and its end awaited. */
  readonly asTask?: boolean;
  /** The task that a legacy client asks about, under the upstream's id and under the client's. */
  readonly task?: TaskNames;
  /** The replica whose child process is asked; undefined: this one's. */
  readonly home?: string | undefined;
}

export interface ConversationOptions {
  readonly fleet: Fleet;
  readonly parked: ParkedCalls;
  readonly states: RequestStates;
  readonly settings: () => Settings;
  /** The upstreams of another replica; undefined for the name of this one, and where there are none. */
  readonly fleetAt?: (home: string | undefined) => Pick<Fleet, 'call'> | undefined;
}

/**
 * One request of a client, carried through whatever its upstream wants to know first, in all four combinations of eras.
 *
 * modern client, modern upstream: `input_required` is passed on, its state sealed inside ours.
 * modern client, legacy upstream: the live call is parked, and the retry resumes it.
 * legacy client, modern upstream: asked on the stream of the call, then the upstream is asked again.
 * legacy client, legacy upstream: the question is passed on the stream of the call.
 */
export class Conversation {
  readonly #options: ConversationOptions;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /** `params` name the item as the upstream knows it. Resolves with a final result or, for modern clients, with `input_required`. */
  run(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    const { era } = context.codec;
    if (era === 'legacy' && (CONVERSABLE.has(target.method) || target.method === 'tasks/result')) {
      return this.#legacy(target, params, context);
    }
    return CONVERSABLE.has(target.method)
      ? this.#modern(target, params, context)
      : this.#plain(target, params, context);
  }

  /** A request that no server may answer with a question. */
  async #plain(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    const onNotice = (notice: RpcNotification) => relayNotice(notice, params, context);
    const result = await this.#call(target, params, context, { signal: context.signal, onNotice });
    isUnfinished(result, target, context);
    return result;
  }

  async #modern(target: Target, given: JsonObject, context: RequestContext): Promise<JsonObject> {
    const { states, parked, fleet } = this.#options;
    const { requestState } = given;
    const params = without(given, 'requestState');
    const subject = { upstream: target.upstream, method: target.method, params };
    const attached = {
      context,
      subject,
      onNotice: (notice: RpcNotification) => relayNotice(notice, params, context),
    };
    const state = requestState === undefined ? undefined : states.open(requestState, subject, context);
    try {
      if (state?.kind === 'parked') {
        const { id, round, home } = state;
        const answers = { id, round, responses: params['inputResponses'] };
        const outcome = await parked.resume(answers, attached, home);
        return outcome.result;
      }
      const sent = state === undefined ? params : resumed(params, state);
      if (fleet.settings(target.upstream).isolation === 'shared') {
        const hooks = { signal: context.signal, onNotice: attached.onNotice };
        return this.#passedOn(await this.#made(target, sent, context, hooks), target, subject, context);
      }
      const outcome = await parked.begin(attached, (hooks) => this.#made(target, sent, context, hooks));
      return outcome.kind === 'asked'
        ? outcome.result
        : this.#passedOn(outcome.result, target, subject, context);
    } catch (thrown) {
      return this.#linksFirst(thrown, target, subject, context);
    }
  }

  /** The call, live or by way of a task. */
  #made(target: Target, params: JsonObject, context: RequestContext, hooks: Partial<ParkedHooks>) {
    if (target.asTask !== true) {
      return this.#call(target, params, context, hooks);
    }
    const about = (method: string) => ({ upstream: target.upstream, method });
    return throughTask(params, {
      create: (asked) => this.#call(target, asked, context, hooks),
      result: (task) => this.#call(about('tasks/result'), task, context, hooks),
      cancel: (task) => this.#call(about('tasks/cancel'), task, context, {}),
      signal: hooks.signal ?? context.signal,
    });
  }

  /** An `input_required` of the upstream, as it goes to a modern client. */
  #passedOn(result: JsonObject, target: Target, subject: StateSubject, context: RequestContext): JsonObject {
    if (!isUnfinished(result, target, context)) {
      return result;
    }
    const asked = inputRequestsOf(result, target.upstream, context);
    const state = result['requestState'];
    const passed =
      asked.size === 0 ? result : { ...result, inputRequests: withParams(result['inputRequests']) };
    if (state === undefined) {
      return passed;
    }
    const content = { kind: 'passed', state: typeof state === 'string' ? state : undefined } as const;
    return { ...passed, requestState: this.#options.states.seal(content, subject, context) };
  }

  /** A legacy upstream that wants links visited first (-32042): an `input_required` for them, and the call made anew. */
  #linksFirst(thrown: unknown, target: Target, subject: StateSubject, context: RequestContext): JsonObject {
    const links = requiredLinks(thrown);
    if (!canVisit(links, context)) {
      return linksInWords(thrown, links, target.method);
    }
    const requestState = this.#options.states.seal({ kind: 'anew' }, subject, context);
    return { resultType: 'input_required', inputRequests: linkQuestions(links), requestState };
  }

  async #legacy(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    try {
      return await this.#asking(target, params, context);
    } catch (thrown) {
      const links = requiredLinks(thrown);
      if (links.length > 0 && !canVisit(links, context)) {
        return linksInWords(thrown, links, target.method);
      }
      throw thrown;
    }
  }

  async #asking(target: Target, params: JsonObject, context: RequestContext): Promise<JsonObject> {
    const { session } = context;
    const hooks: Partial<ParkedHooks> = {
      signal: context.signal,
      onNotice: (notice) => relayNotice(notice, params, context),
      ...(session === undefined
        ? {}
        : { onQuestion: (question) => askOnStream(ofTask(question, target.task), context, session) }),
    };
    let sent = params;
    const { rounds } = this.#options.settings().questions;
    for (let round = 0; round <= rounds; round += 1) {
      const result = await this.#call(target, sent, context, hooks);
      if (result['resultType'] === 'task') {
        return this.#finished(result, target, context);
      }
      if (!isUnfinished(result, target, context)) {
        return result;
      }
      const requests = inputRequestsOf(result, target.upstream, context);
      if (session === undefined) {
        throw new GatewayError('CAPABILITY_MISSING', { upstream: target.upstream });
      }
      const { requestState } = result;
      sent = {
        ...params,
        inputResponses: await answersOf(requests, context, session, target.upstream),
        ...(requestState === undefined ? {} : { requestState }),
      };
    }
    throw new GatewayError('QUESTION_ROUNDS', { upstream: target.upstream });
  }

  /** A task that a server made of a legacy client's call: that era has none, so its end is awaited. */
  #finished(created: JsonObject, { upstream }: Target, context: RequestContext): Promise<JsonObject> {
    const { fleet } = this.#options;
    return awaitTask({
      upstream,
      created,
      signal: context.signal,
      totalMs: fleet.settings(upstream).timeouts.total,
      // The last word, tasks/cancel, is said after the client has gone: it must not be cut short by that.
      ask: (method, params) => this.#call({ upstream, method }, params, context, {}),
      answers: async (inputRequests) => {
        const requests = inputRequestsOf({ inputRequests }, upstream, context);
        if (context.session === undefined) {
          throw new GatewayError('CAPABILITY_MISSING', { upstream });
        }
        return answersOf(requests, context, context.session, upstream);
      },
    });
  }

  #call(
    target: Target,
    params: JsonObject,
    context: RequestContext,
    hooks: Partial<ParkedHooks>,
  ): Promise<JsonObject> {
    const { fleet } = this.#options;
    const { upstream, method } = target;
    const { timeouts } = fleet.settings(upstream);
    const { info, logLevel } = context.client;
    const party = partyOf(context, fleet.capabilities(upstream) ?? {});
    const options: CallOptions = {
      envelope: {
        clientInfo: info,
        clientCapabilities: party.capabilities,
        ...(logLevel === undefined ? {} : { logLevel }),
      },
      // tasks/result is answered when the task is done: its server is not silent, it works (2025-11-25).
      timeoutMs: method === 'tasks/result' ? timeouts.total : timeouts.call,
      totalMs: timeouts.total,
      times: context.record,
      progress: method === 'tools/call' || progressTokenOf(params) !== undefined,
      ...hooks,
      ...(target.headers === undefined ? {} : { headers: target.headers }),
      repeatable: mayRepeat(fleet.settings(upstream), String(params['name']), target.hints),
    };
    const there = this.#options.fleetAt?.(target.home) ?? fleet;
    return recordedCall(there, target, params, { options, party, record: context.record });
  }
}

/** The params of a retry as the upstream gets them: with its own state again, or as a call made anew. */
function resumed(
  params: JsonObject,
  state: { kind: 'passed'; state: string | undefined } | { kind: 'anew' },
): JsonObject {
  if (state.kind === 'anew') {
    return without(params, 'inputResponses');
  }
  return state.state === undefined ? params : { ...params, requestState: state.state };
}

/**
 * True for `input_required`, false for a final result or a type of an extension that both sides declared. Throws for
 * anything else: it was not negotiated (spec: basic/index, ResultType).
 */
function isUnfinished(result: JsonObject, { upstream, method }: Target, context: RequestContext): boolean {
  const { resultType } = result;
  if (resultType === undefined || resultType === 'complete') {
    return false;
  }
  if (resultType === 'input_required' && CONVERSABLE.has(method)) {
    return true;
  }
  const { capabilities } = context.client;
  if (resultType === 'task' && !hasExtension(capabilities, TASKS)) {
    throw new GatewayError('CAPABILITY_MISSING', { upstream, data: requiring(TASKS) });
  }
  if (context.codec.era === 'modern' && Object.keys(extensionsOf(capabilities)).length > 0) {
    return false;
  }
  throw new GatewayError('UPSTREAM_NOT_MCP', {
    upstream,
    logged: 'a result of a type that was not negotiated',
  });
}

/** `roots/list` needs no params by the schema, but the Go SDK cannot read it without. */
function withParams(inputRequests: unknown): JsonObject {
  const requests = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  return Object.fromEntries(
    requests.map(([key, asked]) => [
      key,
      isObject(asked) && asked['params'] === undefined ? { ...asked, params: {} } : asked,
    ]),
  );
}
