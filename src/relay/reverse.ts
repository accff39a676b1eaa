import { Ender } from '../base/ender.ts';
import { GatewayError, RpcRefusal } from '../base/errors.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import { cut } from '../base/log.ts';
import { hasExtension, negotiated, TASKS } from '../protocol/extensions.ts';
import { type Asked, asLegacyQuestion, carried, missingFor } from '../protocol/questions.ts';
import type { Question } from '../upstream/call.ts';
import type { Fleet } from '../upstream/fleet.ts';
import type { Party } from '../upstream/party.ts';
import type { Caller, RequestContext, SessionFace } from './context.ts';

/** Questions of servers on their way to the client (design, Eras; spec 2026-07-28: patterns/mrtr). */

/** Characters of a client's refusal that its call ends with. */
const LONGEST_REFUSAL = 500;

/** For whom this request is made, as far as the upstream connection depends on it; `server` is what that declared. */
export function partyOf(context: Caller, server: JsonObject): Party {
  const { codec, client, principal, session } = context;
  return {
    principal,
    session: session?.sid,
    era: codec.era,
    info: client.info,
    capabilities: { ...carried(client.capabilities, codec.era), ...extensionsFor(context, server) },
    question: (question) => aside(question, context),
  };
}

/** The party of a request to an upstream that each user reaches in their own way; undefined for any other upstream. */
export function ownPartyOf(
  context: RequestContext,
  fleet: Pick<Fleet, 'reach' | 'capabilities'>,
  upstream: string,
): Party | undefined {
  return fleet.reach(upstream).own ? partyOf(context, fleet.capabilities(upstream) ?? {}) : undefined;
}

/** A legacy client knows no tasks, but the gateway awaits them for it (see await-task.ts). */
function extensionsFor({ codec, client }: Caller, server: JsonObject): JsonObject {
  const { extensions } = negotiated(client.capabilities, server);
  if (codec.era === 'modern' || !hasExtension(server, TASKS)) {
    return isObject(extensions) ? { extensions } : {};
  }
  return { extensions: { ...(isObject(extensions) ? extensions : {}), [TASKS]: {} } };
}

/**
 * A question while no call is under way. A modern client cannot be reached then: it has told no roots, and everything
 * else is refused at once, so that the server goes on.
 */
async function aside(question: Question, context: Caller): Promise<JsonObject> {
  if (context.session === undefined) {
    if (question.method === 'roots/list') {
      return { roots: [] };
    }
    throw new GatewayError('CAPABILITY_MISSING');
  }
  return askLegacy(question, context, context.session.askAside);
}

/** Passes a question of a legacy server to a legacy client, on the stream of its call. */
export function askOnStream(
  question: Question,
  context: RequestContext,
  session: SessionFace,
): Promise<JsonObject> {
  return askLegacy(question, context, session.ask);
}

async function askLegacy(
  question: Question,
  context: Caller,
  ask: (question: Question) => Promise<JsonObject>,
): Promise<JsonObject> {
  if (missingFor(question, context.client.capabilities) !== undefined) {
    throw new GatewayError('CAPABILITY_MISSING');
  }
  return ask({ ...question, ...asLegacyQuestion(question, context.codec.version) });
}

/**
 * The `inputRequests` of an unfinished result, checked against what the client declared. Throws CAPABILITY_MISSING
 * naming what would be needed, UPSTREAM_NOT_MCP for something that is no request.
 */
export function inputRequestsOf(
  result: JsonObject,
  upstream: string,
  context: RequestContext,
): Map<string, Asked> {
  const listed = isObject(result['inputRequests']) ? result['inputRequests'] : {};
  const requests = new Map<string, Asked>();
  for (const [key, value] of Object.entries(listed)) {
    const method = stringAt(value, 'method');
    if (!isObject(value) || method === undefined) {
      throw new GatewayError('UPSTREAM_NOT_MCP', { upstream, logged: 'an input request without a method' });
    }
    const asked = { method, params: isObject(value['params']) ? value['params'] : undefined };
    const requiredCapabilities = missingFor(asked, context.client.capabilities);
    if (requiredCapabilities !== undefined) {
      throw new GatewayError('CAPABILITY_MISSING', { upstream, data: { requiredCapabilities } });
    }
    requests.set(key, asked);
  }
  return requests;
}

/**
 * Asks a legacy client everything that a modern upstream wants to know, at once, on the stream of the call. Throws
 * QUESTION_FAILED where the client answers one with an error, which that era has and the upstream's has not, or not at
 * all; then the others are taken back.
 */
export async function answersOf(
  requests: ReadonlyMap<string, Asked>,
  context: RequestContext,
  session: SessionFace,
  upstream: string,
): Promise<JsonObject> {
  const over = new Ender();
  const end = () => over.abort();
  context.signal.addEventListener('abort', end, { once: true });
  if (context.signal.aborted) {
    end();
  }
  try {
    const answers = await Promise.all(
      [...requests].map(async ([key, asked]) => {
        const question = { ...asLegacyQuestion(asked, context.codec.version), signal: over };
        return [key, await session.ask(question)] as const;
      }),
    );
    return Object.fromEntries(answers);
  } catch (thrown) {
    end();
    throw context.signal.aborted ? thrown : asUnanswered(thrown, upstream);
  } finally {
    context.signal.removeEventListener('abort', end);
  }
}

function asUnanswered(thrown: unknown, upstream: string): unknown {
  if (thrown instanceof RpcRefusal) {
    const detail = `The client said: ${cut(thrown.error.message, LONGEST_REFUSAL)}`;
    return new GatewayError('QUESTION_FAILED', { upstream, detail });
  }
  const unheard = thrown instanceof GatewayError && thrown.code === 'CANCELLED';
  return unheard ? new GatewayError('QUESTION_FAILED', { upstream, cause: thrown }) : thrown;
}
