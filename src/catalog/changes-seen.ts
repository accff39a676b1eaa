import type { Change, Kind } from '../protocol/model.ts';
import type { Catalog } from './snapshot.ts';
import type { Swap } from './store.ts';
import { type ViewSelection, viewOf } from './view.ts';

/** The kinds that one notice is about. */
const KINDS_OF: Readonly<Record<Change, readonly Kind[]>> = {
  tools: ['tools'],
  prompts: ['prompts'],
  resources: ['resources', 'templates'],
};

/** Which changes of a swap can be seen through a view: a client of one upstream hears nothing of the others. */
export function changesSeen(selection: ViewSelection, swap: Swap): readonly Change[] {
  if (selection.upstream === undefined) {
    return swap.changes;
  }
  const text = (catalog: Catalog, change: Change) =>
    JSON.stringify(
      KINDS_OF[change].map((kind) =>
        viewOf(catalog, selection)
          .list(kind)
          .map(({ item }) => item),
      ),
    );
  return swap.changes.filter((change) => text(swap.before, change) !== text(swap.after, change));
}
