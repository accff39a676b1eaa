import { isObject, type JsonObject, objectAt, without } from '../base/json.ts';
import type { EraCodec } from './era-codec.ts';
import { META, withHopMeta } from './meta.ts';
import type { Item, Kind } from './model.ts';

const METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'completion/complete',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
]);

/** Codes that only modern peers know (spec 2026-07-28: basic/index, Error Codes). */
export const MODERN_CODES: ReadonlySet<number> = new Set([-32020, -32021, -32022]);
/** 2025-11-25: a resource that does not exist. */
const RESOURCE_NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;

/** A schema that says nothing but that a value may be there, or may not, in the form of an object. */
const ANYTHING: JsonObject = {};
const NOTHING: JsonObject = { not: {} };

/**
 * A schema whose properties are all described by objects: legacy SDKs reject the whole list for `true`, which generators
 * write for a value of any kind and the modern era allows. The same schema where they are.
 */
function withObjectProperties(schema: unknown): unknown {
  const properties = objectAt(schema, 'properties');
  if (properties === undefined || !Object.values(properties).some((each) => typeof each === 'boolean')) {
    return schema;
  }
  const described = Object.entries(properties).map(
    ([name, each]) => [name, typeof each === 'boolean' ? (each ? ANYTHING : NOTHING) : each] as const,
  );
  return { ...(schema as JsonObject), properties: Object.fromEntries(described) };
}

/** Methods whose results are those of calls of tools. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'tasks/result']);

/**
 * `structuredContent` that is no object, which only the modern era has (SEP-2106): legacy SDKs reject the whole result for
 * it. What it says stays, as a text, where nothing else was said (2025-11-25: server/tools, Structured Content).
 */
function withoutLooseContent(result: JsonObject): JsonObject {
  const { structuredContent, content } = result;
  if (!Object.hasOwn(result, 'structuredContent') || isObject(structuredContent)) {
    return result;
  }
  const rest = without(result, 'structuredContent');
  return Array.isArray(content) && content.length > 0
    ? rest
    : { ...rest, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
}

/**
 * The `initialize` era, 2024-11-05 to 2025-11-25. Modern result members go, since strict legacy SDKs reject what they
 * do not know; an `outputSchema` whose root is not an object is left out, since they reject the whole list for it.
 */
export function era2025(version: string): EraCodec {
  return {
    version,
    era: 'legacy',
    methods: METHODS,

    encodeItem(kind: Kind, item: Item) {
      if (kind !== 'tools') {
        return item;
      }
      const { inputSchema, outputSchema } = item;
      const dropped =
        outputSchema !== undefined && (!isObject(outputSchema) || outputSchema['type'] !== 'object');
      const kept = dropped ? without(item, 'outputSchema') : item;
      const input = withObjectProperties(inputSchema);
      const output = withObjectProperties(kept['outputSchema']);
      return input === inputSchema && output === kept['outputSchema']
        ? kept
        : { ...kept, inputSchema: input, ...(output === undefined ? {} : { outputSchema: output }) };
    },

    encodeResult(method, result) {
      const sound = CALLS.has(method) ? withoutLooseContent(result) : result;
      const plain = without(sound, 'resultType', 'ttlMs', 'cacheScope');
      const meta = plain['_meta'];
      if (!isObject(meta) || !Object.hasOwn(meta, META.serverInfo)) {
        return plain;
      }
      const rest = without(meta, META.serverInfo);
      return Object.keys(rest).length === 0 ? without(plain, '_meta') : { ...plain, _meta: rest };
    },

    encodeError(error, uri) {
      if (MODERN_CODES.has(error.code)) {
        return { ...error, code: INTERNAL };
      }
      const missing =
        error.code === INVALID_PARAMS && uri !== undefined && isObject(error.data) && 'uri' in error.data;
      return missing ? { ...error, code: RESOURCE_NOT_FOUND } : error;
    },

    encodeParams(params: JsonObject | undefined, _envelope, progressToken) {
      return withHopMeta(params, progressToken === undefined ? {} : { [META.progressToken]: progressToken });
    },
  };
}
