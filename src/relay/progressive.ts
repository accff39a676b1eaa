import type { Entry } from '../catalog/entry.ts';
import { identityOf } from '../catalog/naming.ts';
import type { ListedItem } from '../catalog/view.ts';
import type { Peers } from '../state/peers.ts';
import type { RequestContext } from './context.ts';

/** Whose list it is. */
export type Reader = Pick<RequestContext, 'principal' | 'entrance'>;

export interface JoinedOptions {
  /** The list of this grant at this entrance has grown. */
  readonly grown: (grant: string, entrance: string) => void;
  readonly now?: () => number;
  /** Other replicas, where the same list may be asked for. */
  readonly peers?: Pick<Peers, 'tell' | 'onTold'> | undefined;
}

/** What other replicas are told. */
const JOINED = 'joined-list';

/** A list that has something joined it, as far as that is the same everywhere. */
interface Joining {
  readonly grant: string;
  readonly entrance: string;
  readonly most: number;
  readonly keep: number;
  /** By identity. */
  readonly tools: readonly string[];
}

/** Most principals, each counted once for each entrance, that anything is kept for: those that asked last. */
const MOST_READERS = 10_000;

/**
 * Which tools have joined the lists of principals, because they were found or named lately (`mode: progressive`). Only
 * names are kept: what of them is listed is for the view to say, whenever a list is made.
 */
export class Joined {
  readonly #options: JoinedOptions;
  /** When each was last found or named, by identity; in the order in which they joined. */
  readonly #readers = new Map<string, Map<string, number>>();

  constructor(options: JoinedOptions) {
    this.#options = options;
    // Told by `note` of another replica.
    options.peers?.onTold(JOINED, (told) => this.#join(told as unknown as Joining));
  }

  /** They were found or named. Whoever listens is told of those that are new in the list. */
  note(entries: readonly Entry[], reader: Reader): void {
    const { listing } = reader.entrance;
    const joining = entries.filter(
      (entry) => listing?.mode === 'progressive' && !listing.pinned.shows(entry),
    );
    if (listing === undefined || joining.length === 0) {
      return;
    }
    const { most, keep } = listing.found;
    const tools = joining.slice(0, most).map(({ upstream, original }) => identityOf(upstream, original));
    const told = { grant: reader.principal.grant, entrance: reader.entrance.id, most, keep, tools };
    this.#join(told);
    this.#options.peers?.tell(JOINED, told);
  }

  #join({ grant, entrance, most, keep, tools }: Joining): void {
    const mine = this.#of(keyOf(grant, entrance), keep);
    const now = this.#now();
    let grown = false;
    for (const identity of tools) {
      grown ||= !mine.has(identity);
      mine.set(identity, now);
    }
    this.#shorten(mine, most);
    if (grown) {
      this.#options.grown(grant, entrance);
    }
  }

  /** What of these is in the list of this principal, in the order in which it joined. */
  among(tools: readonly ListedItem[], reader: Reader): readonly ListedItem[] {
    const mine = this.#readers.get(keyOf(reader.principal.grant, reader.entrance.id));
    if (mine === undefined || reader.entrance.listing?.mode !== 'progressive') {
      return [];
    }
    this.#expire(mine, reader.entrance.listing.found.keep);
    const order = [...mine.keys()];
    return tools
      .map((tool) => ({ tool, at: order.indexOf(identityOf(tool.entry.upstream, tool.entry.original)) }))
      .filter(({ at }) => at !== -1)
      .toSorted((one, other) => one.at - other.at)
      .map(({ tool }) => tool);
  }

  #of(key: string, keep: number): Map<string, number> {
    const mine = this.#readers.get(key) ?? new Map<string, number>();
    this.#expire(mine, keep);
    this.#readers.delete(key);
    this.#readers.set(key, mine);
    const [oldest] = this.#readers.size > MOST_READERS ? this.#readers.keys() : [];
    if (oldest !== undefined) {
      this.#readers.delete(oldest);
    }
    return mine;
  }

  #expire(mine: Map<string, number>, keep: number): void {
    const since = this.#now() - keep;
    for (const [identity, at] of mine) {
      if (at < since) {
        mine.delete(identity);
      }
    }
  }

  /** Those go first that were not found or named for longest. */
  #shorten(mine: Map<string, number>, most: number): void {
    const oldest = [...mine].toSorted(([, one], [, other]) => one - other);
    for (const [identity] of oldest.slice(0, Math.max(0, mine.size - most))) {
      mine.delete(identity);
    }
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}

function keyOf(grant: string, entrance: string): string {
  return JSON.stringify([grant, entrance]);
}
