import { ERRORS, type ErrorCode } from '../base/error-table.ts';
import { GatewayError } from '../base/errors.ts';
import { backoff, jittered } from '../base/time.ts';
import type { Item, Kind } from '../protocol/model.ts';
import { Flight } from './flight.ts';
import { Pace } from './pace.ts';
import type { ListPart } from './part.ts';
import { LONGEST_DEBOUNCE, RETRY_BASE, RETRY_CAP } from './reader.ts';
import { reuseList } from './reuse.ts';

export interface OwnListOptions {
  readonly upstream: string;
  readonly kind: Kind;
  /** How long a list is believed that does not say so itself, in ms. */
  readonly ttl: number;
  /** How long one that cannot be read again is served, in ms. */
  readonly staleFor: number;
  readonly debounceMs: () => number;
  readonly now: () => number;
  /** How often everybody was told that this list changed. */
  readonly notices: () => number;
  /** Equal items that somebody else has already, or these. */
  readonly intern: (items: readonly Item[]) => readonly Item[];
  /** What is served from here is another one now, or as fresh as another. */
  readonly changed: () => void;
}

/** `undefined`: the upstream has no such list. */
type Walk = () => Promise<ListPart | undefined>;
const NO_WALK: Walk = () => Promise.resolve(undefined);

/** However soon it is out of date, whoever listens is told of a change no sooner; whoever asks is served a fresh one. ms. */
const LEAST_POLL = 1_000;
/** Whoever is refused sees nothing, not even what was seen before. */
const REFUSED: ErrorCode = 'UPSTREAM_AUTH';

/**
 * One list of one upstream that was read for one principal (spec 2026-07-28: server/utilities/caching). Nothing happens
 * by itself here: it says whether it is due and when it will be, and is read when somebody asks.
 */
export class OwnList {
  readonly #options: OwnListOptions;
  readonly #flight = new Flight(() => this.#run());
  /** For the next run. A walk holds the whole request that it is for, so it is let go when it begins. */
  #walk = NO_WALK;
  #list: ListPart | undefined;
  #known = false;
  /** Notices heard on connections that are the principal's own. */
  #heard = 0;
  #noticedAt: number | undefined;
  /** The notices that the last read, or the one under way, has taken into account. */
  #covered: number | undefined;
  /** When a notice was last followed by a read. */
  #followedAt = Number.NEGATIVE_INFINITY;
  #freshUntil = Number.NEGATIVE_INFINITY;
  #pollAt = Number.NEGATIVE_INFINITY;
  readonly #pace = new Pace();
  #failure:
    | { readonly error: GatewayError; readonly since: number; retryAt: number; tries: number }
    | undefined;

  constructor(options: OwnListOptions) {
    this.#options = options;
  }

  get list(): ListPart | undefined {
    return this.#list;
  }

  /** It was read, and may still be served; an upstream without such a list is known to have none. */
  get known(): boolean {
    return this.#known;
  }

  /** Until when it is believed, in ms since the epoch. */
  get freshUntil(): number {
    return this.#freshUntil;
  }

  /** Why the last read failed. */
  get fault(): GatewayError | undefined {
    return this.#failure?.error;
  }

  /** The upstream does not let this principal in: then it is not shown either what others are. */
  get refused(): boolean {
    return this.#failure?.error.code === REFUSED;
  }

  /** Whether it has to be read before it is served: never read, not fresh, or said to have changed. */
  get due(): boolean {
    if (this.#covered !== this.notices) {
      return true;
    }
    return this.#options.now() >= (this.#failure?.retryAt ?? this.#freshUntil);
  }

  /** When something is to be done for whoever listens: to read it, or to let it go. */
  get nextAt(): number {
    if (this.#flight.running !== undefined) {
      return Number.POSITIVE_INFINITY;
    }
    if (this.#covered !== this.notices) {
      const debounceMs = this.#options.debounceMs();
      // A steady stream of notices is read this often at most (case C-022).
      const earliest = this.#followedAt + LONGEST_DEBOUNCE * debounceMs;
      const noticedAt = this.#noticedAt ?? Number.NEGATIVE_INFINITY;
      return Math.max(noticedAt + debounceMs, earliest, this.#pace.readyAt);
    }
    if (this.#failure === undefined) {
      return Math.max(this.#pollAt, this.#pace.readyAt);
    }
    return this.#known ? Math.min(this.#failure.retryAt, this.servedUntil) : this.#failure.retryAt;
  }

  /** A notice on a connection of the principal's own. */
  invalidate(): void {
    this.#heard += 1;
    this.noticed();
  }

  /** Notices may have gone unheard, but not those about what is being read on that connection right now. */
  missed(): void {
    if (this.#flight.running === undefined) {
      this.invalidate();
    }
  }

  /** Everybody was told that it changed. */
  noticed(): void {
    this.#noticedAt ??= this.#options.now();
  }

  /**
   * Reads it; a read under way that no notice has overtaken serves all who come meanwhile. Never rejects: what cannot
   * be read stays as it was for a while.
   */
  read(walk: Walk): Promise<void> {
    const { running } = this.#flight;
    if (running !== undefined && this.#covered === this.notices) {
      return running;
    }
    this.#walk = walk;
    return this.#flight.run();
  }

  /** What a read that begins now takes into account. */
  get notices(): number {
    return this.#heard + this.#options.notices();
  }

  /** What was read, here or elsewhere, by a read that began when there had been so many notices. */
  take(list: ListPart | undefined, notices: number): void {
    const { now, ttl } = this.#options;
    this.#covered = notices;
    const hinted = list?.hints.ttlMs ?? 0;
    const believed = hinted > 0 ? hinted : ttl;
    this.#list = list === undefined ? undefined : this.#settled(list);
    this.#known = true;
    this.#failure = undefined;
    this.#freshUntil = now() + believed;
    this.#pollAt = now() + Math.max(believed, jittered(1.1 * believed), LEAST_POLL);
    this.#options.changed();
  }

  /** The same list as the catalog settled it, so that what says the same stays the same object. */
  adopt(list: ListPart): void {
    this.#list = list;
  }

  /** Lets go of what could not be read again for too long. */
  expire(): void {
    if (this.#failure !== undefined && this.#known && this.#options.now() >= this.servedUntil) {
      this.#forget();
    }
  }

  /** Lets go of it, as if it had never been read. */
  drop(): void {
    this.#covered = undefined;
    if (this.#known) {
      this.#forget();
    }
  }

  /** Until when it is served if it cannot be read again. */
  get servedUntil(): number {
    return Math.min(this.#freshUntil, this.#failure?.since ?? this.#freshUntil) + this.#options.staleFor;
  }

  /** With what says the same as before, or as somebody else's, taken from there. */
  #settled(list: ListPart): ListPart {
    const { kind, intern } = this.#options;
    const before = this.#list;
    const reused = before === undefined ? list : reuseList(kind, list, before);
    return reused.items === before?.items ? reused : { ...reused, items: intern(reused.items) };
  }

  async #run(): Promise<void> {
    const { notices } = this;
    const walk = this.#walk;
    this.#walk = NO_WALK;
    this.#covered = notices;
    if (this.#noticedAt !== undefined) {
      this.#noticedAt = undefined;
      this.#followedAt = this.#options.now();
    }
    this.#pace.begin(this.#options.now());
    try {
      this.take(await walk(), notices);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#pace.end(this.#options.now());
    }
  }

  #fail(thrown: unknown): void {
    const now = this.#options.now();
    const { since = now, tries = 0 } = this.#failure ?? {};
    const retryAt = now + backoff(tries, RETRY_BASE, RETRY_CAP);
    this.#failure = { error: told(thrown, this.#options.upstream), since, retryAt, tries: tries + 1 };
    if (this.refused) {
      this.#forget();
    } else {
      this.expire();
      this.#options.changed();
    }
  }

  #forget(): void {
    this.#list = undefined;
    this.#known = false;
    this.#options.changed();
  }
}

/** The error as it may be told later, without whatever caused it: no answer of a server, no header stays in memory. */
function told(thrown: unknown, upstream: string): GatewayError {
  if (!(thrown instanceof GatewayError)) {
    return new GatewayError('LIST_UNREADABLE', { upstream });
  }
  const detail = thrown.message.slice(ERRORS[thrown.code].says.length + 1);
  return new GatewayError(thrown.code, { upstream, ...(detail === '' ? {} : { detail }) });
}
