import { toGatewayError, UpstreamRpcError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { backoff, jittered } from '../base/time.ts';
import { type CacheHints, type Change, KINDS, type Kind } from '../protocol/model.ts';
import { beforeAbort, Flight } from './flight.ts';
import { Pace } from './pace.ts';
import type { ListPart, UpstreamPart } from './part.ts';

export interface ReaderOptions {
  /**
   * Walks one list to its end. `undefined`: the upstream does not declare the capability, so it has no such list. `before`:
   * the list as it was read the last time, if it was.
   */
  readonly read: (
    upstream: string,
    kind: Kind,
    signal: AbortSignal,
    before: ListPart | undefined,
  ) => Promise<ListPart | undefined>;
  readonly log: Log;
  /** How long a change notice waits for further ones, in ms. */
  readonly debounceMs: () => number;
  /** When to read a list again that announces no changes, in ms; undefined: only when told. */
  readonly pollEvery?: (upstream: string, kind: Kind, hints: CacheHints) => number | undefined;
  /** Runs something later and returns what cancels that. */
  readonly schedule: (ms: number, run: () => void) => () => void;
  readonly now: () => number;
}

/** A steady stream of notices is read this many debounce times after its first one at the latest. */
export const LONGEST_DEBOUNCE = 20;

/** Delays of retries of a failed list, in ms. */
export const RETRY_BASE = 1_000;
export const RETRY_CAP = 60_000;

/**
 * The last complete lists of one upstream, and when they are read: on refresh, after a notice, by ttl, and again after
 * a failure. It only keeps them; `again` asks its owner to refresh (and so to publish), `changed` tells it to publish.
 */
export class Reader {
  readonly #upstream: string;
  readonly #options: ReaderOptions;
  readonly #again: (kinds: readonly Kind[]) => void;
  readonly #changed: () => void;
  readonly #life = new AbortController();
  readonly #flights: Readonly<Record<Kind, Flight>>;
  readonly #paces: Readonly<Record<Kind, Pace>> = {
    tools: new Pace(),
    prompts: new Pace(),
    resources: new Pace(),
    templates: new Pace(),
  };
  readonly #lists = new Map<Kind, ListPart>();
  /** Read, but not yet part of what is offered: the kinds of one refresh appear together. */
  readonly #landed = new Map<Kind, ListPart | undefined>();
  /** With why. */
  readonly #failing = new Map<Kind, string>();
  readonly #polls = new Map<Kind, () => void>();
  readonly #notices = new Map<Change, { readonly first: number; readonly cancel: () => void }>();
  #cancelRetry: (() => void) | undefined;
  #cancelExpiry: (() => void) | undefined;
  #attempts = 0;
  #losses = 0;
  #lost = false;
  /** False until something was read: an upstream that never answered offers nothing, not an empty list. */
  #known = false;

  constructor(
    upstream: string,
    options: ReaderOptions,
    again: (kinds: readonly Kind[]) => void,
    changed: () => void,
  ) {
    this.#upstream = upstream;
    this.#options = options;
    this.#again = again;
    this.#changed = changed;
    const flight = (kind: Kind) => new Flight(() => this.#read(kind));
    this.#flights = {
      tools: flight('tools'),
      prompts: flight('prompts'),
      resources: flight('resources'),
      templates: flight('templates'),
    };
  }

  /** What it offers; undefined until one list was read, and after it was lost for too long. */
  part(namespace: string): UpstreamPart | undefined {
    if (!this.#known) {
      return undefined;
    }
    const lists: Partial<Record<Kind, ListPart>> = {};
    for (const [kind, list] of this.#lists) {
      lists[kind] = list;
    }
    return { upstream: this.#upstream, namespace, lists, stale: this.#lost || this.#failing.size > 0 };
  }

  /** Why lists could not be read the last time, in the order of {@link KINDS}; undefined where all were. */
  get fault(): string | undefined {
    const faults = KINDS.filter((kind) => this.#failing.has(kind));
    const said = faults.map((kind) => `its ${kind} could not be read: ${this.#failing.get(kind)}`);
    return said.length === 0 ? undefined : said.join('; ');
  }

  /** Lists that were read elsewhere, from the server that is read from here on. */
  seed(lists: ReadonlyMap<Kind, ListPart | undefined>): void {
    for (const [kind, list] of lists) {
      this.#keep(kind, list);
    }
  }

  /** What was read is to be served in another form. */
  reshape(kind: Kind, shape: (list: ListPart) => ListPart): void {
    for (const lists of [this.#lists, this.#landed]) {
      const list = lists.get(kind);
      if (list !== undefined) {
        lists.set(kind, shape(list));
      }
    }
  }

  /** Takes over the lists as the catalog settled them, so that what says the same stays the same object. */
  adopt(part: UpstreamPart): void {
    for (const kind of KINDS) {
      const list = part.lists[kind];
      if (list !== undefined) {
        this.#lists.set(kind, list);
      }
    }
  }

  /** Reads these kinds; a list that fails stays as it was and is tried again later. Never rejects. */
  async refresh(kinds: readonly Kind[]): Promise<void> {
    const losses = this.#losses;
    await Promise.all(kinds.map((kind) => this.#flights[kind].run()));
    if (this.#life.signal.aborted) {
      return;
    }
    const landed = kinds.filter((kind) => this.#landed.has(kind));
    for (const kind of landed) {
      this.#keep(kind, this.#landed.get(kind));
      this.#landed.delete(kind);
    }
    // An answer from before the upstream was lost does not say that it is back.
    if (landed.length > 0 && losses === this.#losses) {
      this.#lost = false;
    }
    this.#planRetry();
    if (!this.#lost && this.#failing.size === 0) {
      this.#cancelExpiry?.();
      this.#cancelExpiry = undefined;
    }
  }

  /** A change notice: refreshes when no further one came for a while (case C-022). */
  invalidate(change: Change): void {
    const { now, schedule } = this.#options;
    const debounceMs = this.#options.debounceMs();
    const waiting = this.#notices.get(change);
    waiting?.cancel();
    const first = waiting?.first ?? now();
    const left = first + LONGEST_DEBOUNCE * debounceMs - now();
    const cancel = schedule(Math.max(0, Math.min(debounceMs, left)), () => this.#follow(change, first));
    this.#notices.set(change, { first, cancel });
  }

  /** Reads what is said to have changed, when it has rested: a server may say so without end. */
  #follow(change: Change, first: number): void {
    const kinds: readonly Kind[] = change === 'resources' ? ['resources', 'templates'] : [change];
    const running = kinds.flatMap((kind) => this.#flights[kind].running ?? []);
    const rest = Math.max(...kinds.map((kind) => this.#paces[kind].readyAt)) - this.#options.now();
    const again = () => this.#follow(change, first);
    if (running.length > 0) {
      const waiting = new AbortController();
      this.#notices.set(change, { first, cancel: () => waiting.abort() });
      void Promise.all(running).then(() => waiting.signal.aborted || again());
    } else if (rest > 0) {
      this.#notices.set(change, { first, cancel: this.#options.schedule(rest, again) });
    } else {
      this.#notices.delete(change);
      this.#again(kinds);
    }
  }

  /** The upstream is lost: its lists stay for `staleForMs`, counted from the first loss, and are not read meanwhile. */
  markStale(staleForMs: number): void {
    this.#losses += 1;
    this.#lost = true;
    this.#cancelReads();
    if (this.#known) {
      this.#cancelExpiry ??= this.#options.schedule(staleForMs, () => this.#expire());
    }
  }

  /** No read, retry or callback after this. */
  end(): void {
    this.#cancelReads();
    this.#cancelExpiry?.();
    this.#life.abort();
  }

  async #read(kind: Kind): Promise<void> {
    const { signal } = this.#life;
    const pace = this.#paces[kind];
    pace.begin(this.#options.now());
    try {
      const before = this.#lists.get(kind);
      const list = await beforeAbort(signal, this.#options.read(this.#upstream, kind, signal, before));
      this.#landed.set(kind, list);
      this.#failing.delete(kind);
    } catch (thrown) {
      if (signal.aborted) {
        return;
      }
      this.#failing.set(kind, whyOf(thrown));
      const about = { err: thrown, upstream: this.#upstream, kind };
      this.#options.log.warn(about, 'a list could not be read; the last complete one stays, if there is one');
    } finally {
      pace.end(this.#options.now());
    }
  }

  #keep(kind: Kind, list: ListPart | undefined): void {
    this.#known = true;
    this.#polls.get(kind)?.();
    this.#polls.delete(kind);
    if (list === undefined) {
      this.#lists.delete(kind);
      return;
    }
    this.#lists.set(kind, list);
    const ms = this.#options.pollEvery?.(this.#upstream, kind, list.hints);
    if (ms !== undefined) {
      const rest = this.#paces[kind].readyAt - this.#options.now();
      const wait = Math.max(jittered(ms), rest);
      this.#polls.set(
        kind,
        this.#options.schedule(wait, () => this.#again([kind])),
      );
    }
  }

  /** One retry for all kinds that fail, so that they come back together. */
  #planRetry(): void {
    if (this.#failing.size === 0) {
      this.#cancelRetry?.();
      this.#cancelRetry = undefined;
      this.#attempts = 0;
      return;
    }
    this.#cancelRetry ??= this.#options.schedule(backoff(this.#attempts, RETRY_BASE, RETRY_CAP), () => {
      this.#cancelRetry = undefined;
      this.#attempts += 1;
      this.#again([...this.#failing.keys()]);
    });
  }

  #expire(): void {
    this.#cancelExpiry = undefined;
    for (const kind of this.#lost ? KINDS : this.#failing.keys()) {
      this.#lists.delete(kind);
    }
    this.#known = !this.#lost;
    this.#changed();
  }

  #cancelReads(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    for (const cancel of this.#polls.values()) {
      cancel();
    }
    this.#polls.clear();
    for (const { cancel } of this.#notices.values()) {
      cancel();
    }
    this.#notices.clear();
  }
}

/** For the status. What a server says itself is in the log alone. */
function whyOf(thrown: unknown): string {
  if (thrown instanceof UpstreamRpcError) {
    return `it answered with error ${thrown.error.code}`;
  }
  const { code, message } = toGatewayError(thrown);
  return `${code}: ${message}`;
}
