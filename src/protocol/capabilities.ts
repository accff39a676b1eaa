import { isObject, type JsonObject, objectAt, without } from '../base/json.ts';
import { APPS, extensionsOf, TASKS } from './extensions.ts';
import { KIND_FACTS, type Kind } from './model.ts';

/** Server capabilities as an upstream declared them: read member by member, never trusted to be well formed. */
export type ServerCapabilities = JsonObject;

/** Most that is taken of what a server declares, as JSON in UTF-16 units: every greeting of a client is made from it. */
const LONGEST_DECLARATION = 65_536;

/**
 * What a server declared, as far as it is an object of a size that says something: one too large loses what is open
 * ended, and then everything but that a capability is there.
 */
export function takeCapabilities(declared: unknown): ServerCapabilities {
  const whole = isObject(declared) ? declared : {};
  const forms = [
    () => whole,
    () => without(whole, 'extensions', 'experimental'),
    () => Object.fromEntries(CORE.filter((name) => declares(whole, name)).map((name) => [name, {}])),
  ];
  for (const form of forms) {
    const taken = form();
    if (JSON.stringify(taken).length <= LONGEST_DECLARATION) {
      return taken;
    }
  }
  return {};
}

const CORE = ['tools', 'prompts', 'resources', 'completions', 'logging'] as const;

/** True when the server declared the capability. `tools: {}` declares it, `tools: false` or null does not. */
export function declares(capabilities: ServerCapabilities, capability: string): boolean {
  return isObject(capabilities[capability]);
}

/** True when the server promised a notice for changes of this kind. */
export function notifies(capabilities: ServerCapabilities, kind: Kind): boolean {
  const declared = capabilities[KIND_FACTS[kind].capability];
  return isObject(declared) && declared['listChanged'] === true;
}

/** True when the server tells of changes of single resources (`resources.subscribe`). */
export function announcesUpdates(capabilities: ServerCapabilities): boolean {
  const { resources } = capabilities;
  return isObject(resources) && resources['subscribe'] === true;
}

/**
 * The capabilities of the gateway in front of these servers: the union of what they can do, with `listChanged`, which
 * the gateway adds for every list it serves, and nothing that it cannot carry.
 * `pending`: some server has not been asked yet. Then everything counts as servable, since it may turn out to be, and a
 * client asks for capabilities only once.
 */
export function merge(servers: readonly ServerCapabilities[], pending: boolean): JsonObject {
  const any = (capability: string) => pending || servers.some((server) => declares(server, capability));
  const subscribe = pending || servers.some(announcesUpdates) ? { subscribe: true } : {};
  return {
    ...(any('tools') ? { tools: { listChanged: true } } : {}),
    ...(any('prompts') ? { prompts: { listChanged: true } } : {}),
    ...(any('resources') ? { resources: { listChanged: true, ...subscribe } } : {}),
    ...(any('completions') ? { completions: {} } : {}),
    ...(any('logging') ? { logging: {} } : {}),
    ...extensions(servers),
  };
}

/**
 * Those merged capabilities as a legacy client is told of them. Of extensions, whose methods its era does not have, only
 * apps are left (SEP-1865: what they need travels in definitions and resources). Tasks of the 2025-11-25 kind come in,
 * for calls of tools, where some server has them; listing them is not offered: a server reached with one identity for
 * everybody cannot say whose task is whose.
 */
export function forLegacy(merged: JsonObject, servers: readonly ServerCapabilities[]): JsonObject {
  const apps = extensionsOf(merged)[APPS];
  const tasks = servers.some((server) => {
    const requests = objectAt(objectAt(server, 'tasks'), 'requests');
    return isObject(objectAt(requests, 'tools')?.['call']);
  });
  return {
    ...without(merged, 'extensions'),
    ...(apps === undefined ? {} : { extensions: { [APPS]: apps } }),
    ...(tasks ? { tasks: { cancel: {}, requests: { tools: { call: {} } } } } : {}),
  };
}

/**
 * What the servers extend the protocol by, as far as it can be carried: tasks and apps of any number of them, any other
 * extension of one only, since its methods would have more than one owner.
 */
function extensions(servers: readonly ServerCapabilities[]): JsonObject {
  const declared = servers.map(extensionsOf);
  const carried = Object.assign({}, ...declared.toReversed());
  for (const id of Object.keys(carried)) {
    const owners = declared.filter((each) => Object.hasOwn(each, id));
    if (owners.length > 1 && id !== TASKS && id !== APPS) {
      delete carried[id];
    }
  }
  return Object.keys(carried).length === 0 ? {} : { extensions: carried };
}
