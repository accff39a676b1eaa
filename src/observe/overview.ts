import type { Catalog } from '../catalog/snapshot.ts';
import type { Settings } from '../config/settings.ts';
import { KINDS, type Kind } from '../protocol/model.ts';
import type { UpstreamStatus } from '../upstream/state.ts';
import type { Readiness, UpstreamReport } from './status.ts';

/** What `/api/status` answers; docs/api.md has its shape. */
export interface Overview<F> extends Omit<Readiness, 'upstreams'> {
  readonly name: string;
  /** Of this software. */
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly uptimeMs: number;
  readonly upstreams: Readonly<Record<string, UpstreamOverview>>;
  readonly catalog: Readonly<Record<Kind | 'withheld', number>> & {
    /** Another one means that clients can see something that is another one. */
    readonly revision: string;
  };
  readonly clients: ClientCounts;
  readonly auth: Settings['auth']['mode'];
  /** How many access rules there are. */
  readonly rules: number;
  /** By name; `default` is what `/mcp` serves. */
  readonly views: Readonly<Record<string, Pick<Settings['views'][string], 'include' | 'exclude' | 'naming'>>>;
  /** The first of them, the gravest first, and how many there are in all. */
  readonly findings: { readonly total: number; readonly items: readonly F[] };
}

export interface UpstreamOverview extends UpstreamReport {
  readonly kind: 'stdio' | 'http';
  readonly optional: boolean;
  readonly isolation: Settings['upstreams'][string]['isolation'];
  /** How often it was reached again after the first time. */
  readonly reconnects: number;
  /** How many attempts to reach it have failed. */
  readonly failures: number;
}

/** What clients have open right now. */
export interface ClientCounts {
  readonly sessions: number;
  readonly streams: number;
  /** Whoever is told of changed lists. */
  readonly listeners: number;
  /** Calls that wait for an answer of their user. */
  readonly parkedCalls: number;
}

export interface OverviewInput<F> {
  readonly readiness: Readiness;
  readonly settings: Settings;
  readonly statuses: ReadonlyMap<string, UpstreamStatus>;
  readonly catalog: Catalog;
  readonly clients: ClientCounts;
  readonly findings: readonly F[];
  readonly version: string;
  /** ms since the epoch. */
  readonly startedAt: number;
}

/** Most findings that are told: a server may have thousands. */
const MOST_FINDINGS = 500;

const GRAVEST = ['error', 'warning', 'notice'] as const;

/** Everything that operators are told of a running gateway. Names, states and numbers; no value that may be a secret. */
export function overview<F extends { readonly severity: (typeof GRAVEST)[number] }>(
  input: OverviewInput<F>,
): Overview<F> {
  const { readiness, settings, statuses, catalog, clients, findings, startedAt } = input;
  const upstreams = Object.entries(readiness.upstreams).flatMap(([id, report]) => {
    const configured = settings.upstreams[id];
    const { connects = 0, failures = 0 } = statuses.get(id) ?? {};
    const { kind, optional, isolation } = configured ?? {
      kind: 'http',
      optional: false,
      isolation: 'shared',
    };
    return [[id, { ...report, kind, optional, isolation, reconnects: Math.max(0, connects - 1), failures }]];
  });
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, catalog.entries[kind].length]));
  const views = Object.entries(settings.views).map(([name, { include, exclude, naming }]) => [
    name,
    { include, exclude, naming },
  ]);
  return {
    name: settings.name,
    version: input.version,
    startedAt: new Date(startedAt).toISOString(),
    uptimeMs: Date.now() - startedAt,
    ...readiness,
    upstreams: Object.fromEntries(upstreams),
    catalog: {
      revision: catalog.revision,
      ...(counts as Record<Kind, number>),
      withheld: catalog.withheld.entries.length,
    },
    clients,
    auth: settings.auth.mode,
    rules: settings.access.length,
    views: Object.fromEntries(views),
    findings: {
      total: findings.length,
      items: findings
        .toSorted((one, other) => GRAVEST.indexOf(one.severity) - GRAVEST.indexOf(other.severity))
        .slice(0, MOST_FINDINGS),
    },
  };
}
