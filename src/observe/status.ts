import type { Catalog } from '../catalog/snapshot.ts';
import { KINDS, type Kind } from '../protocol/model.ts';
import type { StateHealth } from '../state/state.ts';
import type { LinkState, UpstreamStatus } from '../upstream/state.ts';

/**
 * ready: connected and its lists are read. stale: connected, but a list could not be read; the last one serves. One that
 * single users sign in to has lists of theirs alone: it is ready while one of them is connected, and idle otherwise. Idle
 * is also what waits to be needed: it is there as soon as it is.
 */
export type UpstreamState = Exclude<LinkState, 'connected'> | 'ready' | 'stale';

/** What `/readyz` and the commands say of one upstream. */
export interface UpstreamReport {
  readonly state: UpstreamState;
  readonly era: 'modern' | 'legacy' | null;
  readonly tools: number;
  readonly prompts: number;
  readonly resources: number;
  readonly templates: number;
  /** What of these is not served, since it waits for approval. */
  readonly withheld: number;
  /** Size of its definitions as JSON text. */
  readonly bytes: number;
  /** When the state last changed, ISO 8601. */
  readonly since: string;
  readonly lastError?: string;
  /** Without what is only good to know about texts and schemas. */
  readonly findings: number;
}

/** Which configuration holds, and what came of the last one that was tried. */
export interface ConfigReport {
  /** failed: the last one was not valid, and the one before goes on. */
  readonly status: 'ok' | 'failed';
  /** When that was, ISO 8601. */
  readonly at: string;
  /** Keys that differ in the file, and keep their values until the gateway is started again. */
  readonly needRestart: readonly string[];
  /** Where the last one is wrong. */
  readonly problems?: readonly { readonly path: string; readonly line: number; readonly message: string }[];
}

export interface Readiness {
  /** starting: some upstream that is needed has not been tried yet. degraded: one of them does not serve. */
  readonly status: 'starting' | 'ready' | 'degraded';
  /** Whether traffic should be sent here. */
  readonly ready: boolean;
  readonly config: ConfigReport;
  /** What is shared with other replicas. */
  readonly state: StateReport;
  readonly upstreams: Readonly<Record<string, UpstreamReport>>;
  /** Calls by old lists. */
  readonly gone: GoneCalls;
}

/** Whether what replicas share can be reached; while it cannot, this one goes on alone. */
export interface StateReport extends Omit<StateHealth, 'since'> {
  /** ISO 8601. */
  readonly since: string;
}

/** How often clients called tools that were there once: they go by old lists. */
export interface GoneCalls {
  readonly calls: number;
  /** By what a client calls itself, a label; who called last comes last. */
  readonly clients: Readonly<Record<string, GoneCallsOfOne>>;
}

export interface GoneCallsOfOne {
  readonly calls: number;
  /** The tool that was called last, by the name that the client has for it, and when, ISO 8601. */
  readonly tool: string;
  readonly at: string;
}

export interface ReadinessInput {
  readonly config: ConfigReport;
  readonly shared: StateHealth;
  /** It was ready before: an upstream that is new does not make it less so. */
  readonly served: boolean;
  readonly statuses: ReadonlyMap<string, UpstreamStatus>;
  /** Whether the first attempt of an upstream has ended, or has lasted longer than a first list would wait for it. */
  readonly tried: (upstream: string) => boolean;
  /** Why its lists could not be read the last time, if they could not. */
  readonly listFault: (upstream: string) => string | undefined;
  /** Not needed for readiness, by configuration. */
  readonly optional: (upstream: string) => boolean;
  readonly catalog: Catalog;
  /** What is odd in what the upstreams say of themselves, and how it differs from what is approved. */
  readonly found: readonly { readonly upstream: string; readonly severity: string }[];
  readonly gone: GoneCalls;
}

/**
 * Ready once every upstream that is needed was tried once and at least one catalog is read; a gateway without any
 * upstream has nothing to wait for, and neither has one that single users sign in to: what becomes of that is theirs.
 */
export function readiness(input: ReadinessInput): Readiness {
  const { statuses, catalog, found, gone } = input;
  const findings = [...catalog.findings, ...found.filter(({ severity }) => severity !== 'notice')];
  const on = [...statuses].filter(([, status]) => status.state !== 'off');
  const needed = on.filter(([id]) => !input.optional(id));
  const unread = (id: string, status: UpstreamStatus) =>
    status.state === 'connected' && !status.own && !catalog.parts.has(id);
  const starting =
    input.shared.status === 'connecting' ||
    needed.some(([id, status]) => !input.tried(id) || unread(id, status));
  const isRead = (id: string) => KINDS.some((kind) => catalog.parts.get(id)?.lists[kind]);
  const read =
    on.length === 0 || on.some(([id, status]) => status.own || status.state === 'idle' || isRead(id));
  const whole =
    input.shared.status !== 'down' && needed.every(([id, status]) => WELL.has(stateOf(id, status, catalog)));
  const upstreams = Object.fromEntries(
    [...statuses].map(([id, status]) => {
      // Of one that is not connected it is known better what is wrong.
      const lastError = status.lastError ?? (status.state === 'connected' ? input.listFault(id) : undefined);
      return [id, report(id, { ...status, lastError }, catalog, countOf(findings, id))];
    }),
  );
  const state = { ...input.shared, since: new Date(input.shared.since).toISOString() };
  const status = starting ? 'starting' : whole && read ? 'ready' : 'degraded';
  return { status, ready: (!starting || input.served) && read, config: input.config, state, upstreams, gone };
}

const WELL: ReadonlySet<UpstreamState> = new Set(['ready', 'idle']);

/** Connected alone is not ready: a server whose lists were never read would look healthy and empty (case C-026). */
function stateOf(id: string, status: UpstreamStatus, catalog: Catalog): UpstreamState {
  if (status.state !== 'connected') {
    return status.state;
  }
  if (status.own) {
    return 'ready';
  }
  const part = catalog.parts.get(id);
  return part === undefined ? 'connecting' : part.stale ? 'stale' : 'ready';
}

function countOf(about: readonly { readonly upstream: string }[], id: string): number {
  return about.filter(({ upstream }) => upstream === id).length;
}

function report(id: string, status: UpstreamStatus, catalog: Catalog, findings: number): UpstreamReport {
  const lists = catalog.parts.get(id)?.lists ?? {};
  const count = (kind: Kind) => lists[kind]?.items.length ?? 0;
  const bytes = KINDS.reduce((sum, kind) => sum + sizeOf(lists[kind]?.items), 0);
  return {
    state: stateOf(id, status, catalog),
    era: status.era ?? null,
    tools: count('tools'),
    prompts: count('prompts'),
    resources: count('resources'),
    templates: count('templates'),
    withheld: countOf(catalog.withheld.entries, id),
    bytes,
    since: new Date(status.since).toISOString(),
    ...(status.lastError === undefined ? {} : { lastError: status.lastError }),
    findings,
  };
}

const sizes = new WeakMap<object, number>();

/** A list is immutable, so it is measured once. */
function sizeOf(items: readonly unknown[] | undefined): number {
  if (items === undefined) {
    return 0;
  }
  let size = sizes.get(items);
  if (size === undefined) {
    size = Buffer.byteLength(JSON.stringify(items));
    sizes.set(items, size);
  }
  return size;
}
