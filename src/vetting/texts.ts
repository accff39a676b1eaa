import { isObject } from '../base/json.ts';
import type { Item } from '../protocol/model.ts';
import { below } from './schemas.ts';

/** One text that a model or a person reads, with its JSON pointer. */
export interface PlacedText {
  readonly place: string;
  readonly text: string;
}

/** Members that nobody reads as prose. `_meta` is for programs. */
const NO_PROSE: ReadonlySet<string> = new Set([
  '$ref',
  '$schema',
  '$id',
  '_meta',
  'icons',
  'pattern',
  'uri',
  'uriTemplate',
]);

/**
 * Every text of a definition, the names of members too: a message to the model can stand in the description of an
 * argument, in a default, an enum or a property name as well as in the description. In document order, without
 * recursion.
 */
export function textsOf(item: Item): readonly PlacedText[] {
  const texts: PlacedText[] = [];
  const open: { readonly value: unknown; readonly place: string }[] = [{ value: item, place: '' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, place } = next;
    if (typeof value === 'string') {
      texts.push({ place, text: value });
      continue;
    }
    const isNamed = isObject(value);
    const members: readonly (readonly [string | number, unknown])[] = isNamed
      ? Object.entries(value)
      : Array.isArray(value)
        ? [...value.entries()]
        : [];
    for (const [key, member] of members.toReversed()) {
      if (
        isNamed &&
        ((NO_PROSE.has(String(key)) && typeof member !== 'object') ||
          (place === '' && NO_PROSE.has(String(key))))
      ) {
        continue;
      }
      open.push({ value: member, place: below(place, key) });
      if (isNamed && String(key).length > LONG_KEY) {
        texts.push({ place: below(place, key), text: String(key).replaceAll(/[_-]+/g, ' ') });
      }
    }
  }
  return texts;
}

/** A shorter name has no room for a message. */
const LONG_KEY = 12;
