import type { Principal } from '../access/principal.ts';
import type { GatewayError } from '../base/errors.ts';
import { after } from '../base/time.ts';
import { type Change, KINDS, type Kind } from '../protocol/model.ts';
import { Editions } from './editions.ts';
import { findingName, logFinding } from './findings.ts';
import { FirstTries } from './first-tries.ts';
import type { NamingRule } from './naming.ts';
import type { ListPart, UpstreamPart } from './part.ts';
import { Principals } from './principals.ts';
import { Reader, type ReaderOptions } from './reader.ts';
import type { Caller, Scoping } from './scoping.ts';
import { buildCatalog, type Catalog, changesBetween, type Swap } from './snapshot.ts';
import { SwapWindow } from './swap-window.ts';

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
  ) => Promise<ListPart | undefined>;
  /** Ids of the enabled upstreams in config order. */
  readonly order: () => readonly string[];
  /** Default: the id. */
  readonly namespaceOf?: (upstream: string) => string;
  readonly naming: NamingRule;
  /** Whose a list is. Default: everybody's. */
  readonly scoping?: Scoping;
  /** Whether lists are served in pages; default true. If not, nobody can be in the middle of a superseded catalog. */
  readonly paged?: boolean;
  /** Called after a swap that clients can notice, with the new catalog already in place. */
  readonly onSwap: (swap: Swap) => void;
}

/**
 * Holds the shared catalog and replaces it whole. A refresh of an upstream leads to at most one swap, when all its lists
 * have settled; swaps within `debounceMs` of another are one; where clients would notice nothing there is none.
 * Principals with lists of their own have catalogs of their own: see {@link Principals}.
 */
export class Store<C extends Caller = Caller> {
  readonly #options: StoreOptions<C>;
  readonly #reading: ReaderOptions;
  readonly #readers = new Map<string, Reader>();
  readonly #tries: FirstTries;
  readonly #shared: Editions;
  readonly #principals: Principals<C> | undefined;
  #naming: NamingRule;
  readonly #swaps: SwapWindow;
  #closed = false;

  constructor(options: StoreOptions<C>) {
    const { scoping, read, paged = true } = options;
    this.#options = options;
    this.#reading = {
      schedule: after,
      now: Date.now,
      ...options,
      read: (upstream, kind, signal) => read(upstream, kind, signal, undefined),
    };
    const { schedule, now } = this.#reading;
    this.#naming = options.naming;
    this.#swaps = new SwapWindow(schedule, options.debounceMs, () => this.#swap());
    this.#tries = new FirstTries(schedule);
    this.#shared = new Editions(buildCatalog([], options.naming), { now, paged });
    this.#principals =
      scoping &&
      new Principals<C>({
        ...options,
        scoping,
        paged,
        schedule,
        now,
        namespaceOf: (upstream) => this.#namespaceOf(upstream),
        naming: () => this.#naming,
        shared: () => this.current,
        commonChanged: () => this.#publishLater(),
        publish: options.onSwap,
      });
  }

  /** Everybody's: what the gateway reads by itself. */
  get current(): Catalog {
    return this.#shared.current;
  }

  /** What is there now for one principal: the shared catalog itself for whoever has no part of its own. */
  of(principal: Principal): Catalog {
    return this.#principals?.of(principal) ?? this.current;
  }

  /**
   * The catalog of whoever asks, once the lists of these upstreams that are its own are read, or read again where they
   * are due: after `ms` at the latest. Never rejects: what cannot be read stays as it was for a while, else it is
   * missing ({@link gap}).
   */
  async ready(caller: C, upstreams: readonly string[], ms: number): Promise<Catalog> {
    return (await this.#principals?.ready(caller, upstreams, ms)) ?? this.current;
  }

  /** That this list of one principal could not be read, and why, as far as it is known already. */
  gap(
    principal: Principal,
    upstream: string,
    kind: Kind,
  ): { readonly fault: GatewayError | undefined } | undefined {
    return this.#principals?.gap(principal, upstream, kind);
  }

  /** Whether this list is read for each principal by itself. */
  isOwn(principal: Principal, upstream: string, kind: Kind): boolean {
    return this.#principals?.isOwn(principal, upstream, kind) === true;
  }

  /**
   * Whether the last swap of the shared catalog is news for somebody who listens. Whoever has lists of its own is told by
   * swaps of its own.
   */
  follows(principal: Principal): boolean {
    return this.#principals?.follows(principal) !== false;
  }

  /** While somebody listens, lists of its own are read when they change or are due, and it is told. Returns how to stop. */
  listen(caller: C): () => void {
    return this.#principals?.listen(caller) ?? (() => {});
  }

  /**
   * Reads lists of an upstream: everybody's, or, for a caller, those that are its own in their place. One flight per
   * list: calls during a flight share one trailing run. Resolves when the outcome is part of the catalog; never rejects:
   * a list that fails stays as it was, marked stale, and is retried with backoff until it works or the upstream is
   * dropped.
   */
  async refresh(upstream: string, kinds: readonly Kind[] = KINDS, caller?: C): Promise<void> {
    if (this.#closed) {
      return;
    }
    const shared = caller === undefined ? kinds : await this.#principals?.reread(upstream, kinds, caller);
    if (shared?.length !== 0) {
      await this.#refreshShared(upstream, shared ?? kinds);
    }
  }

  async #refreshShared(upstream: string, kinds: readonly Kind[]): Promise<void> {
    const reader = this.#readerOf(upstream);
    await reader.refresh(kinds);
    await this.#swaps.publish();
    // Dropped meanwhile: if it comes back under the same id, its first attempt is still to come.
    if (this.#readers.get(upstream) === reader) {
      this.markTried(upstream);
    }
  }

  /**
   * A list_changed notice. A burst leads to one refresh, resources and templates together. `owner`: the key of the one
   * principal whose connection it came on; nobody else's lists are touched then.
   */
  invalidate(upstream: string, change: Change, owner?: string): void {
    if (this.#closed) {
      return;
    }
    if (owner === undefined) {
      this.#readerOf(upstream).invalidate(change);
      this.#principals?.noticed(upstream, [change]);
    } else if (this.#principals?.isEverybody(owner) !== false) {
      // Without sign-in everybody is one user, whose lists are the shared ones; some servers tell only the session
      // that made the change.
      this.#readerOf(upstream).invalidate(change);
    } else {
      this.#principals.invalidate(upstream, change, owner);
    }
  }

  /** Connected, or connected again, or notices may have gone unheard (case C-026): for all, or for one principal. */
  async missed(upstream: string, owner?: string): Promise<void> {
    if (owner !== undefined) {
      this.#principals?.missed(upstream, owner);
      return;
    }
    this.#principals?.noticed(upstream);
    await this.refresh(upstream);
  }

  /** The upstream is lost: what it offered stays, marked, for `staleForMs`, then goes with one swap. */
  markStale(upstream: string, staleForMs: number): void {
    this.#readers.get(upstream)?.markStale(staleForMs);
    this.#principals?.noticed(upstream);
    this.#publishLater();
  }

  /** The upstream is gone for good, and its items with it. */
  drop(upstream: string): void {
    this.#readers.get(upstream)?.end();
    this.#readers.delete(upstream);
    this.#tries.forget(upstream);
    this.#publishLater();
  }

  /** Order, namespaces or naming changed: one rebuild. */
  rearrange(naming: NamingRule = this.#naming): void {
    this.#naming = naming;
    this.#publishLater();
  }

  /** The first attempt to reach the upstream is over, whatever came of it. */
  markTried(upstream: string): void {
    this.#tries.mark(upstream);
  }

  /** Resolves when the first attempt of each of these is over, or after `ms`. */
  settled(upstreams: readonly string[], ms: number): Promise<void> {
    return this.#tries.settled(upstreams, ms);
  }

  /** The catalog of that revision, if this principal may still walk through it: see {@link Editions.byRevision}. */
  byRevision(revision: string, principal: Principal): Catalog | undefined {
    const own = this.#principals?.byRevision(revision, principal);
    return own ?? (this.of(principal) === this.current ? this.#shared.byRevision(revision) : undefined);
  }

  /** Ends every read and timer. Idempotent; the current catalog stays readable. */
  close(): void {
    this.#closed = true;
    for (const reader of this.#readers.values()) {
      reader.end();
    }
    this.#principals?.close();
    this.#swaps.close();
    this.#tries.close();
  }

  #namespaceOf(upstream: string): string {
    return this.#options.namespaceOf?.(upstream) ?? upstream;
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
    void this.#swaps.publish();
  }

  #swap(): void {
    if (this.#closed) {
      return;
    }
    const before = this.current;
    try {
      const parts = this.#options.order().flatMap((id) => this.#partOf(id) ?? []);
      const next = buildCatalog(parts, this.#naming, before);
      for (const part of next.parts.values()) {
        (this.#readers.get(part.upstream) ?? this.#principals)?.adopt(part);
      }
      this.#shared.replace(next);
      this.#report(next, before);
      if (next.revision !== before.revision) {
        this.#swaps.open();
      }
      if (next !== before) {
        this.#principals?.sharedChanged(before);
      }
      const changes = changesBetween(before, next);
      if (changes.length > 0) {
        this.#options.onSwap({ before, after: next, changes, owner: undefined });
      }
    } catch (thrown) {
      // A catalog that cannot be built, or a listener that throws, must not end the refresh of an upstream.
      this.#options.log.error({ err: thrown }, 'the catalog could not be published');
    }
  }

  #partOf(upstream: string): UpstreamPart | undefined {
    const namespace = this.#namespaceOf(upstream);
    return this.#readers.get(upstream)?.part(namespace) ?? this.#principals?.commonPart(upstream, namespace);
  }

  /** Each finding is logged when it is new, not at every refresh (cases C-005, C-009). */
  #report(next: Catalog, before: Catalog): void {
    if (next.findings === before.findings) {
      return;
    }
    const known = new Set(before.findings.map(findingName));
    for (const finding of next.findings.filter((each) => !known.has(findingName(each)))) {
      logFinding(this.#options.log, finding);
    }
  }
}
