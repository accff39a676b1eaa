import type { ListPart, UpstreamPart } from '../../../src/catalog/part.ts';
import { startRepair } from '../../../src/catalog/repair.ts';
import type { Item, Kind } from '../../../src/protocol/model.ts';

/** Short ways to say what an upstream offers. */

export function tool(name: string, more: Item = {}): Item {
  return { name, inputSchema: { type: 'object' }, ...more };
}

export function resource(uri: string, more: Item = {}): Item {
  return { uri, name: uri, ...more };
}

export function template(uriTemplate: string, more: Item = {}): Item {
  return { uriTemplate, name: uriTemplate, ...more };
}

/** A list that came in one page. */
export function repairItems(kind: Kind, raw: readonly unknown[]) {
  const repair = startRepair(kind);
  repair.add(raw);
  return repair.done();
}

export function list(kind: Kind, raw: readonly unknown[], more: Partial<ListPart> = {}): ListPart {
  return { ...repairItems(kind, raw), hints: { ttlMs: undefined, scope: undefined }, readAt: 0, ...more };
}

export function part(
  upstream: string,
  offers: Partial<Record<Kind, readonly unknown[]>>,
  more: Partial<UpstreamPart> = {},
): UpstreamPart {
  const lists: Partial<Record<Kind, ListPart>> = {};
  for (const [kind, raw] of Object.entries(offers) as [Kind, readonly unknown[]][]) {
    lists[kind] = list(kind, raw);
  }
  return { upstream, namespace: upstream, lists, stale: false, ...more };
}

/** What JSON.parse makes of the same text: equal, but no object shared with the original. */
export function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
