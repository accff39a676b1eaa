import { CHANGES, type Change, KIND_FACTS, type Kind } from '../protocol/model.ts';
import { linkedUris } from './links.ts';
import { sameJson } from './reuse.ts';
import type { Catalog, Swap } from './snapshot.ts';
import { type ListedItem, type Sight, type View, type ViewSelection, viewOf } from './view.ts';

/** The kinds that one notice is about. */
const KINDS_OF: Readonly<Record<Change, readonly Kind[]>> = {
  tools: ['tools'],
  prompts: ['prompts'],
  resources: ['resources', 'templates'],
};

/** What was found for one swap, by the view: many listeners look through the same one. */
const found = new WeakMap<Swap, Map<string, readonly Change[]>>();

/** An item that is not in both lists, or not the same in both. */
interface Difference {
  readonly before: ListedItem | undefined;
  readonly after: ListedItem | undefined;
  /** It says the same, but leads somewhere else: news only for whoever may see one of the two. */
  readonly saysTheSame: boolean;
}

/** How two views differ, whoever looks: rights are many, and what has changed is little. */
const differences = new WeakMap<View, WeakMap<View, Map<Kind, readonly Difference[]>>>();

/**
 * Which changes of a swap can be seen through a view: a client of one upstream hears nothing of the others, and nobody
 * of what they may not see. Order does not count.
 */
export function changesSeen(selection: ViewSelection, sight: Sight, swap: Swap): readonly Change[] {
  if (selection.upstream === undefined && sight.key === '') {
    return swap.changes;
  }
  const key = JSON.stringify([selection.style, selection.upstream, sight.key]);
  const known = found.get(swap) ?? new Map<string, readonly Change[]>();
  found.set(swap, known);
  let changes = known.get(key);
  if (changes === undefined) {
    const before = viewOf(swap.before, selection);
    const after = viewOf(swap.after, selection);
    changes = swap.changes.filter((change) =>
      KINDS_OF[change].some((kind) =>
        differencesOf(kind, before, after).some((difference) => isSeen(difference, sight)),
      ),
    );
    known.set(key, changes);
  }
  return changes;
}

/** From where a catalog is seen. */
export interface Look {
  readonly catalog: Catalog;
  readonly selection: ViewSelection;
  readonly sight: Sight;
}

/** What is another one from one place than from another; order does not count. */
export function changesMoved(from: Look, to: Look): readonly Change[] {
  const before = viewOf(from.catalog, from.selection, from.sight);
  const after = viewOf(to.catalog, to.selection, to.sight);
  return CHANGES.filter(
    (change) =>
      before !== after &&
      KINDS_OF[change].some((kind) =>
        differencesOf(kind, before, after).some(({ saysTheSame }) => !saysTheSame),
      ),
  );
}

function isSeen({ before, after, saysTheSame }: Difference, sight: Sight): boolean {
  const wasShown = before !== undefined && sight.shows(before.entry);
  const isShown = after !== undefined && sight.shows(after.entry);
  return wasShown !== isShown || (isShown && !saysTheSame);
}

/** Found once for two views. */
function differencesOf(kind: Kind, before: View, after: View): readonly Difference[] {
  const ofBefore = differences.get(before) ?? new WeakMap<View, Map<Kind, readonly Difference[]>>();
  differences.set(before, ofBefore);
  const known = ofBefore.get(after) ?? new Map<Kind, readonly Difference[]>();
  ofBefore.set(after, known);
  const between = known.get(kind) ?? compared(kind, before.list(kind), after.list(kind));
  known.set(kind, between);
  return between;
}

function compared(
  kind: Kind,
  before: readonly ListedItem[],
  after: readonly ListedItem[],
): readonly Difference[] {
  const { key } = KIND_FACTS[kind];
  const left = new Set(before);
  const others = after.filter((listed) => !left.delete(listed));
  const gone = new Map([...left].map((listed) => [listed.item[key], listed]));
  const between: Difference[] = [];
  for (const listed of others) {
    const old = gone.get(listed.item[key]);
    gone.delete(listed.item[key]);
    const saysTheSame = old !== undefined && says(kind, old, listed);
    if (!saysTheSame || !leadsThere(old, listed)) {
      between.push({ before: old, after: listed, saysTheSame });
    }
  }
  for (const listed of gone.values()) {
    between.push({ before: listed, after: undefined, saysTheSame: false });
  }
  return between;
}

/** Whether both say the same; what a refresh left as it was is the same object. */
function says(kind: Kind, one: ListedItem, other: ListedItem): boolean {
  const isUntouched =
    one.entry.item === other.entry.item && (kind !== 'tools' || linkedUris(other.entry.item).length === 0);
  return isUntouched || sameJson(one.item, other.item);
}

function leadsThere({ entry: one }: ListedItem, { entry: other }: ListedItem): boolean {
  return one.upstream === other.upstream && one.original === other.original;
}
