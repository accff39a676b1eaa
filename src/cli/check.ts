import { diffLines } from '../config/diff.ts';
import { loadSettings } from '../config/load.ts';
import { ConfigError } from '../config/problems.ts';
import type { Settings } from '../config/settings.ts';
import { KINDS } from '../protocol/model.ts';
import { several } from '../vetting/finding.ts';
import type { Severity } from '../vetting/finding-table.ts';
import { strictestOf } from '../vetting/quarantine.ts';
import { breaks, differenceTo, readRunning, runningLines } from './check-diff.ts';
import { hintLines } from './check-hints.ts';
import {
  type Changes,
  type CheckedUpstream,
  type CheckReport,
  changesFrom,
  checkReport,
  failures,
  type Offers,
} from './check-report.ts';
import { whileConnected } from './connected.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { lockOf } from './lock-file.ts';
import { type GlobalOptions, openGateway, overridesOf } from './open.ts';
import { codeOf } from './running.ts';
import { counted, oneLine, table } from './text.ts';
import { tokenLines, tokenReport } from './tokens.ts';
import type { AnyFinding } from './vetted.ts';

export interface CheckOptions extends GlobalOptions {
  readonly json?: boolean;
  readonly strictNames?: boolean;
  /** The configuration that a running gateway was started with. */
  readonly against?: string;
  /** URL of a running gateway to compare with, and the variable that holds what to sign in with there. */
  readonly diff?: string;
  readonly tokenEnv?: string;
  /** The least grave findings that make it fail. */
  readonly failOn?: 'warning' | 'error';
  /** Print every notice, instead of how many there are. */
  readonly notices?: boolean;
  /** Print what every tool says of itself. */
  readonly hints?: boolean;
  /** Count what definitions of tools cost a model. */
  readonly tokens?: boolean;
}

/**
 * `check`: loads the configuration, connects to every upstream without a port, and prints what it found. Exit
 * code 1 where an upstream that is needed is not ready, a finding is as grave as `failOn` says, a reload would be refused, or
 * a gateway to compare with cannot be asked; 2 where a configuration is wrong, or the gateway cannot be asked so.
 */
export async function check(options: CheckOptions, io: Io): Promise<ExitCode> {
  try {
    const { gateway, settings } = await openGateway(options, io, 'throwaway');
    const changes = await changesOf(options, settings, io);
    const { diff, failOn = 'error' } = options;
    const running = diff === undefined ? undefined : await readRunning({ ...options, url: diff }, io);
    if (running !== undefined && 'wrong' in running) {
      io.err(`error: ${running.wrong}\n`);
      await gateway.close();
      return codeOf(running);
    }
    return await whileConnected(gateway, io, async () => {
      const report = checkReport(gateway, {
        failOn,
        lock: lockOf(options.config),
        onChange: strictestOf(settings),
        changes,
        running: running && (await differenceTo(running, settings, gateway)),
      });
      const tokens = options.tokens === true ? await tokenReport(gateway, settings) : undefined;
      const whole = tokens === undefined ? report : { ...report, tokens };
      io.out(options.json ? asJson(whole) : asText(whole, options, settings));
      return report.ok ? EXIT.ok : EXIT.failed;
    });
  } catch (thrown) {
    if (thrown instanceof ConfigError && options.json) {
      io.out(asJson({ ok: false, problems: thrown.problems }));
    }
    throw thrown;
  }
}

async function changesOf(
  options: CheckOptions,
  settings: Settings,
  { env }: Io,
): Promise<Changes | undefined> {
  if (options.against === undefined) {
    return undefined;
  }
  const running = await loadSettings(options.against, { env, overrides: overridesOf(options) });
  return changesFrom(running.settings, settings);
}

function asJson(report: CheckReport | (Pick<ConfigError, 'problems'> & { readonly ok: false })): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}

function asText(report: CheckReport, options: CheckOptions, settings: Settings): string {
  const { strictNames = false, notices = false, failOn = 'error' } = options;
  const { style } = settings.naming;
  const offers = Object.entries(report.catalog).map(([id, each]) => [
    id,
    ...offerLines(each, strictNames ? ['dotted', 'strict'] : [style]),
    '',
  ]);
  const lines = [
    counted(Object.keys(report.upstreams).length, 'upstreams'),
    ...table(Object.entries(report.upstreams).map(upstreamRow), '  '),
    '',
    ...offers.flat(),
    ...(options.hints === true ? hintLines(report.hints) : []),
    ...(report.tokens === undefined ? [] : tokenLines(report.tokens)),
    ...findingLines(report, notices),
    ...changeLines(report),
    ...(report.running === undefined ? [] : runningLines(report.running)),
    verdict(report, failOn),
  ];
  return `${lines.join('\n')}\n`;
}

function upstreamRow([id, upstream]: readonly [string, CheckedUpstream]): readonly string[] {
  const { state, era, why, optional, withheld } = upstream;
  const offers = KINDS.map((kind) => counted(upstream[kind], kind)).join(', ');
  const waiting = state === 'idle' ? 'each user signs in to it' : '';
  const held = withheld === 0 ? '' : `, ${withheld} waiting for approval`;
  const about = state === 'ready' || state === 'stale' ? `${offers} (${era})${held}` : waiting;
  return [id, optional ? `${state}, optional` : state, [about, why ?? ''].filter(Boolean).join('  ')];
}

function offerLines(offers: Offers, styles: readonly ('dotted' | 'strict')[]): readonly string[] {
  return KINDS.filter((kind) => offers[kind].length > 0).flatMap((kind) => {
    const named = kind === 'tools' || kind === 'prompts' ? styles : (['dotted'] as const);
    const rows = offers[kind].map((offer) => named.map((style) => offer[style]));
    return [`  ${counted(rows.length, kind)}`, ...table(rows, '    ')];
  });
}

/** Findings of one kind about one server are told with the first few; all of them are in the JSON. */
const MOST_ALIKE = 3;

function findingLines({ findings }: CheckReport, notices: boolean): readonly string[] {
  if (findings.length === 0) {
    return [];
  }
  const shown = findings.filter(({ severity }) => notices || severity !== 'notice');
  const groups = new Map<string, AnyFinding[]>();
  for (const each of shown) {
    const key = JSON.stringify([each.severity, each.upstream, each.id]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  const lines = [...groups.values()].flatMap((alike) => [
    ...alike.slice(0, MOST_ALIKE).flatMap(oneFinding),
    ...moreAlike(alike),
  ]);
  const quiet = findings.length - shown.length;
  const rest =
    quiet === 0 ? [] : [`  ${counted(quiet, 'notices')}: --notices shows ${quiet === 1 ? 'it' : 'them'}`];
  return [counted(findings.length, 'findings'), ...lines, ...rest, ''];
}

function oneFinding(each: AnyFinding): readonly string[] {
  const { severity, id, upstream, kind, item, reason, advice } = each;
  const place = 'place' in each && each.place !== '' ? ` ${each.place}` : '';
  const about = [upstream, kind, item].filter((part) => part !== '').join(', ');
  return [`  ${oneLine(`${severity}: ${about}${place} (${id})`)}`, `    ${oneLine(`${reason} ${advice}`)}`];
}

function moreAlike(alike: readonly AnyFinding[]): readonly string[] {
  const [first] = alike;
  const more = alike.slice(MOST_ALIKE).map(({ item }) => item);
  return first === undefined || more.length === 0
    ? []
    : [
        `  ${first.severity}: ${oneLine(`${first.upstream}, ${first.kind}, ${several(more)}`)} (${first.id} too)`,
      ];
}

function changeLines({ changes }: CheckReport): readonly string[] {
  if (changes === undefined) {
    return [];
  }
  const { refused, ...diff } = changes;
  const lines = diffLines(diff);
  return [
    'A reload',
    ...(lines.length === 0 ? ['  nothing would change'] : lines.map((line) => `  ${line}`)),
    ...refused.map((reason) => `  would be refused: ${reason}`),
    '',
  ];
}

/** The last line: whether all is well, and if not, why. */
function verdict(report: CheckReport, failOn: Severity): string {
  const { ok, upstreams, changes } = report;
  if (ok) {
    return 'Result: ok';
  }
  const missing = Object.entries(upstreams)
    .filter(([, { why, optional }]) => why !== undefined && !optional)
    .map(([id]) => `${id} is not ready`);
  const grave = failures(report, failOn);
  const wrong = (['error', 'warning'] as const).flatMap((severity) => {
    const count = grave.filter((each) => each.severity === severity).length;
    return count === 0 ? [] : [`${counted(count, `${severity}s`)} in what the servers offer`];
  });
  const broken = failOn === 'warning' && report.running !== undefined ? breaks(report.running) : 0;
  const lost = broken === 0 ? [] : [`${counted(broken, 'items')} would break or vanish for clients`];
  const refused = changes === undefined || changes.refused.length === 0 ? [] : ['a reload would be refused'];
  return `Result: failed: ${[...missing, ...wrong, ...lost, ...refused].join(', ')}`;
}
