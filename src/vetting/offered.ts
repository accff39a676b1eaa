import type { UpstreamPart } from '../catalog/part.ts';
import { KINDS } from '../protocol/model.ts';
import type { Offered } from './finding.ts';

/** What an upstream offers as clients are told it: with the descriptions and hints that the configuration gives. */
export function asServed(part: UpstreamPart, instructions?: string): Offered {
  const lists = KINDS.flatMap((kind) => {
    const list = part.lists[kind];
    return list === undefined ? [] : [[kind, list.items] as const];
  });
  return { upstream: part.upstream, instructions, lists: Object.fromEntries(lists) };
}

/**
 * The same as its server tells it: what pins are about. Tools that the configuration leaves out are left out; what it says
 * in the place of the server is not.
 */
export function asSaid(part: UpstreamPart, instructions?: string): Offered {
  const served = asServed(part, instructions);
  const { tools } = part.lists;
  if (tools?.unshaped === undefined) {
    return served;
  }
  const names = new Set(tools.items.map((tool) => tool['name']));
  const said = tools.unshaped.items.filter((tool) => names.has(tool['name']));
  return { ...served, lists: { ...served.lists, tools: said } };
}
