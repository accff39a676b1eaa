import type { Entry } from '../catalog/snapshot.ts';
import { diffSettings, runnable, type SettingsDiff } from '../config/diff.ts';
import { ConfigError } from '../config/problems.ts';
import type { Settings } from '../config/settings.ts';
import type { Gateway } from '../gateway.ts';
import type { UpstreamReport } from '../observe/status.ts';
import type { Kind } from '../protocol/model.ts';
import { SEVERITIES, type Severity } from '../vetting/finding-table.ts';
import type { LockState } from '../vetting/lock.ts';
import type { OnChange } from '../vetting/quarantine.ts';
import { breaks, type RunningDiff } from './check-diff.ts';
import { type HintTable, hintTable } from './check-hints.ts';
import { troublesOf } from './reach.ts';
import type { TokenReport } from './tokens.ts';
import { type AnyFinding, vetted } from './vetted.ts';

/** What `check` found out, as `--json` prints it. */
export interface CheckReport {
  /** Every upstream that is needed is ready, no finding is as grave as those to fail on, and a reload would be taken. */
  readonly ok: boolean;
  readonly upstreams: Readonly<Record<string, CheckedUpstream>>;
  /** By upstream, in config order; those that offer nothing now are left out. */
  readonly catalog: Readonly<Record<string, Offers>>;
  /** The gravest first. */
  readonly findings: readonly AnyFinding[];
  /** What every tool says of itself. */
  readonly hints: HintTable;
  /** What definitions of tools cost, where that was asked for. */
  readonly tokens?: TokenReport;
  /** What a reload would change, where it was asked for. */
  readonly changes?: Changes;
  /** What would be another one in a gateway that runs, where one was asked. */
  readonly running?: RunningDiff;
}

export interface Changes extends SettingsDiff {
  /** Why a running gateway could not take it; empty where it could. */
  readonly refused: readonly string[];
}

export interface CheckedUpstream extends UpstreamReport {
  readonly optional: boolean;
  /** What is wrong with it. */
  readonly why?: string;
}

export type Offers = Readonly<Record<Kind, readonly OfferedName[]>>;

/** What one item is called: in both styles, and by its upstream. Resources and templates have one URI in both styles. */
export interface OfferedName {
  readonly dotted: string;
  readonly strict: string;
  readonly original: string;
}

/** What these settings change for a gateway that runs by others. */
export function changesFrom(running: Settings, settings: Settings): Changes {
  const diff = diffSettings(running, settings);
  try {
    runnable(running, settings);
    return { ...diff, refused: [] };
  } catch (thrown) {
    if (thrown instanceof ConfigError) {
      return { ...diff, refused: thrown.problems.map(({ path, message }) => `${path}: ${message}`) };
    }
    throw thrown;
  }
}

/** What a report goes by besides the gateway itself. */
export interface CheckedBy {
  /** The least grave findings that are failures. */
  readonly failOn: Exclude<Severity, 'notice'>;
  readonly lock: LockState;
  /** What the configuration does about what is not approved. */
  readonly onChange: OnChange;
  readonly changes: Changes | undefined;
  readonly running: RunningDiff | undefined;
}

function isAtLeast(severity: Severity, least: Severity): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(least);
}

/** The findings that make a check fail. */
export function failures({ findings }: CheckReport, failOn: Severity): readonly AnyFinding[] {
  return findings.filter(({ severity }) => isAtLeast(severity, failOn));
}

/** The state of a gateway whose upstreams were tried. */
export function checkReport(
  gateway: Gateway,
  { failOn, changes, running, ...approvals }: CheckedBy,
): CheckReport {
  const catalog = gateway.store.current;
  const troubles = new Map(troublesOf(gateway).map((trouble) => [trouble.upstream, trouble]));
  const upstreams = Object.entries(gateway.readiness().upstreams).map(([id, report]) => {
    const why = troubles.get(id)?.why;
    const { optional } = gateway.fleet.settings(id);
    return [id, { ...report, optional, ...(why === undefined ? {} : { why }) }] as const;
  });
  const offers = [...catalog.parts.keys()].map((id) => [id, offersOf(id, catalog.entries)] as const);
  const findings = [...catalog.findings, ...vetted(gateway, approvals)].toSorted(
    (one, other) => SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity),
  );
  return {
    ok:
      [...troubles.values()].every(({ optional }) => optional) &&
      !findings.some(({ severity }) => isAtLeast(severity, failOn)) &&
      (changes?.refused.length ?? 0) === 0 &&
      (failOn !== 'warning' || running === undefined || breaks(running) === 0),
    upstreams: Object.fromEntries(upstreams),
    catalog: Object.fromEntries(offers),
    findings,
    hints: hintTable(catalog, findings),
    ...(changes === undefined ? {} : { changes }),
    ...(running === undefined ? {} : { running }),
  };
}

function offersOf(upstream: string, entries: Readonly<Record<Kind, readonly Entry[]>>): Offers {
  const names = (kind: Kind): readonly OfferedName[] =>
    entries[kind]
      .filter((entry) => entry.upstream === upstream)
      .map(({ exposed, original }) => ({ dotted: exposed.dotted, strict: exposed.strict, original }));
  return {
    tools: names('tools'),
    prompts: names('prompts'),
    resources: names('resources'),
    templates: names('templates'),
  };
}
