import type { Change } from '../protocol/model.ts';
import type { Caller } from '../relay/context.ts';
import type { FrontOptions } from './front.ts';
import type { Standing } from './regime.ts';

/** Who wants to hear of list changes, for as long as they stay. */
export interface Attendance {
  readonly caller: Caller;
  /** Where they stood when they came. */
  readonly standing: Standing;
  readonly wants: ReadonlySet<Change>;
  readonly tell: (change: Change) => void;
}

/**
 * From here on a client hears of the changes that it can see from where it stands when they come, and of those that a
 * change of its own rights makes. Returns how to stop; calling that twice is fine.
 */
export function attend(front: FrontOptions, { caller, standing, wants, tell }: Attendance): () => void {
  let here = standing;
  let rest = front.attend(caller);
  const unsubscribe = front.hub.subscribe({
    get grant() {
      return here.principal.grant;
    },
    get place() {
      return here.entrance.id;
    },
    wants,
    sees: (swap) => front.visibleChanges(here, swap),
    moved: () => {
      const before = here;
      // Whoever is not let in any more is told nothing; the stream ends.
      here = front.regime().now(before) ?? before;
      if (here.principal.grant !== before.principal.grant) {
        rest();
        rest = front.attend({ ...caller, principal: here.principal });
      }
      return here === before ? [] : front.changesBetween(before, here);
    },
    notify: tell,
  });
  return () => {
    unsubscribe();
    rest();
  };
}
