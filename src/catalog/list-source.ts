import type { ScopeKey } from '../access/cache-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Log } from '../base/log.ts';
import { CHANGES, type Change, KINDS, type Kind } from '../protocol/model.ts';
import { findingName, logFinding } from './findings.ts';
import { beforeAbort } from './flight.ts';
import { OwnList } from './own-list.ts';
import type { ListPart, UpstreamPart } from './part.ts';
import type { Caller, Duty, Scoping } from './scoping.ts';
import type { Twins } from './twins.ts';

export interface ListSourceOptions<C> {
  readonly scoping: Scoping;
  readonly twins: Twins;
  /** Walks one list on behalf of a caller; `undefined` where the upstream has no such list. */
  readonly read: (
    upstream: string,
    kind: Kind,
    signal: AbortSignal,
    caller: C,
    before: ListPart | undefined,
  ) => Promise<ListPart | undefined>;
  /** What one principal read for all has changed. */
  readonly commonChanged: () => void;
  readonly debounceMs: () => number;
  readonly now: () => number;
  readonly log: Log;
}

/** A list that one principal reads and all are served, where the answer says so and is believed. */
export interface CommonList {
  readonly list: OwnList;
  /** The last answer was for everybody, or there was none: worth waiting for whoever asks right now. */
  hopeful: boolean;
  /** Whoever asks right now. */
  scout: Promise<void> | undefined;
}

/** What changes with a notice about the resources. */
export const CHANGE_OF: Readonly<Record<Kind, Change>> = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  templates: 'resources',
};

/** Findings that were logged already; beyond, they are the same ones again or nobody reads them. */
const MOST_FINDINGS = 1_000;

/** Reads lists on behalf of single principals, and keeps those that turn out to be everybody's. */
export class ListSource<C extends Caller> {
  readonly #options: ListSourceOptions<C>;
  readonly #common = new Map<ScopeKey, CommonList>();
  readonly #notices = new Map<string, number>();
  readonly #found = new Set<string>();
  readonly #life = new AbortController();

  constructor(options: ListSourceOptions<C>) {
    this.#options = options;
  }

  keyOf({ upstream, kind }: Duty, owner: Principal | undefined): ScopeKey {
    return this.#options.scoping.keyOf(upstream, kind, owner);
  }

  bytesOf({ list }: OwnList): number {
    return list === undefined ? 0 : this.#options.twins.bytesOf(list.items);
  }

  create({ upstream, kind }: Duty, changed: () => void): OwnList {
    const { scoping, twins, debounceMs, now } = this.#options;
    const name = noticeName(upstream, CHANGE_OF[kind]);
    return new OwnList({
      upstream,
      kind,
      ...scoping.cacheOf(upstream),
      debounceMs,
      now,
      notices: () => this.#notices.get(name) ?? 0,
      intern: (items) => twins.items(items),
      changed,
    });
  }

  /** The list that may serve all, of an upstream to which each user is known and which is believed to know what is public. */
  commonOf(duty: Duty): CommonList | undefined {
    const { scoping, commonChanged } = this.#options;
    if (!scoping.isOwn(duty.upstream) || !scoping.isForEverybody(duty.upstream, 'public')) {
      return undefined;
    }
    const key = this.keyOf(duty, undefined);
    let common = this.#common.get(key);
    if (common === undefined) {
      common = { list: this.create(duty, commonChanged), hopeful: true, scout: undefined };
      this.#common.set(key, common);
    }
    return common;
  }

  /** What is there for all of this upstream. */
  commonPart(upstream: string, namespace: string): UpstreamPart | undefined {
    const lists: Partial<Record<Kind, ListPart>> = {};
    let known = false;
    for (const kind of KINDS) {
      const common = this.#common.get(this.keyOf({ upstream, kind }, undefined))?.list;
      known ||= common?.known === true;
      if (common?.list !== undefined) {
        lists[kind] = common.list;
      }
    }
    return known ? { upstream, namespace, lists, stale: false } : undefined;
  }

  /** Takes over lists for all as the catalog settled them. */
  adopt({ upstream, lists }: UpstreamPart): void {
    for (const kind of KINDS) {
      const list = lists[kind];
      const common = this.#common.get(this.keyOf({ upstream, kind }, undefined))?.list;
      if (list !== undefined && common?.known === true) {
        common.adopt(list);
      }
    }
  }

  /** Everybody was told that the lists changed. */
  noticed(upstream: string, change: Change): void {
    const name = noticeName(upstream, change);
    this.#notices.set(name, (this.#notices.get(name) ?? 0) + 1);
  }

  /**
   * Reads one list for its caller, and for all where it is everybody's. Rejects where it cannot be read. `before`: what the
   * caller was served of it.
   */
  async walk(duty: Duty, caller: C, before: ListPart | undefined): Promise<ListPart | undefined> {
    const { upstream, kind } = duty;
    const { read, log, now } = this.#options;
    const { signal } = this.#life;
    const common = this.commonOf(duty);
    const notices = common?.list.notices ?? 0;
    try {
      signal.throwIfAborted();
      const list = await beforeAbort(signal, read(upstream, kind, signal, caller, before));
      this.#report(upstream, list);
      this.#share(common, upstream, list, notices);
      return list && { ...list, hints: { ...list.hints, scope: 'private' } };
    } catch (thrown) {
      if (!signal.aborted) {
        const about = { err: thrown, upstream, kind, principal: caller.principal.id };
        log.info(about, 'a list could not be read for this user');
      }
      if (common?.list.known === true && now() >= common.list.servedUntil) {
        common.list.drop();
      }
      throw thrown;
    }
  }

  /** It is gone, or is another server now. */
  forget(upstream: string): void {
    for (const kind of KINDS) {
      const key = this.keyOf({ upstream, kind }, undefined);
      this.#common.get(key)?.list.drop();
      this.#common.delete(key);
    }
    for (const change of CHANGES) {
      this.#notices.delete(noticeName(upstream, change));
    }
  }

  /** Reads under way end. */
  close(): void {
    this.#life.abort();
  }

  #share(
    common: CommonList | undefined,
    upstream: string,
    list: ListPart | undefined,
    notices: number,
  ): void {
    if (common === undefined) {
      return;
    }
    common.hopeful = this.#options.scoping.isForEverybody(upstream, list?.hints.scope);
    if (common.hopeful) {
      common.list.take(list, notices);
    } else if (common.list.known) {
      common.list.drop();
    }
  }

  /** Each finding once, in whoever's list it was found (case C-009). */
  #report(upstream: string, list: ListPart | undefined): void {
    for (const finding of list?.findings ?? []) {
      const found = { upstream, ...finding };
      const name = findingName(found);
      if (this.#found.size < MOST_FINDINGS && !this.#found.has(name)) {
        this.#found.add(name);
        logFinding(this.#options.log, found);
      }
    }
  }
}

function noticeName(upstream: string, change: Change): string {
  return `${change} ${upstream}`;
}
