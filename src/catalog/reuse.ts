import { isDeepStrictEqual } from 'node:util';
import { type Item, KIND_FACTS, KINDS, type Kind } from '../protocol/model.ts';
import type { ListPart, UpstreamPart } from './part.ts';

/**
 * The part with every item that says the same as before replaced by the object from before; the part from before where
 * nothing is new at all. So a refresh that brings no news changes nothing, and comparing two catalogs is comparing
 * objects. A list that only changed its order, or the order of keys, says the same and keeps the order from before:
 * some servers answer in a new order each time.
 */
export function reusePart(part: UpstreamPart, before: UpstreamPart | undefined): UpstreamPart {
  if (before === undefined || part === before) {
    return part;
  }
  const lists: Partial<Record<Kind, ListPart>> = {};
  let same = part.stale === before.stale && part.namespace === before.namespace;
  for (const kind of KINDS) {
    const list = part.lists[kind];
    const old = before.lists[kind];
    if (list !== undefined) {
      lists[kind] = old === undefined ? list : reuseList(kind, list, old);
    }
    same &&= lists[kind] === old;
  }
  return same ? before : { ...part, lists };
}

/** The list with what says the same as before taken from there. */
export function reuseList(kind: Kind, list: ListPart, before: ListPart): ListPart {
  if (list === before) {
    return before;
  }
  const { key } = KIND_FACTS[kind];
  const old = new Map(before.items.map((item) => [item[key], item]));
  const known = new Set(before.items);
  let news = list.items.length !== before.items.length;
  const items = list.items.map((item): Item => {
    const candidate = old.get(item[key]);
    const kept = candidate !== undefined && sameJson(candidate, item) ? candidate : item;
    news ||= !known.has(kept);
    return kept;
  });
  return { ...list, items: news ? items : before.items };
}

/** Equal but for the order of keys. Items are bounded in depth, so recursion is. */
export function sameJson(one: unknown, other: unknown): boolean {
  return one === other || isDeepStrictEqual(one, other);
}
