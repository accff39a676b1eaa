import { isObject, type JsonObject, objectAt, without } from '../base/json.ts';

/** Reserved `_meta` keys (spec 2026-07-28: basic/index, `_meta`). */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscription: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  progressToken: 'progressToken',
  /** 2025-11-25 alone: basic/utilities/tasks, Related Task Metadata. */
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

/**
 * The token under which the client of a request wants to hear of its progress. One of another type than the specification
 * gives it (patterns/progress) is none: some clients write null where they want to hear nothing.
 */
export function progressTokenOf(params: JsonObject | undefined): string | number | undefined {
  const token = metaOf(params)[META.progressToken];
  return typeof token === 'string' || typeof token === 'number' ? token : undefined;
}

/** Members of a request's `_meta` that belong to one hop: the gateway writes its own towards each upstream. */
const HOP_KEYS = [
  META.version,
  META.clientInfo,
  META.clientCapabilities,
  META.logLevel,
  META.subscription,
  META.progressToken,
] as const;

export function metaOf(params: JsonObject | undefined): JsonObject {
  return objectAt(params, '_meta') ?? {};
}

/**
 * `params` with its `_meta` cut to what travels end to end, plus `own`. Every other member and the order are kept;
 * an `_meta` that would be empty is left out unless the caller had sent one.
 */
export function withHopMeta(params: JsonObject | undefined, own: JsonObject): JsonObject | undefined {
  const given = isObject(params?.['_meta']) ? params['_meta'] : undefined;
  const meta = given === undefined ? own : { ...without(given, ...HOP_KEYS), ...own };
  if (Object.keys(meta).length === 0) {
    return params === undefined || given === undefined ? params : without(params, '_meta');
  }
  return { ...params, _meta: meta };
}
