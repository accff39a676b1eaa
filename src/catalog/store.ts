import { after } from '../base/time.ts';
import { type Change, KINDS, type Kind } from '../protocol/model.ts';
import type { NamingRule } from './naming.ts';
import type { CatalogFinding } from './part.ts';
import { Reader, type ReaderOptions } from './reader.ts';
import { buildCatalog, type Catalog, changesBetween } from './snapshot.ts';

export interface Swap {
  readonly before: Catalog;
  readonly after: Catalog;
  /** Never empty. */
  readonly changes: readonly Change[];
}

/** What a reader needs, with timers and clock of this process unless given, and: */
export interface StoreOptions
  extends Omit<ReaderOptions, 'schedule' | 'now'>,
    Partial<Pick<ReaderOptions, 'schedule' | 'now'>> {
  /** Ids of the enabled upstreams in config order. */
  readonly order: () => readonly string[];
  /** Default: the id. */
  readonly namespaceOf?: (upstream: string) => string;
  readonly naming: NamingRule;
  /** Called after a swap that clients can notice, with the new catalog already in place. */
  readonly onSwap: (swap: Swap) => void;
}

/** Walks through our own pages may go on in a superseded catalog this long, and in this many (case C-019). */
const KEPT_FOR_MS = 5 * 60_000;
const KEPT_CATALOGS = 8;

interface Waiter {
  readonly missing: Set<string>;
  readonly done: () => void;
}

/**
 * Holds the current catalog and replaces it whole. A refresh of an upstream leads to at most one swap, when all its
 * lists have settled; swaps within `debounceMs` of another are one; where clients would notice nothing there is none.
 */
export class Store {
  readonly #options: StoreOptions;
  readonly #reading: ReaderOptions;
  readonly #readers = new Map<string, Reader>();
  readonly #tried = new Set<string>();
  readonly #waiters = new Set<Waiter>();
  #naming: NamingRule;
  #current: Catalog;
  #superseded: readonly { readonly catalog: Catalog; readonly at: number }[] = [];
  /** Open for `debounceMs` after a swap; who waits in it is served by one swap at its end. */
  #window: { readonly cancel: () => void; readonly waiting: (() => void)[] } | undefined;
  #closed = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#reading = { schedule: after, now: Date.now, ...options };
    this.#naming = options.naming;
    this.#current = buildCatalog([], options.naming);
  }

  get current(): Catalog {
    return this.#current;
  }

  /**
   * Reads lists of an upstream. One flight per upstream and kind: calls during a flight share one trailing run. Resolves
   * when the outcome is part of {@link current}; never rejects: a list that fails stays as it was, marked stale, and is
   * retried with backoff until it works or the upstream is dropped.
   */
  async refresh(upstream: string, kinds: readonly Kind[] = KINDS): Promise<void> {
    if (this.#closed) {
      return;
    }
    const reader = this.#readerOf(upstream);
    await reader.refresh(kinds);
    await this.#publish();
    // Dropped meanwhile: if it comes back under the same id, its first attempt is still to come.
    if (this.#readers.get(upstream) === reader) {
      this.markTried(upstream);
    }
  }

  /** A list_changed notice. A burst leads to one refresh, resources and templates together. */
  invalidate(upstream: string, change: Change): void {
    if (!this.#closed) {
      this.#readerOf(upstream).invalidate(change);
    }
  }

  /** The upstream is lost: what it offered stays, marked, for `staleForMs`, then goes with one swap. */
  markStale(upstream: string, staleForMs: number): void {
    this.#readers.get(upstream)?.markStale(staleForMs);
    this.#publishLater();
  }

  /** The upstream is gone for good, and its items with it. */
  drop(upstream: string): void {
    this.#readers.get(upstream)?.end();
    this.#readers.delete(upstream);
    this.markTried(upstream);
    this.#tried.delete(upstream);
    this.#publishLater();
  }

  /** Order, namespaces or naming changed: one rebuild. */
  rearrange(naming: NamingRule = this.#naming): void {
    this.#naming = naming;
    this.#publishLater();
  }

  /** The first attempt to reach the upstream is over, whatever came of it. */
  markTried(upstream: string): void {
    this.#tried.add(upstream);
    for (const waiter of this.#waiters) {
      waiter.missing.delete(upstream);
      if (waiter.missing.size === 0) {
        waiter.done();
      }
    }
  }

  /** Resolves when the first attempt of each of these is over, or after `ms`. */
  settled(upstreams: readonly string[], ms: number): Promise<void> {
    const missing = new Set(upstreams.filter((upstream) => !this.#tried.has(upstream)));
    if (missing.size === 0 || this.#closed) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter = { missing, done };
      this.#waiters.add(waiter);
      const cancel = this.#reading.schedule(ms, done);
    });
  }

  /** The current catalog or a recent one: the last 8, each for 5 minutes after it was superseded. */
  byRevision(revision: string): Catalog | undefined {
    if (this.#current.revision === revision) {
      return this.#current;
    }
    const oldest = this.#reading.now() - KEPT_FOR_MS;
    return this.#superseded.find(({ catalog, at }) => catalog.revision === revision && at >= oldest)?.catalog;
  }

  /** Ends every read and timer. Idempotent; the current catalog stays readable. */
  close(): void {
    this.#closed = true;
    for (const reader of this.#readers.values()) {
      reader.end();
    }
    const window = this.#window;
    this.#window = undefined;
    window?.cancel();
    for (const resume of window?.waiting ?? []) {
      resume();
    }
    for (const waiter of this.#waiters) {
      waiter.done();
    }
  }

  #readerOf(upstream: string): Reader {
    const known = this.#readers.get(upstream);
    if (known !== undefined) {
      return known;
    }
    const again = (kinds: readonly Kind[]) => void this.refresh(upstream, kinds);
    const reader = new Reader(upstream, this.#reading, again, () => this.#publishLater());
    this.#readers.set(upstream, reader);
    return reader;
  }

  #publishLater(): void {
    void this.#publish();
  }

  /** Swaps now, or at the end of the window that the last swap opened. */
  #publish(): Promise<void> {
    const window = this.#window;
    if (window !== undefined && !this.#closed) {
      return new Promise((resolve) => window.waiting.push(resolve));
    }
    this.#swap();
    return Promise.resolve();
  }

  #openWindow(): void {
    const waiting: (() => void)[] = [];
    const cancel = this.#reading.schedule(this.#options.debounceMs, () => {
      this.#window = undefined;
      if (waiting.length > 0) {
        this.#swap();
      }
      for (const resume of waiting) {
        resume();
      }
    });
    this.#window = { cancel, waiting };
  }

  #swap(): void {
    if (this.#closed) {
      return;
    }
    const before = this.#current;
    try {
      const { order, namespaceOf = (upstream: string) => upstream } = this.#options;
      const parts = order().flatMap((id) => this.#readers.get(id)?.part(namespaceOf(id)) ?? []);
      const next = buildCatalog(parts, this.#naming, before);
      for (const part of next.parts.values()) {
        this.#readers.get(part.upstream)?.adopt(part);
      }
      this.#current = next;
      this.#report(next, before);
      if (next.revision === before.revision) {
        return;
      }
      this.#superseded = [{ catalog: before, at: this.#reading.now() }, ...this.#superseded].slice(
        0,
        KEPT_CATALOGS,
      );
      this.#openWindow();
      const changes = changesBetween(before, next);
      if (changes.length > 0) {
        this.#options.onSwap({ before, after: next, changes });
      }
    } catch (thrown) {
      // A catalog that cannot be built, or a listener that throws, must not end the refresh of an upstream.
      this.#options.log.error({ err: thrown }, 'the catalog could not be published');
    }
  }

  /** Each finding is logged when it is new, not at every refresh (cases C-005, C-009). */
  #report(next: Catalog, before: Catalog): void {
    if (next.findings === before.findings) {
      return;
    }
    const nameOf = ({ upstream, id, item, reason }: CatalogFinding) =>
      JSON.stringify([upstream, id, item, reason]);
    const known = new Set(before.findings.map(nameOf));
    for (const finding of next.findings.filter((each) => !known.has(nameOf(each)))) {
      const { upstream, kind, id, item, reason, severity } = finding;
      this.#options.log[severity === 'info' ? 'info' : 'warn'](
        { upstream, kind, finding: id, item, reason },
        'finding',
      );
    }
  }
}
