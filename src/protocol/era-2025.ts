import { isObject, type JsonObject, without } from '../base/json.ts';
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
const MODERN_CODES: ReadonlySet<number> = new Set([-32020, -32021, -32022]);
/** 2025-11-25: a resource that does not exist. */
const RESOURCE_NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;

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
      const schema = item['outputSchema'];
      const dropped =
        kind === 'tools' && schema !== undefined && (!isObject(schema) || schema['type'] !== 'object');
      return dropped ? without(item, 'outputSchema') : item;
    },

    encodeResult(_method, result) {
      const plain = without(result, 'resultType', 'ttlMs', 'cacheScope');
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
