import type { Principal } from '../access/principal.ts';
import type { GatewayError } from '../base/errors.ts';
import { after } from '../base/time.ts';
import { type Change, KINDS, type Kind } from '../protocol/model.ts';
import { Editions } from './editions.ts';
import { logNews } from './findings.ts';
import { FirstTries } from './first-tries.ts';
import { type ListStanding, sharedStanding } from './list-standing.ts';
import type { NamingRule } from './naming.ts';
import type { ListPart, UpstreamPart } from './part.ts';
import { Principals } from './principals.ts';
import type { ReaderOptions } from './reader.ts';
import { Readers } from './readers.ts';
import type { Caller } from './scoping.ts';
import { OPEN } from './screen.ts';
import { buildCatalog, type Catalog, changesBetween } from './snapshot.ts';
import type { Rearrangement, StoreOptions } from './store-options.ts';
import { SwapWindow } from './swap-window.ts';

/**
 * Holds the shared catalog and replaces it whole. A refresh of an upstream leads to at most one swap, when all its lists
 * have settled; swaps within `debounceMs` of another are one; where clients would notice nothing there is none.
 * Principals with lists of their own have catalogs of their own: see {@link Principals}.
 */
export class Store<C extends Caller = Caller> {
  readonly #options: StoreOptions<C>;
  readonly #readers: Readers;
  readonly #tries: FirstTries;
  readonly #shared: Editions;
  readonly #principals: Principals<C> | undefined;
  #naming: NamingRule;
  readonly #swaps: SwapWindow;
  #closed = false;

  constructor(options: StoreOptions<C>) {
    const { scoping, read, paged = () => true } = options;
    this.#options = options;
    const reading: ReaderOptions = {
      schedule: after,
      now: Date.now,
      ...options,
      read: (upstream, kind, signal, before) => read(upstream, kind, signal, undefined, before),
    };
    const { schedule, now } = reading;
    this.#readers = new Readers(reading, {
      again: (upstream, kinds) => void this.refresh(upstream, kinds),
      changed: () => this.#publishLater(),
    });
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
        screen: options.screen ?? OPEN,
        replaced: (before, after, owner) => options.onReplaced?.(before, after, owner),
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

  /** How the list stands that this principal is served. */
  standing(principal: Principal, upstream: string, kind: Kind): ListStanding {
    const own = this.#principals?.standing(principal, upstream, kind);
    return own ?? sharedStanding(this.current.parts.get(upstream), kind);
  }

  /** Whether it is served what the gateway itself is told. */
  isEverybody(principal: Principal): boolean {
    return this.#principals?.isEverybody(principal.key) !== false;
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
   * a list that fails stays as it was, marked stale, and is retried with backoff until it works or its server is dropped.
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
    const reader = this.#readers.of(upstream);
    await reader.refresh(kinds);
    await this.#swaps.publish();
    // Dropped meanwhile: if it comes back under the same id, its first attempt is still to come.
    if (this.#readers.find(upstream) === reader) {
      this.markTried(upstream);
    }
  }

  /** A list_changed notice; a burst leads to one refresh. `owner`: on whose own connection: nobody else's lists are touched. */
  invalidate(upstream: string, change: Change, owner?: string): void {
    if (this.#closed) {
      return;
    }
    // Without sign-in everybody has the shared lists; some servers tell only the session that made the change.
    if (owner !== undefined && this.#principals?.isEverybody(owner) === false) {
      this.#principals.invalidate(upstream, change, owner);
      return;
    }
    this.#readers.of(upstream).invalidate(change);
    if (owner === undefined) {
      this.#principals?.noticed(upstream, [change]);
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

  /** Why lists of it could not be read the last time; undefined where all were. */
  faultOf(upstream: string): string | undefined {
    return this.#readers.find(upstream)?.fault;
  }

  /** The upstream is lost: what it offered stays, marked, for `staleForMs`, then goes with one swap. */
  markStale(upstream: string, staleForMs: number): void {
    this.#readers.find(upstream)?.markStale(staleForMs);
    this.#principals?.noticed(upstream);
    this.#publishLater();
  }

  /**
   * Another server serves under this id: `lists` were read from it. Without them, those of its predecessor stay, as for a
   * server that is lost, until it can be read. What single users were told by the predecessor is forgotten.
   */
  succeed(
    upstream: string,
    lists: ReadonlyMap<Kind, ListPart | undefined> | undefined,
    staleForMs: number,
  ): void {
    this.#principals?.forget(upstream);
    if (lists === undefined) {
      this.markStale(upstream, staleForMs);
    } else {
      this.#readers.replace(upstream, lists);
      this.#publishLater();
    }
    this.markTried(upstream);
  }

  /** Becomes the store of another configuration, with one swap, at once. */
  rearrange(naming = this.#naming, { gone = [], reshaped = new Map() }: Rearrangement = {}): void {
    this.#naming = naming;
    for (const upstream of gone) {
      this.#readers.end(upstream);
      this.#tries.forget(upstream);
    }
    for (const [upstream, shape] of reshaped) {
      this.#readers.find(upstream)?.reshape('tools', shape);
    }
    for (const upstream of [...gone, ...reshaped.keys()]) {
      this.#principals?.forget(upstream);
    }
    this.#principals?.rearranged();
    this.#swaps.now();
    for (const upstream of reshaped.keys()) {
      // A list that was shaped before may stand for another one that looked the same.
      this.#readers.find(upstream)?.invalidate('tools');
    }
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
    this.#readers.close();
    this.#principals?.close();
    this.#swaps.close();
    this.#tries.close();
  }

  #namespaceOf(upstream: string): string {
    return this.#options.namespaceOf?.(upstream) ?? upstream;
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
      const next = buildCatalog(parts, this.#naming, before, this.#options.screen);
      for (const part of next.parts.values()) {
        (this.#readers.find(part.upstream) ?? this.#principals)?.adopt(part);
      }
      this.#shared.replace(next);
      logNews(this.#options.log, next.findings, before.findings);
      if (next.revision !== before.revision) {
        this.#swaps.open();
      }
      if (next !== before) {
        this.#options.onReplaced?.(before, next, undefined);
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
    return this.#readers.part(upstream, namespace) ?? this.#principals?.commonPart(upstream, namespace);
  }
}
