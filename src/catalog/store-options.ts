import type { Principal } from '../access/principal.ts';
import type { Kind } from '../protocol/model.ts';
import type { NamingRule } from './naming.ts';
import type { ListPart } from './part.ts';
import type { ReaderOptions } from './reader.ts';
import type { Caller, Scoping } from './scoping.ts';
import type { Screen } from './screen.ts';
import type { Catalog, Swap } from './snapshot.ts';

/** What a reader needs, with timers and clock of this process unless given, and: */
export interface StoreOptions<C extends Caller>
  extends Omit<ReaderOptions, 'schedule' | 'now' | 'read'>,
    Partial<Pick<ReaderOptions, 'schedule' | 'now'>> {
  /** Walks one list to its end: for everybody, or for whoever asks. See {@link ReaderOptions.read}. */
  readonly read: (
    upstream: string,
    kind: Kind,
    signal: AbortSignal,
    caller: C | undefined,
    before: ListPart | undefined,
  ) => Promise<ListPart | undefined>;
  /** Ids of the enabled upstreams in config order. */
  readonly order: () => readonly string[];
  /** Default: the id. */
  readonly namespaceOf?: (upstream: string) => string;
  readonly naming: NamingRule;
  /** What of all that is served. Default: everything. */
  readonly screen?: Screen;
  /** Whose a list is. Default: everybody's. */
  readonly scoping?: Scoping;
  /** Whether lists are served in pages; default true. If not, nobody can be in the middle of a superseded catalog. */
  readonly paged?: () => boolean;
  /** Called after a swap that clients can notice, with the new catalog already in place. */
  readonly onSwap: (swap: Swap) => void;
  /**
   * Called whenever a catalog took the place of another one, also where clients cannot notice. `owner`: whose it is;
   * undefined: everybody's.
   */
  readonly onReplaced?: (before: Catalog, after: Catalog, owner: Principal | undefined) => void;
}

/** What differs when the configuration is another one, besides names and order. */
export interface Rearrangement {
  /** Upstreams that offer nothing any more. */
  readonly gone?: readonly string[];
  /** Upstreams whose tools are served in another form. */
  readonly reshaped?: ReadonlyMap<string, (list: ListPart) => ListPart>;
}
