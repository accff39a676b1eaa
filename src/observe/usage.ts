import { isObject, type JsonObject, stringAt } from '../base/json.ts';

/** A tool or prompt, by what its upstream calls it. */
interface UsedItem {
  readonly upstream: string;
  readonly original: string;
  readonly kind: string;
  /** Size of its definition as JSON text: what it costs every client that lists it. */
  bytes: number;
  /** Who was given a list with it. */
  readonly offeredTo: Set<string>;
  calls: number;
  failures: number;
  lastCall: string | undefined;
  readonly codes: Map<string, number>;
}

/** What clients asked for that no list had which they were given. */
interface Unoffered {
  readonly name: string;
  readonly upstream: string | undefined;
  calls: number;
  readonly by: Set<string>;
  readonly codes: Map<string, number>;
}

export interface Usage {
  /** Times of the first and the last line that counts, ISO 8601. */
  readonly from: string | null;
  readonly to: string | null;
  readonly calls: number;
  readonly lists: number;
  /** Lines that are none of an audit log. */
  readonly unread: number;
  readonly upstreams: readonly UpstreamUsage[];
  /** Largest definition first. */
  readonly neverCalled: readonly (ItemName & { readonly bytes: number; readonly offeredTo: number })[];
  /** Most calls first. */
  readonly notOffered: readonly {
    readonly name: string;
    readonly upstream: string | null;
    readonly calls: number;
    readonly by: number;
    readonly outcomes: Readonly<Record<string, number>>;
  }[];
  /** Most failures first. */
  readonly failing: readonly (ItemName & {
    readonly calls: number;
    readonly failures: number;
    readonly lastCall: string | null;
    readonly outcomes: Readonly<Record<string, number>>;
  })[];
}

interface ItemName {
  readonly upstream: string;
  readonly original: string;
  readonly kind: string;
}

interface UpstreamUsage {
  readonly upstream: string;
  readonly offered: number;
  readonly called: number;
  readonly calls: number;
  readonly failures: number;
}

const KINDS: Readonly<Record<string, string>> = { 'tools/call': 'tools', 'prompts/get': 'prompts' };
const FAILED: ReadonlySet<string> = new Set(['tool_error', 'upstream_error', 'error']);
/** Names that clients make up are not kept without end. */
const MOST_UNOFFERED = 10_000;

/** Reads the lines of an audit log, in their order, and says what of the catalog is of use. */
export class UsageReader {
  /** ms since the epoch: lines from before tell only what was in a list. */
  readonly #since: number;
  readonly #offers = new Map<string, { readonly kind: string; readonly items: JsonObject[] }>();
  readonly #seen = new Map<string, Set<string>>();
  readonly #items = new Map<string, UsedItem>();
  readonly #unoffered = new Map<string, Unoffered>();
  #from: string | null = null;
  #to: string | null = null;
  #calls = 0;
  #lists = 0;
  #unread = 0;

  constructor(since = Number.NEGATIVE_INFINITY) {
    this.#since = since;
  }

  read(line: string): void {
    const entry = parsed(line);
    const time = stringAt(entry, 'time');
    if (entry === undefined || time === undefined) {
      this.#unread += line.trim() === '' ? 0 : 1;
      return;
    }
    if (entry['event'] === 'offer') {
      this.#offer(entry);
    }
    if (Date.parse(time) < this.#since) {
      return;
    }
    if (entry['event'] === 'list') {
      this.#lists += 1;
      this.#listed(entry);
    } else if (entry['event'] === 'call') {
      this.#calls += 1;
      this.#called(entry, time);
    } else {
      return;
    }
    this.#from ??= time;
    this.#to = time;
  }

  usage(): Usage {
    const items = [...this.#items.values()];
    const offered = items.filter(({ offeredTo }) => offeredTo.size > 0);
    const upstreams = new Set(items.map(({ upstream }) => upstream));
    return {
      from: this.#from,
      to: this.#to,
      calls: this.#calls,
      lists: this.#lists,
      unread: this.#unread,
      upstreams: [...upstreams]
        .map((upstream) =>
          usageOf(
            upstream,
            items.filter((item) => item.upstream === upstream),
          ),
        )
        .toSorted((a, b) => b.calls - a.calls || a.upstream.localeCompare(b.upstream)),
      neverCalled: offered
        .filter(({ calls }) => calls === 0)
        .map((item) => ({ ...nameOf(item), bytes: item.bytes, offeredTo: item.offeredTo.size }))
        .toSorted((a, b) => b.bytes - a.bytes || a.original.localeCompare(b.original)),
      notOffered: [...this.#unoffered.values()]
        .map(({ name, upstream = null, calls, by, codes }) => ({
          ...{ name, upstream, calls },
          by: by.size,
          outcomes: Object.fromEntries(codes),
        }))
        .toSorted((a, b) => b.calls - a.calls || a.name.localeCompare(b.name)),
      failing: items
        .filter(({ failures }) => failures > 0)
        .map((item) => ({
          ...nameOf(item),
          calls: item.calls,
          failures: item.failures,
          lastCall: item.lastCall ?? null,
          outcomes: Object.fromEntries(item.codes),
        }))
        .toSorted((a, b) => b.failures - a.failures || b.failures / b.calls - a.failures / a.calls),
    };
  }

  #offer(entry: JsonObject): void {
    const id = stringAt(entry, 'offer') ?? '';
    const kind = stringAt(entry, 'kind') ?? '';
    const items = Array.isArray(entry['items']) ? entry['items'].filter(isObject) : [];
    const known = this.#offers.get(id) ?? { kind, items: [] };
    this.#offers.set(id, known);
    const names = this.#seen.get(id) ?? new Set();
    this.#seen.set(id, names);
    for (const item of items.filter((each) => !names.has(keyOf(kind, each)))) {
      // Each file tells the list again.
      names.add(keyOf(kind, item));
      known.items.push(item);
    }
  }

  #listed(entry: JsonObject): void {
    const offer = this.#offers.get(stringAt(entry, 'offer') ?? '');
    if (offer === undefined || (offer.kind !== 'tools' && offer.kind !== 'prompts')) {
      return;
    }
    const who = stringAt(entry, 'principal') ?? '';
    for (const item of offer.items) {
      const used = this.#itemOf(offer.kind, item);
      used.offeredTo.add(who);
      used.bytes = typeof item['bytes'] === 'number' ? item['bytes'] : used.bytes;
    }
  }

  #called(entry: JsonObject, time: string): void {
    const kind = KINDS[stringAt(entry, 'method') ?? ''];
    if (kind === undefined) {
      return;
    }
    const outcome = stringAt(entry, 'outcome') ?? '';
    const code = stringAt(entry, 'code') ?? outcome;
    const known = stringAt(entry, 'upstream') !== undefined && stringAt(entry, 'original') !== undefined;
    if (known) {
      const item = this.#itemOf(kind, entry);
      item.calls += 1;
      item.lastCall = time;
      if (FAILED.has(outcome)) {
        item.failures += 1;
        count(item.codes, code);
      }
    }
    const given = this.#seen.get(stringAt(entry, 'offer') ?? '');
    // Where the list is not known, an answer that there is no such thing still tells.
    if (given === undefined ? !known : !given.has(keyOf(kind, entry))) {
      this.#note(entry, code);
    }
  }

  #note(entry: JsonObject, code: string): void {
    const name = stringAt(entry, 'name') ?? '';
    const upstream = stringAt(entry, 'upstream');
    const key = JSON.stringify([name, upstream]);
    const known = this.#unoffered.get(key);
    if (known === undefined && this.#unoffered.size >= MOST_UNOFFERED) {
      return;
    }
    const noted = known ?? {
      name,
      upstream,
      calls: 0,
      by: new Set<string>(),
      codes: new Map<string, number>(),
    };
    this.#unoffered.set(key, noted);
    noted.calls += 1;
    noted.by.add(stringAt(entry, 'principal') ?? '');
    count(noted.codes, code);
  }

  #itemOf(kind: string, about: JsonObject): UsedItem {
    const key = keyOf(kind, about);
    const item = this.#items.get(key) ?? {
      upstream: stringAt(about, 'upstream') ?? '',
      original: stringAt(about, 'original') ?? '',
      kind,
      bytes: 0,
      offeredTo: new Set<string>(),
      calls: 0,
      failures: 0,
      lastCall: undefined,
      codes: new Map<string, number>(),
    };
    this.#items.set(key, item);
    return item;
  }
}

function parsed(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    // Other lines may stand in between: stdout is not the audit log's alone.
    return undefined;
  }
}

function keyOf(kind: string, about: JsonObject): string {
  return JSON.stringify([kind, about['upstream'], about['original']]);
}

function nameOf({ upstream, original, kind }: ItemName): ItemName {
  return { upstream, original, kind };
}

function usageOf(upstream: string, items: readonly UsedItem[]): UpstreamUsage {
  const sum = (of: (item: UsedItem) => number) => items.reduce((total, item) => total + of(item), 0);
  return {
    upstream,
    offered: items.filter(({ offeredTo }) => offeredTo.size > 0).length,
    called: items.filter(({ calls }) => calls > 0).length,
    calls: sum(({ calls }) => calls),
    failures: sum(({ failures }) => failures),
  };
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
