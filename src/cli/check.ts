import { diffLines } from '../config/diff.ts';
import { loadSettings } from '../config/load.ts';
import { ConfigError } from '../config/problems.ts';
import type { Settings } from '../config/settings.ts';
import { KINDS } from '../protocol/model.ts';
import {
  type Changes,
  type CheckedUpstream,
  type CheckReport,
  changesFrom,
  checkReport,
  type Offers,
} from './check-report.ts';
import { whileConnected } from './connected.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { type GlobalOptions, openGateway, overridesOf } from './open.ts';
import { counted, oneLine, table } from './text.ts';

export interface CheckOptions extends GlobalOptions {
  readonly json?: boolean;
  readonly strictNames?: boolean;
  /** The configuration that a running gateway was started with. */
  readonly against?: string;
}

/**
 * `check`: loads the configuration, connects to every upstream without a port, and prints what it found. Exit
 * code 1 where an upstream that is needed is not ready, a finding is an error, or a reload would be refused; 2 where a
 * configuration is wrong.
 */
export async function check(options: CheckOptions, io: Io): Promise<ExitCode> {
  try {
    const { gateway, settings } = await openGateway(options, io, 'throwaway');
    const changes = await changesOf(options, settings, io);
    return await whileConnected(gateway, io, () => {
      const report = checkReport(gateway, changes);
      io.out(options.json ? asJson(report) : asText(report, options, settings));
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

function asText(report: CheckReport, { strictNames = false }: CheckOptions, settings: Settings): string {
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
    ...findingLines(report),
    ...changeLines(report),
    verdict(report),
  ];
  return `${lines.join('\n')}\n`;
}

function upstreamRow([id, upstream]: readonly [string, CheckedUpstream]): readonly string[] {
  const { state, era, why, optional } = upstream;
  const offers = KINDS.map((kind) => counted(upstream[kind], kind)).join(', ');
  const waiting = state === 'idle' ? 'each user signs in to it' : '';
  const about = state === 'ready' || state === 'stale' ? `${offers} (${era})` : waiting;
  return [id, optional ? `${state}, optional` : state, [about, why ?? ''].filter(Boolean).join('  ')];
}

function offerLines(offers: Offers, styles: readonly ('dotted' | 'strict')[]): readonly string[] {
  return KINDS.filter((kind) => offers[kind].length > 0).flatMap((kind) => {
    const named = kind === 'tools' || kind === 'prompts' ? styles : (['dotted'] as const);
    const rows = offers[kind].map((offer) => named.map((style) => offer[style]));
    return [`  ${counted(rows.length, kind)}`, ...table(rows, '    ')];
  });
}

function findingLines({ findings }: CheckReport): readonly string[] {
  if (findings.length === 0) {
    return [];
  }
  const lines = findings.flatMap(({ severity, id, upstream, kind, item, reason, advice }) => [
    `  ${oneLine(`${severity}: ${upstream}, ${kind}${item === '' ? '' : `, ${item}`} (${id})`)}`,
    `    ${oneLine(`${reason} ${advice}`)}`,
  ]);
  return [counted(findings.length, 'findings'), ...lines, ''];
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
function verdict({ ok, upstreams, findings, changes }: CheckReport): string {
  if (ok) {
    return 'Result: ok';
  }
  const missing = Object.entries(upstreams)
    .filter(([, { why, optional }]) => why !== undefined && !optional)
    .map(([id]) => `${id} is not ready`);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const wrong = errors === 0 ? [] : [`${counted(errors, 'errors')} in what the servers offer`];
  const refused = changes === undefined || changes.refused.length === 0 ? [] : ['a reload would be refused'];
  return `Result: failed: ${[...missing, ...wrong, ...refused].join(', ')}`;
}
