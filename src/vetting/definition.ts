import { createHash } from 'node:crypto';
import { isObject, without } from '../base/json.ts';
import type { Item } from '../protocol/model.ts';

/** The kinds whose definitions are pinned. Resources come and go by nature. */
export const PINNED = ['tools', 'prompts', 'templates'] as const;
export type PinnedKind = (typeof PINNED)[number];

/**
 * What of a definition counts: all of it but pictures and `_meta`, which are for programs and may differ with every answer.
 * Unknown members count, since nobody knows what they mean.
 */
export function salient(item: Item): Item {
  return without(item, 'icons', '_meta');
}

/** Items never change, and most are asked about again and again. */
const digests = new WeakMap<Item, string>();

/** `sha256-` and 64 hex digits, of the salient parts; the order of keys does not count (case C-097). */
export function digestOf(item: Item): string {
  const known = digests.get(item);
  if (known !== undefined) {
    return known;
  }
  const digest = digestOfText(canonical(salient(item)));
  digests.set(item, digest);
  return digest;
}

/** `sha256-` and 64 hex digits. */
export function digestOfText(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('hex')}`;
}

/** JSON with the keys of every object in order. Items are bounded in depth before they get here. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(',')}]`;
  }
  if (isObject(value)) {
    const members = Object.keys(value)
      .toSorted()
      .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** What is absent is not `null`: `const: null` says something. */
export function same(one: unknown, other: unknown): boolean {
  return one === other || (one !== undefined && other !== undefined && canonical(one) === canonical(other));
}
