import { wildcard } from '../base/wildcard.ts';
import type { Gateway } from '../gateway.ts';
import { PINNED } from '../vetting/definition.ts';
import type { Offered, VettingFinding } from '../vetting/finding.ts';
import { approved, INSTRUCTIONS, type ItemName, type Lock } from '../vetting/lock.ts';
import { asSaid } from '../vetting/offered.ts';
import { itemKey, type PinChange, pinChanges, pinFindings } from '../vetting/pins.ts';
import { whileConnected } from './connected.ts';
import { EXIT, type ExitCode, type Io, systemCode } from './io.ts';
import { lockOf, lockPath, writeLock } from './lock-file.ts';
import { type GlobalOptions, openGateway } from './open.ts';
import { troubleLine, troublesOf } from './reach.ts';
import { counted, oneLine } from './text.ts';
import { instructionsOf } from './vetted.ts';

export interface PinOptions extends GlobalOptions {
  readonly json?: boolean;
  /** Patterns of names, as rules have them. */
  readonly approve?: readonly string[];
}

/** What `pin` did and what is left to look at, as `--json` prints it. */
interface PinReport {
  /** Nothing differs from what is approved, and every server that is needed could be asked. */
  readonly ok: boolean;
  readonly file: string;
  readonly written: boolean;
  /** What is approved now, by server. */
  readonly pinned: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** What `--approve` granted; a first file has everything. */
  readonly approved: readonly PinChange[];
  /** Differences that nobody has approved. */
  readonly changes: readonly PinChange[];
  /** The same in words. */
  readonly findings: readonly VettingFinding[];
  /** Servers that could not be asked, or whose lists are each user's own: what was approved of them stays. */
  readonly unread: readonly string[];
}

/**
 * `pin`: writes the lock file where there is none. Where there is one it says what differs, and writes what `--approve`
 * names. Exit code 1 where something is left that nobody has approved, a server that is needed could not be asked, or the
 * lock file cannot be read or written; 2 where `--approve` names nothing.
 */
export async function pin(options: PinOptions, io: Io): Promise<ExitCode> {
  const state = lockOf(options.config);
  if (state !== undefined && 'fault' in state) {
    io.err(
      `${lockPath(options.config)} cannot be used: ${state.fault}. Take it back, or delete it and pin anew.\n`,
    );
    return EXIT.failed;
  }
  const { gateway } = await openGateway(options, io, 'throwaway');
  return await whileConnected(gateway, io, async () => {
    const offers = [...gateway.store.current.parts.values()].map((part) =>
      asSaid(part, instructionsOf(gateway, part.upstream)),
    );
    const before = state?.lock ?? new Map();
    const changes = pinChanges(before, offers);
    const approves = approvalOf(options.approve, state === undefined);
    const strangers = strangersIn(options.approve ?? [], before, offers);
    if (strangers.length > 0) {
      io.err(
        `Nothing is called ${strangers.join(' or ')}. Names are <server>.<name>, with * and ? as in rules.\n`,
      );
      return EXIT.usage;
    }
    const granted = changes.filter((change) => isGranted(change, approves));
    const names = new Set(
      granted.flatMap(({ to, ...item }) => [itemKey(item), itemKey({ ...item, name: to ?? item.name })]),
    );
    const lock = approved(before, offers, (item) => state === undefined || names.has(itemKey(item)));
    const isWritten = state === undefined || granted.length > 0;
    const refused = isWritten ? await written(options.config, lock) : undefined;
    if (refused !== undefined) {
      io.err(`${lockPath(options.config)} cannot be written (${refused}).\n`);
      return EXIT.failed;
    }
    const troubles = troublesOf(gateway);
    const left = pinChanges(lock, offers);
    const report: PinReport = {
      ok: left.length === 0 && troubles.every(({ optional }) => optional),
      file: lockPath(options.config),
      written: isWritten,
      pinned: countsOf(lock),
      approved: state === undefined ? [] : granted,
      changes: left,
      findings: pinFindings(left, lock),
      unread: [...troubles.map(({ upstream }) => upstream), ...ownListsOf(gateway)],
    };
    io.out(options.json ? `${JSON.stringify(report, null, 2)}\n` : asText(report, gateway));
    return report.ok ? EXIT.ok : EXIT.failed;
  });
}

/** Undefined where it was written, else what the system has against it. */
async function written(config: string, lock: Lock): Promise<string | undefined> {
  try {
    await writeLock(config, lock);
    return undefined;
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code === undefined) {
      throw thrown;
    }
    return code;
  }
}

type Approves = (item: ItemName) => boolean;

/** A first file approves all there is; later, what is named. */
function approvalOf(patterns: readonly string[] = [], isFirst: boolean): Approves {
  if (isFirst) {
    return () => true;
  }
  const tests = patterns.map(wildcard);
  return (item) => tests.some((test) => test(textOf(item)));
}

/** What an item is called in `--approve`. */
function textOf({ upstream, name }: ItemName): string {
  return `${upstream}.${name}`;
}

/** Servers that single users sign in to: everything else that waits to be needed was woken. */
function ownListsOf(gateway: Gateway): readonly string[] {
  const { upstreams } = gateway.readiness();
  return Object.keys(upstreams).filter((id) => upstreams[id]?.state === 'idle');
}

/** A rename is approved by either name: the one without the other would be a removal, or something new. */
function isGranted({ to, ...item }: PinChange, approves: Approves): boolean {
  return approves(item) || (to !== undefined && approves({ ...item, name: to }));
}

/** Patterns that fit nothing that is approved or offered. */
function strangersIn(patterns: readonly string[], lock: Lock, offers: readonly Offered[]): readonly string[] {
  const names = new Set([...namesIn(lock), ...namesIn(approved(new Map(), offers, () => true))]);
  return patterns.filter((pattern) => {
    const test = wildcard(pattern);
    return ![...names].some(test);
  });
}

function namesIn(lock: Lock): readonly string[] {
  return [...lock].flatMap(([upstream, kinds]) => [
    ...(kinds.instructions === undefined ? [] : [textOf({ upstream, kind: 'server', name: INSTRUCTIONS })]),
    ...PINNED.flatMap((kind) =>
      [...(kinds[kind]?.keys() ?? [])].map((name) => textOf({ upstream, kind, name })),
    ),
  ]);
}

function countsOf(lock: Lock): PinReport['pinned'] {
  const entries = [...lock].map(([upstream, kinds]) => [
    upstream,
    Object.fromEntries(PINNED.map((kind) => [kind, kinds[kind]?.size ?? 0])),
  ]);
  return Object.fromEntries(entries);
}

function asText(report: PinReport, gateway: Gateway): string {
  const { file, written, approved: granted, changes, findings, ok } = report;
  const lines = [
    ...(written ? [`Written: ${file}`] : []),
    ...Object.entries(report.pinned).map(
      ([id, counts]) => `  ${id}: ${PINNED.map((kind) => counted(counts[kind] ?? 0, kind)).join(', ')}`,
    ),
    ...granted.map((change) => `Approved: ${oneLine(`${textOf(change)} (${change.id})`)}`),
    ...findings.flatMap(({ severity, id, upstream, kind, item, reason }) => [
      oneLine(`${severity}: ${[upstream, kind, item].filter((part) => part !== '').join(', ')} (${id})`),
      `  ${oneLine(reason)}`,
    ]),
    ...troublesOf(gateway).map(troubleLine),
    ...ownListsOf(gateway).map((id) => `${id} is not pinned: its lists are each user's own`),
    '',
    ok
      ? 'Result: everything is as approved'
      : changes.length > 0
        ? `Result: ${counted(changes.length, 'differences')} to approve, for instance: patchbay pin --approve '${oneLine(textOf(changes[0] ?? NOTHING))}'`
        : 'Result: failed: not every server could be asked',
  ];
  return `${lines.join('\n')}\n`;
}

const NOTHING: ItemName = { upstream: '', kind: 'tools', name: '' };
