import type { ScopeKey } from '../access/cache-scope.ts';
import type { Principal } from '../access/principal.ts';
import { KINDS } from '../protocol/model.ts';
import { type Attended, Attention, type AttentionHost } from './attention.ts';
import type { Composed } from './composer.ts';
import { Editions } from './editions.ts';
import type { ListSource } from './list-source.ts';
import type { OwnList } from './own-list.ts';
import type { Caller, Duty } from './scoping.ts';
import type { Catalog } from './snapshot.ts';

/** Longest wait for what another one reads, which may be for all, in ms: nobody is held up by somebody else's server. */
const SCOUT_MS = 1_000;

/** What the catalog of one principal needs of everybody's. */
export interface PersonalHost<C extends Caller> extends AttentionHost {
  readonly source: ListSource<C>;
  readonly paged: () => boolean;
  /** The shared catalog with these lists in the places that are one principal's own. */
  readonly compose: (own: (duty: Duty) => OwnList | undefined) => Composed;
  /** It has grown or shrunk, was used, or is not in use any more. */
  readonly weigh: (personal: Personal<C>) => void;
  /** Its catalog took the place of another one. */
  readonly replaced: (before: Catalog, after: Catalog, owner: Principal) => void;
}

/**
 * The catalog of one principal, where it differs from everybody's: its own lists are read when it asks and they are due,
 * and by themselves only while it listens.
 */
export class Personal<C extends Caller> implements Attended<C> {
  readonly principal: Principal;
  readonly attention: Attention<C>;
  readonly #host: PersonalHost<C>;
  readonly #lists = new Map<ScopeKey, OwnList>();
  /** The same, found faster: duties are the same objects for as long as the shared catalog is. */
  #listOf = new WeakMap<Duty, OwnList>();
  #editions: Editions | undefined;
  /** The shared catalog that the current one was made from; undefined where a list has changed since. */
  #madeFrom: Catalog | undefined;
  #bytes = 0;
  #reading = 0;

  constructor(principal: Principal, host: PersonalHost<C>) {
    this.principal = principal;
    this.#host = host;
    this.attention = new Attention(this, host);
  }

  /** What is there now; everybody's catalog itself where nothing of it is this principal's own. */
  get catalog(): Catalog {
    const shared = this.#host.shared();
    if (this.#editions === undefined || this.#madeFrom !== shared) {
      const { source, compose } = this.#host;
      const made = compose((duty) => this.#lists.get(source.keyOf(duty, this.principal)));
      this.#madeFrom = shared;
      this.#bytes = made.bytes;
      if (this.#editions === undefined) {
        this.#editions = new Editions(made.catalog, this.#host);
      } else {
        const before = this.#editions.current;
        this.#editions.replace(made.catalog);
        if (before !== made.catalog) {
          this.#host.replaced(before, made.catalog, this.principal);
        }
      }
      this.#host.weigh(this);
    }
    return this.#editions.current;
  }

  /** What it takes in memory, as far as nobody else needs that anyway. */
  get bytes(): number {
    const { source } = this.#host;
    return [...this.#lists.values()].reduce((sum, list) => sum + source.bytesOf(list), this.#bytes);
  }

  /** Somebody waits for a list, or listens: it has to stay. */
  get inUse(): boolean {
    return this.#reading > 0 || this.attention.active;
  }

  byRevision(revision: string): Catalog | undefined {
    return this.#editions?.byRevision(revision);
  }

  list(duty: Duty): OwnList {
    const known = this.#listOf.get(duty);
    if (known !== undefined) {
      return known;
    }
    const { source } = this.#host;
    const key = source.keyOf(duty, this.principal);
    const list = this.#lists.get(key) ?? source.create(duty, () => this.#changed());
    this.#lists.set(key, list);
    this.#listOf.set(duty, list);
    return list;
  }

  /** The catalog once what is due of these is read, or after `ms`. */
  async ready(caller: C, duties: readonly Duty[], ms: number): Promise<Catalog> {
    const due = duties.filter((duty) => this.#isDue(duty));
    if (due.length > 0) {
      const read = Promise.all(due.map((duty) => this.read(duty, caller)));
      await within(this.#host.schedule, ms, read);
    }
    for (const duty of duties) {
      this.expire(duty);
    }
    const { catalog } = this;
    this.attention.served(catalog);
    this.#host.weigh(this);
    return catalog;
  }

  /** Reads them in any case, after the upstream itself showed that they are not what they were. */
  async reread(caller: C, duties: readonly Duty[]): Promise<void> {
    for (const duty of duties) {
      this.list(duty).invalidate();
      this.#host.source.commonOf(duty)?.list.invalidate();
    }
    await Promise.all(duties.map((duty) => this.read(duty, caller)));
  }

  /** Never rejects. Whoever reads first reads for all, where the answer turns out to be everybody's. */
  async read(duty: Duty, caller: C): Promise<void> {
    const { source, weigh } = this.#host;
    this.#reading += 1;
    const common = source.commonOf(duty);
    if (common?.hopeful === true && common.scout !== undefined) {
      await within(this.#host.schedule, SCOUT_MS, common.scout);
    }
    if (common === undefined || this.#isDue(duty)) {
      const reading = this.list(duty).read(() =>
        source.walk(duty, caller, this.list(duty).list ?? common?.list.list),
      );
      if (common !== undefined && common.scout === undefined) {
        common.scout = reading.then(() => {
          common.scout = undefined;
        });
      }
      await reading;
    }
    if (this.isCommon(duty)) {
      // It will not be what it was when the common one has gone.
      this.list(duty).drop();
    }
    this.#reading -= 1;
    weigh(this);
  }

  /** Its lists of this upstream are no longer what that serves. */
  forget(upstream: string): void {
    for (const kind of KINDS) {
      const key = this.#host.source.keyOf({ upstream, kind }, this.principal);
      this.#lists.get(key)?.drop();
      this.#lists.delete(key);
    }
    this.#listOf = new WeakMap();
  }

  /** Names or the order of the servers are others now. */
  rearranged(): void {
    this.#listOf = new WeakMap();
    this.#changed();
  }

  nextAt(duty: Duty): number {
    const { nextAt } = this.list(duty);
    return Math.max(nextAt, this.#common(duty)?.nextAt ?? nextAt);
  }

  /** Whether it is served what others read for all; see {@link ListSource.commonOf}. */
  isCommon(duty: Duty): boolean {
    return this.#common(duty) !== undefined;
  }

  expire(duty: Duty): void {
    this.list(duty).expire();
  }

  rest(): void {
    this.#host.weigh(this);
  }

  isUnread(duty: Duty): boolean {
    const own = this.list(duty);
    return !own.known && own.fault === undefined && !this.isCommon(duty);
  }

  #isDue(duty: Duty): boolean {
    return this.list(duty).due && this.#common(duty)?.due !== false;
  }

  /** The list for all that it is served in the place of its own. */
  #common(duty: Duty): OwnList | undefined {
    const common = this.#host.source.commonOf(duty)?.list;
    return common?.known === true && !this.list(duty).refused ? common : undefined;
  }

  #changed(): void {
    this.#madeFrom = undefined;
    this.#host.weigh(this);
    this.attention.changed();
  }
}

/** Resolves with the promise, or after `ms`. */
function within(
  schedule: (ms: number, run: () => void) => () => void,
  ms: number,
  promise: Promise<unknown>,
): Promise<void> {
  return new Promise((resolve) => {
    const cancel = schedule(ms, resolve);
    void promise.then(() => {
      cancel();
      resolve();
    });
  });
}
