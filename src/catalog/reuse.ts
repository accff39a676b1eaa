import type { JsonObject } from '../base/json.ts';
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
  // Most were found to say the same when they were read (repair.ts).
  const known = new Set(before.items);
  let old: ReadonlyMap<unknown, Item> | undefined;
  let news = list.items.length !== before.items.length;
  const settled = new Map<Item, Item>();
  const items = list.items.map((item): Item => {
    if (known.has(item)) {
      return item;
    }
    old ??= new Map(before.items.map((each) => [each[key], each]));
    const candidate = old.get(item[key]);
    if (candidate === undefined || !sameJson(candidate, item)) {
      news = true;
      return item;
    }
    settled.set(item, candidate);
    return candidate;
  });
  return { ...list, items: news ? items : before.items, ...unshapedBy(list, settled) };
}

/** What the configuration leaves as its server has it is not there twice. */
function unshapedBy({ unshaped }: ListPart, settled: ReadonlyMap<Item, Item>): Pick<ListPart, 'unshaped'> {
  return unshaped === undefined || settled.size === 0
    ? {}
    : { unshaped: { ...unshaped, items: unshaped.items.map((item) => settled.get(item) ?? item) } };
}

/**
 * Equal but for the order of keys; what JSON has, and nothing else. Items are bounded in depth, so recursion is. Node's own
 * comparison expects any object and takes several times as long: whole lists are compared at every refresh.
 */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) {
    return one !== 0 || Object.is(one, other);
  }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return Object.is(one, other);
  }
  if (Array.isArray(one)) {
    return Array.isArray(other) && sameElements(one, other);
  }
  return !Array.isArray(other) && sameMembers(one as JsonObject, other as JsonObject);
}

function sameElements(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) {
    return false;
  }
  for (let at = 0; at < one.length; at += 1) {
    if (!sameJson(one[at], other[at])) {
      return false;
    }
  }
  return true;
}

function sameMembers(one: JsonObject, other: JsonObject): boolean {
  const names = Object.keys(one);
  const others = Object.keys(other);
  if (names.length !== others.length) {
    return false;
  }
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] ?? '';
    // Nearly always they stand in the same order.
    const isThere = name === others[at] || Object.hasOwn(other, name);
    if (!isThere || !sameJson(one[name], other[name])) {
      return false;
    }
  }
  return true;
}
