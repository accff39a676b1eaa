import { after } from '../base/time.ts';
import type { Swap } from '../catalog/snapshot.ts';
import type { UpstreamStatus } from '../upstream/state.ts';
import { type AuditedBy, type AuditedCall, labelOf, nameIn, originalIn, rounded, UNTOLD } from './audit.ts';
import type { Readiness, UpstreamReport } from './status.ts';

/** A request that has ended, without its arguments and its result. */
export interface CallTold {
  readonly event: 'call';
  readonly method: string;
  /** As it was asked for; a URI without user, query and fragment. */
  readonly name: string | undefined;
  readonly upstream: string | undefined;
  /** What the name stands for there. */
  readonly original: string | undefined;
  readonly outcome: string;
  /** Of an error of the gateway, and of one of the upstream. */
  readonly code: string | undefined;
  readonly rpcCode: number | undefined;
  readonly flags: readonly string[] | undefined;
  /** In all, waiting for a turn, and at the upstream, in ms. */
  readonly ms: number;
  readonly queuedMs: number | undefined;
  readonly upstreamMs: number | undefined;
  readonly principal: string;
  readonly entrance: string;
  /** What the client calls itself: a label. */
  readonly client: string;
}

/** Clients can see something that is another one. */
interface CatalogTold {
  readonly event: 'catalog';
  readonly revision: string;
  readonly changes: readonly string[];
  /** Whose lists are others. */
  readonly upstreams: readonly string[];
}

/** An upstream stands otherwise than before. */
interface UpstreamTold extends UpstreamReport {
  readonly event: 'upstream';
  readonly id: string;
  /** How often it was reached again; more than before: it was gone in between. */
  readonly reconnects: number;
}

/** What operators are told who look on; docs/api.md has its shape. `skipped`: so many calls were too many to tell. */
export type FeedEvent =
  | CallTold
  | CatalogTold
  | UpstreamTold
  | { readonly event: 'gone'; readonly id: string }
  | { readonly event: 'skipped'; readonly calls: number };

export interface FeedSources {
  readonly readiness: () => Pick<Readiness, 'upstreams'>;
  readonly statuses: () => ReadonlyMap<string, UpstreamStatus>;
}

/** How often the upstreams are looked at while somebody looks on, in ms. */
const LOOK_MS = 500;
/** Most calls that are told between two of these looks; of more, the number is. */
const MOST_CALLS = 100;

/** What happens, told to operators as it happens. While nobody looks on nothing is looked at, and no timer runs. */
export class Feed {
  readonly #sources: FeedSources;
  readonly #listeners = new Set<(json: string) => void>();
  #known: ReadonlyMap<string, UpstreamTold> = new Map();
  #calls = 0;
  #stop: (() => void) | undefined;

  constructor(sources: FeedSources) {
    this.#sources = sources;
  }

  /** Whether somebody looks on. */
  get heard(): boolean {
    return this.#listeners.size > 0;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** `tell` gets each event as JSON text; it must not throw. Returns how to hear no more. */
  listen(tell: (json: string) => void): () => void {
    this.#listeners.add(tell);
    if (this.#stop === undefined) {
      this.#known = this.#look();
      this.#stop = after(LOOK_MS, this.#turn);
    }
    return () => {
      this.#listeners.delete(tell);
      if (!this.heard) {
        this.#stop?.();
        this.#stop = undefined;
        this.#calls = 0;
      }
    };
  }

  /** A request has ended. */
  called(call: AuditedCall, by: AuditedBy): void {
    if (this.heard && !UNTOLD.has(call.method)) {
      this.#calls += 1;
      if (this.#calls <= MOST_CALLS) {
        this.#tell(callTold(call, by));
      }
    }
  }

  /** The catalog that is everybody's was replaced. */
  swapped({ before, after, changes }: Pick<Swap, 'before' | 'after' | 'changes'>): void {
    if (this.heard) {
      const ids = new Set([...before.parts.keys(), ...after.parts.keys()]);
      const upstreams = [...ids].filter((id) => before.parts.get(id) !== after.parts.get(id));
      this.#tell({ event: 'catalog', revision: after.revision, changes, upstreams });
    }
  }

  readonly #turn = (): void => {
    if (this.#calls > MOST_CALLS) {
      this.#tell({ event: 'skipped', calls: this.#calls - MOST_CALLS });
    }
    this.#calls = 0;
    const before = this.#known;
    this.#known = this.#look();
    for (const [id, now] of this.#known) {
      if (!isSame(before.get(id), now)) {
        this.#tell(now);
      }
    }
    for (const id of before.keys()) {
      if (!this.#known.has(id)) {
        this.#tell({ event: 'gone', id });
      }
    }
    if (this.heard) {
      this.#stop = after(LOOK_MS, this.#turn);
    }
  };

  #look(): ReadonlyMap<string, UpstreamTold> {
    const { readiness, statuses } = this.#sources;
    const known = statuses();
    return new Map(
      Object.entries(readiness().upstreams).map(([id, report]) => {
        const reconnects = Math.max(0, (known.get(id)?.connects ?? 0) - 1);
        return [id, { event: 'upstream', id, reconnects, ...report }];
      }),
    );
  }

  #tell(event: FeedEvent): void {
    const json = JSON.stringify({ at: new Date().toISOString(), ...event });
    for (const tell of [...this.#listeners]) {
      tell(json);
    }
  }
}

function callTold(call: AuditedCall, { id, entrance, client }: AuditedBy): CallTold {
  const { method, upstream, outcome = 'ok', code, rpcCode, flags, tookMs, queuedMs, upstreamMs } = call;
  return {
    event: 'call',
    ...{ method, upstream, outcome, code, rpcCode, flags },
    name: nameIn(method, call.params, false),
    original: originalIn(method, call.original),
    ms: rounded(tookMs),
    queuedMs: queuedMs === undefined ? undefined : rounded(queuedMs),
    upstreamMs: upstreamMs === undefined ? undefined : rounded(upstreamMs),
    principal: id,
    entrance,
    client: labelOf(client),
  };
}

function isSame(before: UpstreamTold | undefined, now: UpstreamTold): boolean {
  return (
    before !== undefined &&
    before.state === now.state &&
    before.since === now.since &&
    before.reconnects === now.reconnects &&
    before.lastError === now.lastError &&
    before.findings === now.findings
  );
}
