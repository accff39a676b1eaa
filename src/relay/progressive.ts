import { createHash } from 'node:crypto';
import type { Log } from '../base/log.ts';
import type { Entry } from '../catalog/entry.ts';
import { identityOf } from '../catalog/naming.ts';
import type { ListedItem } from '../catalog/view.ts';
import type { Peers } from '../state/peers.ts';
import type { State } from '../state/state.ts';
import type { RequestContext } from './context.ts';

/** Whose list it is. */
export type Reader = Pick<RequestContext, 'principal' | 'entrance'>;

export interface JoinedOptions {
  /** The list of this grant at this entrance has grown. */
  readonly grown: (grant: string, entrance: string) => void;
  readonly now?: () => number;
  /** Other replicas, where the same list may be asked for. */
  readonly peers?: Pick<Peers, 'tell' | 'onTold'> | undefined;
  /** What they share: for those that start later, or that did not hear. */
  readonly shared?: SharedSets | undefined;
}

export interface SharedSets extends Pick<State, 'note' | 'noted' | 'onReach'> {
  readonly log: Log;
}

/** What other replicas are told. */
const JOINED = 'joined-list';

interface Reading {
  /** When each was last found or named, by identity; in the order in which they joined. */
  readonly tools: Map<string, number>;
  /** What is in the shared state is here too, as of some time at which that could be reached. */
  read?: Promise<void> | undefined;
}

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
  readonly #readers = new Map<string, Reading>();

  constructor(options: JoinedOptions) {
    this.#options = options;
    // Told by `note` of another replica.
    options.peers?.onTold(JOINED, (told) => this.#join(told as unknown as Joining));
    options.shared?.onReach(() => {
      for (const reading of this.#readers.values()) {
        // What was said meanwhile was not heard.
        reading.read = undefined;
      }
    });
  }

  /** What has joined this list at other replicas is known here, as far as the shared state can be reached. */
  async caughtUp({ principal, entrance }: Reader): Promise<void> {
    const { shared } = this.#options;
    if (shared !== undefined && entrance.listing?.mode === 'progressive') {
      const { most, keep } = entrance.listing.found;
      const reading = this.#of(keyOf(principal.grant, entrance.id), keep);
      reading.read ??= this.#read(reading, shared, {
        grant: principal.grant,
        entrance: entrance.id,
        most,
        keep,
      });
      await reading.read;
    }
  }

  async #read(
    reading: Reading,
    shared: SharedSets,
    { grant, entrance, most, keep }: Omit<Joining, 'tools'>,
  ): Promise<void> {
    try {
      const noted = [...(await shared.noted(setOf(grant, entrance)))];
      for (const [identity, until] of noted.toSorted(([, one], [, other]) => one - other)) {
        reading.tools.set(identity, Math.max(reading.tools.get(identity) ?? 0, until - keep));
      }
      this.#shorten(reading.tools, most);
    } catch (thrown) {
      reading.read = undefined;
      shared.log.debug({ err: thrown }, 'what has joined a list at other replicas could not be read');
    }
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
    void this.#share(told);
  }

  async #share({ grant, entrance, most, keep, tools }: Joining): Promise<void> {
    const { shared } = this.#options;
    if (shared === undefined) {
      return;
    }
    // A millisecond apart, so that they stay in their order.
    const members = new Map(tools.map((identity, at) => [identity, this.#now() + keep + at]));
    try {
      await shared.note(setOf(grant, entrance), members, most);
    } catch (thrown) {
      shared.log.debug({ err: thrown }, 'what has joined a list is not known to replicas that start later');
    }
  }

  #join({ grant, entrance, most, keep, tools }: Joining): void {
    const { tools: mine } = this.#of(keyOf(grant, entrance), keep);
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
    const mine = this.#readers.get(keyOf(reader.principal.grant, reader.entrance.id))?.tools;
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

  #of(key: string, keep: number): Reading {
    const mine = this.#readers.get(key) ?? { tools: new Map<string, number>() };
    this.#expire(mine.tools, keep);
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

/** Says nothing of whose it is. */
function setOf(grant: string, entrance: string): string {
  return `joined:${createHash('sha256').update(keyOf(grant, entrance)).digest('base64url')}`;
}

function keyOf(grant: string, entrance: string): string {
  return JSON.stringify([grant, entrance]);
}
