import { isForEverybody, type ScopeKey, scopeKey } from '../../../src/access/cache-scope.ts';
import { ANONYMOUS, createPrincipal, type Principal } from '../../../src/access/principal.ts';
import { Budget } from '../../../src/base/budget.ts';
import { SILENT } from '../../../src/base/log.ts';
import type { ListPart } from '../../../src/catalog/part.ts';
import type { Caller, Scoping } from '../../../src/catalog/scoping.ts';
import type { Swap } from '../../../src/catalog/snapshot.ts';
import { Store } from '../../../src/catalog/store.ts';
import type { StoreOptions } from '../../../src/catalog/store-options.ts';
import { type CacheHints, KIND_FACTS, type Kind } from '../../../src/protocol/model.ts';
import { list, tool } from './parts.ts';
import { createTimeline, type Timeline } from './timeline.ts';

/** Several users in front of scripted upstreams that know who asks. */

export function user(id: string, scopes: readonly string[] = []): Principal {
  return createPrincipal({ ...ANONYMOUS, key: JSON.stringify(['test', id]), id, scopes });
}

export const by = (id: string, scopes?: readonly string[]): Caller => ({ principal: user(id, scopes) });

/** How one upstream is reached, and what it answers. */
export interface UpstreamScript {
  /** With the credential of each user; then nobody else reaches it. */
  readonly own?: boolean;
  readonly scope?: 'auto' | 'private';
  readonly trustPublic?: boolean;
  readonly hints?: CacheHints;
  /** Undefined where it has no such list; throws where it refuses. Whoever asks; undefined: the gateway itself. */
  readonly offers: (kind: Kind, who: string | undefined) => readonly unknown[] | undefined;
}

export interface World {
  readonly store: Store;
  readonly time: Timeline;
  readonly swaps: Swap[];
  /** `<upstream> <kind> <who>`, the gateway itself being `-`. */
  readonly reads: string[];
  readonly budget: Budget<ScopeKey>;
  readonly upstreams: Map<string, UpstreamScript>;
  /** Names of the tools that this user sees. */
  readonly tools: (id: string) => string[];
  /** What it sees once its lists are read. */
  readonly list: (id: string) => Promise<string[]>;
  readonly hold: () => void;
  readonly release: () => void;
}

export const TTL = 60_000;
export const STALE_FOR = 100_000;
export const DEBOUNCE = 50;
export const PUBLIC = { ttlMs: 1_000, scope: 'public' } as const;
export const PRIVATE = { ttlMs: 1_000, scope: 'private' } as const;
const NO_HINTS: CacheHints = { ttlMs: undefined, scope: undefined };

export function createWorld(
  scripts: Readonly<Record<string, UpstreamScript>>,
  more: { readonly bytes?: number; readonly options?: Partial<StoreOptions<Caller>> } = {},
): World {
  const time = createTimeline();
  const upstreams = new Map(Object.entries(scripts));
  const budget = new Budget<ScopeKey>(more.bytes ?? 64 * 1024 * 1024);
  const reads: string[] = [];
  const swaps: Swap[] = [];
  let held: (() => void)[] | undefined;
  const read: StoreOptions<Caller>['read'] = async (
    upstream,
    kind,
    _signal,
    caller,
  ): Promise<ListPart | undefined> => {
    reads.push(`${upstream} ${kind} ${caller?.principal.id ?? '-'}`);
    if (held !== undefined) {
      await new Promise<void>((resolve) => held?.push(resolve));
    }
    const script = upstreams.get(upstream);
    const raw = script?.offers(kind, caller?.principal.id);
    return raw === undefined
      ? undefined
      : list(kind, raw, { hints: script?.hints ?? NO_HINTS, readAt: time.now() });
  };
  const store = new Store({
    order: () => [...upstreams.keys()],
    naming: { separator: '.', maxLength: 128 },
    read,
    scoping: scopingOf(upstreams, budget),
    debounceMs: () => DEBOUNCE,
    onSwap: (swap) => swaps.push(swap),
    log: SILENT,
    schedule: time.schedule,
    now: time.now,
    ...more.options,
  });
  const tools = (id: string) => store.of(user(id)).entries.tools.map((entry) => entry.exposed.dotted);
  return {
    store,
    time,
    swaps,
    reads,
    budget,
    upstreams,
    tools,
    list: async (id) => {
      const catalog = await store.ready(by(id), [...upstreams.keys()], 1_000);
      return catalog.entries.tools.map((entry) => entry.exposed.dotted);
    },
    hold: () => {
      held = [];
    },
    release: () => {
      const waiting = held ?? [];
      held = undefined;
      for (const resume of waiting) {
        resume();
      }
    },
  };
}

function scopingOf(upstreams: ReadonlyMap<string, UpstreamScript>, budget: Budget<ScopeKey>): Scoping {
  const isOwn = (upstream: string) => upstreams.get(upstream)?.own === true;
  return {
    everybody: ANONYMOUS,
    isOwn,
    isForEverybody: (upstream, hinted) => {
      const { scope = 'auto', trustPublic = false } = upstreams.get(upstream) ?? {};
      return isForEverybody({ own: isOwn(upstream), scope, trustPublic }, hinted);
    },
    keyOf: (upstream, kind, owner) => scopeKey({ upstream, method: KIND_FACTS[kind].list }, owner),
    keyOfAll: (owner) => scopeKey({ upstream: '*', method: '*/list' }, owner),
    cacheOf: () => ({ ttl: TTL, staleFor: STALE_FOR }),
    budget,
  };
}

/** Lets timers pass until this has settled. */
export async function during<T>(time: Timeline, ms: number, promise: Promise<T>): Promise<T> {
  const [result] = await Promise.all([promise, time.advance(ms)]);
  return result;
}

/** Tools alone, the same for everybody. */
export const same =
  (...names: string[]): UpstreamScript['offers'] =>
  (kind) =>
    kind === 'tools' ? names.map((name) => tool(name)) : undefined;

/** Tools alone, and one more that is named like whoever asks. */
export const personal: UpstreamScript['offers'] = (kind, who) => same('all', who ?? 'gateway')(kind, who);

/** Of the reads, those whose names begin so. */
export const count = (world: World, read: string) =>
  world.reads.filter((each) => each.startsWith(read)).length;

/** The gateway's own walk of this upstream is over, and its window of swaps closed. */
export async function refresh(world: World, upstream: string): Promise<void> {
  await during(world.time, DEBOUNCE, world.store.refresh(upstream));
  await world.time.advance(DEBOUNCE);
}

/** All of the gateway's own walks are over. */
export async function started(world: World): Promise<void> {
  for (const [upstream, { own }] of world.upstreams) {
    if (own !== true) {
      await during(world.time, DEBOUNCE, world.store.refresh(upstream));
    }
  }
  await world.time.advance(DEBOUNCE);
}
