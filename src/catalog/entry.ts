import { type Item, KINDS, type Kind } from '../protocol/model.ts';
import { exposeNames, type NamingRule, type Original, STRICT } from './naming.ts';

/** One item with its names and its route: (upstream, original). */
export interface Entry {
  readonly kind: Kind;
  readonly upstream: string;
  /** Name, URI or URI template as the upstream calls it. */
  readonly original: string;
  /** What clients call it in each style. For resources and templates `dotted` and `strict` are the exposed URI. */
  readonly exposed: { readonly dotted: string; readonly strict: string; readonly bare: string };
  /** As the upstream sent it, repaired where it was malformed; names and URIs in it are the originals. */
  readonly item: Item;
}

export type Entries = Readonly<Record<Kind, readonly Entry[]>>;

/**
 * Puts the entry from before in the place of one that says the same: views and texts of it are there already. Names are
 * found out anew all the same, since they depend on what else there is.
 */
export function keptEntries(before: Entries | undefined): (entry: Entry) => Entry {
  const known = new Map<Item, Entry>();
  for (const kind of before === undefined ? [] : KINDS) {
    for (const entry of before?.[kind] ?? []) {
      known.set(entry.item, entry);
    }
  }
  return (entry) => {
    const old = known.get(entry.item);
    return old !== undefined && sameEntry(entry, old) ? old : entry;
  };
}

/** Whether both are the same item of one server under the same names. */
export function sameEntry(one: Entry, other: Entry | undefined): boolean {
  return (
    one === other ||
    (one.item === other?.item &&
      one.kind === other.kind &&
      one.upstream === other.upstream &&
      one.original === other.original &&
      one.exposed.dotted === other.exposed.dotted &&
      one.exposed.strict === other.exposed.strict &&
      one.exposed.bare === other.exposed.bare)
  );
}

/** What one tool would be called that no other one shares a name with. */
export function exposedFor(
  original: Original & { readonly shown: string },
  naming: NamingRule,
): Entry['exposed'] {
  const nameBy = (rule: NamingRule) => exposeNames([original], rule)[0]?.name ?? original.shown;
  return { dotted: nameBy(naming), strict: nameBy(STRICT), bare: original.shown };
}
