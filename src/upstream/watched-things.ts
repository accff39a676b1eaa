import type { Party } from './party.ts';
import type { Supervisor } from './supervisor.ts';

interface Watched {
  readonly party: Party | undefined;
  uris: ReadonlySet<string>;
  tasks: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** What clients watch at each upstream, for whoever takes its place. */
export class WatchedThings {
  readonly #byUpstream = new Map<string, Map<string, Watched>>();

  /** The whole set of resources, or of tasks, that is watched for everybody or for one user from now on. */
  note(
    upstream: string,
    party: Party | undefined,
    now: { readonly uris?: ReadonlySet<string>; readonly tasks?: ReadonlySet<string> },
  ): void {
    const key = party?.principal.grant ?? '';
    const mine = this.#byUpstream.get(upstream) ?? new Map<string, Watched>();
    const { uris = NONE, tasks = NONE } = mine.get(key) ?? {};
    const watched = { party, uris, tasks, ...now };
    if (watched.uris.size + watched.tasks.size > 0) {
      this.#byUpstream.set(upstream, mine.set(key, watched));
    } else if (mine.delete(key) && mine.size === 0) {
      this.#byUpstream.delete(upstream);
    }
  }

  /** Tells all of it to one that begins to serve. */
  tell(upstream: string, supervisor: Pick<Supervisor, 'watch' | 'watchTasks'>): void {
    for (const { party, uris, tasks } of this.#byUpstream.get(upstream)?.values() ?? []) {
      if (uris.size > 0) {
        supervisor.watch(uris, party);
      }
      if (tasks.size > 0) {
        supervisor.watchTasks(tasks, party);
      }
    }
  }
}
