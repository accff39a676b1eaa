import { isObject, type JsonObject, without } from '../base/json.ts';
import type { EraCodec } from './era-codec.ts';
import { META, withHopMeta } from './meta.ts';
import type { CacheHints, Item, Kind } from './model.ts';

const METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'subscriptions/listen',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'completion/complete',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
]);

/** Results that must carry hints when they are complete (spec: server/utilities/caching, Cacheable Results). */
const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

const RESOURCE_NOT_FOUND = -32002;
const URL_ELICITATION_REQUIRED = -32042;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;

function hintMembers(hints: CacheHints | undefined): JsonObject {
  const ttl = hints?.ttlMs ?? 0;
  return {
    ttlMs: Number.isFinite(ttl) && ttl > 0 ? Math.floor(ttl) : 0,
    cacheScope: hints?.scope ?? 'private',
  };
}

/** The stateless era: every request carries version and capabilities in `_meta`, every result its type. */
export function era2026(version: string): EraCodec {
  return {
    version,
    era: 'modern',
    methods: METHODS,

    encodeItem(kind: Kind, item: Item) {
      return kind === 'tools' ? without(item, 'execution') : item;
    },

    encodeResult(method, result, extras) {
      const resultType = result['resultType'] ?? 'complete';
      const hinted = CACHEABLE.has(method) && resultType === 'complete';
      // A task of the old kind has an id that this client was never given, and could not use.
      const meta = without(isObject(result['_meta']) ? result['_meta'] : {}, META.relatedTask);
      // Members of these names are hints in cacheable results only; a task has a `ttlMs` of its own.
      const plain = CACHEABLE.has(method) && !hinted ? without(result, 'ttlMs', 'cacheScope') : result;
      const _meta = { ...meta, [META.serverInfo]: extras.serverInfo };
      return hinted
        ? { ...plain, resultType, ...hintMembers(extras.hints), _meta }
        : { ...plain, resultType, _meta };
    },

    encodeError(error, uri) {
      if (error.code === RESOURCE_NOT_FOUND) {
        const data = isObject(error.data) ? error.data : {};
        return { ...error, code: INVALID_PARAMS, data: uri === undefined ? data : { ...data, uri } };
      }
      // Codes of earlier versions must not be sent to a modern client (spec: basic/index, Error Codes).
      return error.code === URL_ELICITATION_REQUIRED ? { ...error, code: INTERNAL } : error;
    },

    encodeParams(params: JsonObject | undefined, envelope, progressToken) {
      return withHopMeta(params, {
        [META.version]: version,
        [META.clientInfo]: envelope.clientInfo,
        [META.clientCapabilities]: envelope.clientCapabilities,
        ...(envelope.logLevel === undefined ? {} : { [META.logLevel]: envelope.logLevel }),
        ...(progressToken === undefined ? {} : { [META.progressToken]: progressToken }),
      });
    },
  };
}
