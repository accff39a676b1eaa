import { isObject, type JsonObject, objectAt } from '../base/json.ts';
import type { Item } from '../protocol/model.ts';

/**
 * Where a tool names the page of its app: `_meta.ui.resourceUri` (MCP Apps, SEP-1865), the flat key that it replaced,
 * and the one that older servers still send.
 */
const FLAT_KEYS = ['ui/resourceUri', 'openai/outputTemplate'] as const;

const NONE: readonly string[] = [];

/** The resources that a tool's definition names; they need not be in any resource list. */
export function linkedUris(item: Item): readonly string[] {
  const meta = objectAt(item, '_meta');
  if (meta === undefined) {
    return NONE;
  }
  const named = [objectAt(meta, 'ui')?.['resourceUri'], ...FLAT_KEYS.map((key) => meta[key])];
  return named.filter((uri) => typeof uri === 'string');
}

/** The item with the resources it names under their exposed URIs; the same object where none changes. */
export function exposeLinks(item: Item, expose: (uri: string) => string): Item {
  if (linkedUris(item).every((uri) => expose(uri) === uri)) {
    return item;
  }
  const meta: Record<string, unknown> = { ...objectAt(item, '_meta') };
  for (const key of FLAT_KEYS) {
    replaceText(meta, key, expose);
  }
  const ui = meta['ui'];
  if (isObject(ui)) {
    const exposed: Record<string, unknown> = { ...ui };
    replaceText(exposed, 'resourceUri', expose);
    meta['ui'] = exposed as JsonObject;
  }
  return { ...item, _meta: meta };
}

function replaceText(object: Record<string, unknown>, key: string, replace: (text: string) => string): void {
  const value = object[key];
  if (typeof value === 'string') {
    object[key] = replace(value);
  }
}
