import { isObject, type JsonObject } from '../base/json.ts';
import { KIND_FACTS, type Kind } from './model.ts';

/** Server capabilities as an upstream declared them: read member by member, never trusted to be well formed. */
export type ServerCapabilities = JsonObject;

/** True when the server declared the capability. `tools: {}` declares it, `tools: false` or null does not. */
export function declares(capabilities: ServerCapabilities, capability: string): boolean {
  return isObject(capabilities[capability]);
}

/** True when the server promised a notice for changes of this kind. */
export function notifies(capabilities: ServerCapabilities, kind: Kind): boolean {
  const declared = capabilities[KIND_FACTS[kind].capability];
  return isObject(declared) && declared['listChanged'] === true;
}

/**
 * The capabilities of the gateway in front of these servers: the union of what they can do, with `listChanged`, which
 * the gateway adds for every list it serves, and nothing that it cannot carry.
 * `pending`: some server has not been asked yet; then the lists count as servable, since they may turn out to be.
 */
export function merge(servers: readonly ServerCapabilities[], pending: boolean): JsonObject {
  const any = (capability: string) => servers.some((server) => declares(server, capability));
  return {
    ...(pending || any('tools') ? { tools: { listChanged: true } } : {}),
    ...(pending || any('prompts') ? { prompts: { listChanged: true } } : {}),
    ...(pending || any('resources') ? { resources: { listChanged: true } } : {}),
    ...(any('completions') ? { completions: {} } : {}),
    ...(any('logging') ? { logging: {} } : {}),
  };
}
