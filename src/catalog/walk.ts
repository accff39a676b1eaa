import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { after } from '../base/time.ts';
import { type CacheHints, type Item, KIND_FACTS, type Kind } from '../protocol/model.ts';
import { beforeAbort } from './flight.ts';
import { type Finding, mergeHints } from './part.ts';
import { type Repair, startRepair } from './repair.ts';

export interface WalkLimits {
  readonly pages: number;
  readonly items: number;
  /** What all items together take in memory, estimated. */
  readonly bytes: number;
  /** One deadline for the whole walk, not one per page. */
  readonly totalMs: number;
}

/** Longest cursor that is followed: it is kept until the end of the walk, and sent back. */
const LONGEST_CURSOR = 16_384;

const WALK_LIMITS: WalkLimits = {
  pages: 1000,
  items: 50_000,
  bytes: 64 * 1024 * 1024,
  totalMs: 60_000,
};

/** One complete list, ready to become a `ListPart`. */
export interface Walked {
  readonly items: readonly Item[];
  readonly hints: CacheHints;
  readonly findings: readonly Finding[];
}

/** Asks for one page; resolves to the `result` object. The signal aborts when nobody waits for the page any more. */
export type FetchPage = (cursor: string | undefined, signal: AbortSignal) => Promise<JsonObject>;

/**
 * Reads one list to its end. It is all or nothing: a page that fails rejects with the error of that page, a malformed
 * result or a limit with LIST_UNREADABLE; a partial list is never returned (case C-015). A cursor that comes back ends
 * the walk with what there is and a warning, before it is followed again (cases C-016, C-018).
 *
 * @param signal ends the walk from outside: it rejects with CANCELLED.
 * @param before the items of the walk before this one: what says the same still is taken from there.
 */
export async function walkList(
  kind: Kind,
  fetchPage: FetchPage,
  limited: Partial<WalkLimits> = {},
  signal?: AbortSignal,
  before?: readonly Item[],
): Promise<Walked> {
  const limits = { ...WALK_LIMITS, ...limited };
  const walk = new AbortController();
  const cancel = after(limits.totalMs, () =>
    walk.abort(unreadable(kind, `it took longer than ${limits.totalMs} ms`)),
  );
  const stop = () => walk.abort(new GatewayError('CANCELLED', { cause: signal?.reason }));
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) {
    stop();
  }
  try {
    return await readPages(
      startRepair(kind, before),
      kind,
      (cursor) => beforeAbort(walk.signal, fetchPage(cursor, walk.signal)),
      limits,
    );
  } finally {
    cancel();
    signal?.removeEventListener('abort', stop);
    // A page that lost against the deadline may still be on its way.
    walk.abort();
  }
}

async function readPages(
  repair: Repair,
  kind: Kind,
  fetch: (cursor: string | undefined) => Promise<JsonObject>,
  limits: WalkLimits,
): Promise<Walked> {
  const hints: CacheHints[] = [];
  const followed = new Set<string>();
  let count = 0;
  for (let cursor: string | undefined; hints.length < limits.pages; ) {
    const result = await fetch(cursor);
    const raw = itemsOf(kind, result);
    count += raw.length;
    if (count > limits.items) {
      throw unreadable(kind, `it has more than ${limits.items} items`);
    }
    repair.add(raw);
    if (repair.cost > limits.bytes) {
      throw unreadable(kind, `it is larger than ${limits.bytes} bytes`);
    }
    hints.push(hintsOf(result));
    cursor = nextCursorOf(kind, result);
    const repeated = cursor !== undefined && followed.has(cursor);
    if (cursor === undefined || repeated) {
      const { items, findings } = repair.done();
      const all = repeated ? [...findings, cursorRepeats(kind)] : findings;
      return { items, hints: mergeHints(hints), findings: all };
    }
    followed.add(cursor);
  }
  throw unreadable(kind, `it did not end within ${limits.pages} pages`);
}

function itemsOf(kind: Kind, result: JsonObject): readonly unknown[] {
  const { list, member } = KIND_FACTS[kind];
  const raw: unknown = result[member];
  if (!Array.isArray(raw)) {
    throw unreadable(kind, `its answer to ${list} has no list of ${member}`);
  }
  return raw;
}

/** An empty string is a cursor like any other; null counts as absent (spec: server/utilities/pagination). */
function nextCursorOf(kind: Kind, result: JsonObject): string | undefined {
  const cursor = result['nextCursor'] ?? undefined;
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw unreadable(kind, 'its nextCursor is not a string');
  }
  if (cursor !== undefined && cursor.length > LONGEST_CURSOR) {
    throw unreadable(kind, `its nextCursor is longer than ${LONGEST_CURSOR} characters`);
  }
  return cursor;
}

/** A negative ttl counts as 0, and hints of a wrong type as not given (spec: server/utilities/caching). */
function hintsOf(result: JsonObject): CacheHints {
  const { ttlMs, cacheScope } = result;
  return {
    ttlMs: typeof ttlMs === 'number' && Number.isFinite(ttlMs) ? Math.max(0, ttlMs) : undefined,
    scope: cacheScope === 'public' || cacheScope === 'private' ? cacheScope : undefined,
  };
}

function unreadable(kind: Kind, why: string): GatewayError {
  return new GatewayError('LIST_UNREADABLE', { logged: `${KIND_FACTS[kind].list}: ${why}` });
}

function cursorRepeats(kind: Kind): Finding {
  return {
    id: 'list.cursor-repeats',
    severity: 'warning',
    kind,
    item: '',
    reason:
      'The server gave a cursor out twice; the walk ended there, and what it had listed by then is served.',
    advice: 'Ask the author of the server to leave nextCursor out on the last page.',
  };
}
