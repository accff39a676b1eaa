import type { UpstreamStatus } from '../upstream/state.ts';
import type { AuditCounts } from './audit-file.ts';
import type { Readings } from './exposition.ts';
import type { Readiness } from './status.ts';
import type { Traffic } from './traffic.ts';

/** What is looked at when the metrics are read. */
export interface GaugeSources {
  readonly readiness: Readiness;
  readonly statuses: ReadonlyMap<string, UpstreamStatus>;
  readonly findings: readonly { readonly id: string; readonly severity: string }[];
  readonly sessions: number;
  readonly streams: number;
  readonly listeners: number;
  readonly cacheBytes: number;
  readonly traffic: Traffic;
  readonly audit: AuditCounts | undefined;
  readonly traces: { readonly sent: number; readonly dropped: number } | undefined;
}

const STATES = ['idle', 'connecting', 'ready', 'stale', 'backoff', 'broken', 'draining', 'off'] as const;
/** States in which calls are answered. */
const USABLE: ReadonlySet<string> = new Set(['ready', 'stale', 'idle']);
const KINDS = ['tools', 'prompts', 'resources', 'templates'] as const;

/** `look` is called once each time that the metrics are read. */
export function gaugeReadings(look: () => GaugeSources): Readings {
  let seen: GaugeSources | undefined;
  const now = (): GaugeSources => {
    if (seen === undefined) {
      seen = look();
      // All are read in one turn; the next reading sees what there is then.
      queueMicrotask(() => {
        seen = undefined;
      });
    }
    return seen;
  };
  const upstreams = () => Object.entries(now().readiness.upstreams);
  return {
    patchbay_upstream_up: () => upstreams().map(([id, { state }]) => [USABLE.has(state) ? 1 : 0, id]),
    patchbay_upstream_state: () =>
      upstreams().flatMap(([id, { state }]) =>
        STATES.map((each) => [each === state ? 1 : 0, id, each] as const),
      ),
    patchbay_upstream_connects_total: () =>
      [...now().statuses].map(([id, { connects }]) => [connects, id] as const),
    patchbay_upstream_failures_total: () =>
      [...now().statuses].map(([id, { failures }]) => [failures, id] as const),
    patchbay_catalog_items: () =>
      upstreams().flatMap(([id, report]) => KINDS.map((kind) => [report[kind], id, kind] as const)),
    patchbay_catalog_bytes: () => upstreams().map(([id, { bytes }]) => [bytes, id]),
    patchbay_config_ok: () => [[now().readiness.config.status === 'ok' ? 1 : 0]],
    patchbay_findings: () => counted(now().findings),
    patchbay_sessions: () => [[now().sessions]],
    patchbay_streams: () => [[now().streams]],
    patchbay_listeners: () => [[now().listeners]],
    patchbay_cache_bytes: () => [[now().cacheBytes]],
    patchbay_client_connections: () => [[now().traffic.connections]],
    patchbay_client_connections_dropped_total: () => [[now().traffic.dropped]],
    patchbay_client_bytes_total: () => valuesOf(now().traffic.bytes),
    patchbay_state_up: () => [[now().readiness.state.status === 'ok' ? 1 : 0]],
    patchbay_state_messages_refused_total: () => valuesOf(now().readiness.state.refused),
    patchbay_audit_lines_total: () => valuesOf(now().audit),
    patchbay_trace_spans_total: () => valuesOf(now().traces),
  };
}

function counted(findings: GaugeSources['findings']): readonly (readonly [number, string, string])[] {
  const counts = new Map<string, { count: number; readonly id: string; readonly severity: string }>();
  for (const { id, severity } of findings) {
    const known = counts.get(`${id} ${severity}`) ?? { count: 0, id, severity };
    known.count += 1;
    counts.set(`${id} ${severity}`, known);
  }
  return [...counts.values()].map(({ count, id, severity }) => [count, id, severity]);
}

function valuesOf(counts: object | undefined): readonly (readonly [number, string])[] {
  return Object.entries(counts ?? {}).map(([name, value]) => [Number(value), name]);
}
