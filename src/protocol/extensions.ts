import { isObject, type JsonObject, objectAt, own } from '../base/json.ts';

/** Extension negotiation (spec 2026-07-28: basic/versioning, Extension Negotiation). */

/** Tasks (SEP-2663). */
export const TASKS = 'io.modelcontextprotocol/tasks';
/** MCP Apps (SEP-1865). Its declaration tells a server what the client can show; servers need not declare it. */
export const APPS = 'io.modelcontextprotocol/ui';

/** The extensions in declared capabilities, by identifier. */
export function extensionsOf(capabilities: unknown): JsonObject {
  return objectAt(capabilities, 'extensions') ?? {};
}

/** True when the extension was declared there. */
export function hasExtension(capabilities: unknown, id: string): boolean {
  return isObject(extensionsOf(capabilities)[id]);
}

/** What a client's declaration becomes towards one server: only what that server declared too can be negotiated. */
export function negotiated(client: unknown, server: unknown): JsonObject {
  const declared = objectAt(client, 'extensions');
  if (declared === undefined) {
    return {};
  }
  const members = Object.entries(declared).filter(([id]) => id === APPS || hasExtension(server, id));
  return members.length === 0 ? {} : { extensions: Object.fromEntries(members) };
}

/** `data.requiredCapabilities` of the -32021 error for an extension that the client did not declare. */
export function requiring(id: string): JsonObject {
  return { requiredCapabilities: { extensions: { [id]: {} } } };
}

/** Methods whose prefix is not the name of their extension (SEP-2640). */
const OTHERWISE_NAMED: Readonly<Record<string, string>> = {
  'resources/directory/read': 'io.modelcontextprotocol/skills',
};

/** True when a method belongs to an extension: `skills/list` is a method of every `<vendor>/skills`. */
export function isMethodOf(id: string, method: string): boolean {
  const prefix = method.slice(0, Math.max(0, method.indexOf('/')));
  return own(OTHERWISE_NAMED, method) === id || (prefix !== '' && id.slice(id.indexOf('/') + 1) === prefix);
}

/** True when a tool's definition lets the page of an MCP App call it (SEP-1865: `_meta.ui.visibility`, default both). */
export function callableByApps(tool: JsonObject): boolean {
  const ui = objectAt(objectAt(tool, '_meta'), 'ui');
  const visibility = ui?.['visibility'];
  return (
    ui !== undefined &&
    (visibility === undefined || (Array.isArray(visibility) && visibility.includes('app')))
  );
}

/** True unless a tool's definition keeps it for the page of an MCP App alone (SEP-1865: `_meta.ui.visibility`). */
export function forTheModel(tool: JsonObject): boolean {
  const visibility = objectAt(objectAt(tool, '_meta'), 'ui')?.['visibility'];
  return !Array.isArray(visibility) || visibility.includes('model');
}
