import type { ListedItem } from '../catalog/view.ts';

/** Most names that are told, and most that are compared: a server may have thousands. */
const MOST = 3;
const MOST_COMPARED = 2_000;
/** Share of pairs of signs that two names have in common, from which on one may stand for the other. */
const NEAR = 0.45;

/**
 * Which of these tools come nearest to a name that is gone, likeliest first: of its own server by the likeness of their
 * names; where that has none, those of other servers that are called the same. Names as the client knows them.
 */
export function nearby(
  gone: { readonly upstream: string; readonly original: string },
  listed: readonly ListedItem[],
): readonly string[] {
  const word = gone.original.toLowerCase();
  const wanted = pairsOf(word);
  const near = listed
    .filter(({ entry }) => entry.upstream === gone.upstream)
    .slice(0, MOST_COMPARED)
    .map(({ entry, item }) => ({ item, likeness: likeness(wanted, pairsOf(entry.original.toLowerCase())) }))
    .filter((each) => each.likeness >= NEAR)
    .toSorted((one, other) => other.likeness - one.likeness);
  const found = near.length > 0 ? near : listed.filter(({ entry }) => entry.original.toLowerCase() === word);
  return found.slice(0, MOST).map(({ item }) => String(item['name']));
}

/** Longest piece of a name that counts. */
const LONGEST = 64;

/** Each two signs that follow each other, with the ends of words as signs. */
function pairsOf(name: string): ReadonlySet<string> {
  const text = ` ${name.slice(0, LONGEST).replaceAll(/[^a-z0-9]+/g, ' ')} `;
  return new Set(Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)));
}

function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of one) {
    common += other.has(pair) ? 1 : 0;
  }
  return (2 * common) / (one.size + other.size);
}
