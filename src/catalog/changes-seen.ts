import { CHANGES, type Change, KIND_FACTS, type Kind } from '../protocol/model.ts';
import { sameJson } from './reuse.ts';
import type { Catalog, Swap } from './snapshot.ts';
import { type ListedItem, type Sight, type ViewSelection, viewOf } from './view.ts';

/** The kinds that one notice is about. */
const KINDS_OF: Readonly<Record<Change, readonly Kind[]>> = {
  tools: ['tools'],
  prompts: ['prompts'],
  resources: ['resources', 'templates'],
};

/** What was found for one swap, by the view: many listeners look through the same one. */
const found = new WeakMap<Swap, Map<string, readonly Change[]>>();

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
    const before = viewOf(swap.before, selection, sight);
    const after = viewOf(swap.after, selection, sight);
    changes = swap.changes.filter((change) =>
      KINDS_OF[change].some((kind) => differ(kind, before.list(kind), after.list(kind))),
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
      before !== after && KINDS_OF[change].some((kind) => differ(kind, before.list(kind), after.list(kind))),
  );
}

function differ(kind: Kind, before: readonly ListedItem[], after: readonly ListedItem[]): boolean {
  const { key } = KIND_FACTS[kind];
  const known = new Map(before.map(({ item }) => [item[key], item]));
  return before.length !== after.length || !after.every(({ item }) => sameJson(known.get(item[key]), item));
}
