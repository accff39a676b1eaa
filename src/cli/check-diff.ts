import { isObject } from '../base/json.ts';
import type { Entry } from '../catalog/entry.ts';
import { diffLines } from '../config/diff.ts';
import {
  compareFingerprints,
  type Fingerprint,
  type FingerprintDiff,
  fingerprint,
  isFingerprint,
} from '../config/fingerprint.ts';
import { existingKey } from '../config/sealing-key.ts';
import type { Settings } from '../config/settings.ts';
import type { Gateway } from '../gateway.ts';
import { type Item, KINDS, type Kind } from '../protocol/model.ts';
import { PINNED, type PinnedKind, same } from '../vetting/definition.ts';
import { type Difference, growth } from '../vetting/growth.ts';
import type { Io } from './io.ts';
import { askRunning, type RunningOptions, type Untold } from './running.ts';
import { counted, oneLine } from './text.ts';

/** What a running gateway said of itself. */
export interface Running {
  readonly config: Fingerprint;
  readonly items: readonly RunningItem[];
}

interface RunningItem {
  readonly kind: Kind;
  readonly upstream: string;
  readonly original: string;
  readonly names: Entry['exposed'];
  readonly definition: Item;
}

/** How what was read here differs from what a running gateway has. */
export interface RunningDiff extends FingerprintDiff {
  readonly catalog: {
    readonly appears: readonly ItemNamed[];
    readonly vanishes: readonly ItemNamed[];
    readonly changes: readonly ItemChange[];
    /** Upstreams that could not be read here: nothing is said of their items. */
    readonly unread: readonly string[];
  };
}

interface ItemNamed {
  readonly kind: Kind;
  readonly upstream: string;
  readonly original: string;
  /** What clients call it. */
  readonly name: string;
}

export interface ItemChange extends ItemNamed {
  /** broken: whoever relies on it may not be served as before. */
  readonly growth: 'grown' | 'broken';
  /** The name that it has in the running gateway, where that is another one. */
  readonly before?: string;
  readonly differences: readonly Difference[];
}

/** Asks a running gateway what it runs by and what it offers. In words why that is not known. */
export async function readRunning(options: RunningOptions, io: Io): Promise<Running | Untold> {
  const config = await askRunning('config', {}, options, io);
  if ('wrong' in config) {
    return config;
  }
  if (!isFingerprint(config.value)) {
    return { wrong: 'the gateway there is of a release that this one cannot compare with' };
  }
  const items: RunningItem[] = [];
  for (let from = 0; ; from = items.length) {
    const page = await askRunning('catalog', { from: String(from) }, options, io);
    if ('wrong' in page) {
      return page;
    }
    const read = itemsIn(page.value);
    items.push(...read);
    if (read.length === 0) {
      return { config: config.value, items };
    }
  }
}

function itemsIn(value: unknown): readonly RunningItem[] {
  const items: readonly unknown[] = isObject(value) && Array.isArray(value['items']) ? value['items'] : [];
  return items.filter(isRunningItem);
}

function isRunningItem(value: unknown): value is RunningItem {
  return (
    isObject(value) &&
    KINDS.includes(value['kind'] as Kind) &&
    typeof value['upstream'] === 'string' &&
    typeof value['original'] === 'string' &&
    isObject(value['names']) &&
    isObject(value['definition'])
  );
}

/** What would be another one in the running gateway, by the configuration and by what its upstreams offer right now. */
export async function differenceTo(
  running: Running,
  settings: Settings,
  gateway: Pick<Gateway, 'store' | 'fleet'>,
): Promise<RunningDiff> {
  const key = await existingKey(settings);
  const mine = fingerprint(settings, key ?? Buffer.alloc(0));
  const diff = compareFingerprints(running.config, mine);
  return { ...diff, catalog: catalogDifference(running, settings, gateway) };
}

function catalogDifference(
  { items }: Running,
  { naming }: Settings,
  { store, fleet }: Pick<Gateway, 'store' | 'fleet'>,
): RunningDiff['catalog'] {
  const { parts, entries, withheld } = store.current;
  const unread = fleet.ids.filter((id) => parts.get(id)?.stale !== false);
  const here = [...KINDS.flatMap((kind) => entries[kind]), ...withheld.entries];
  const old = new Map(items.map((item) => [identity(item), item]));
  const now = new Map(here.map((entry) => [identity(entry), entry]));
  const named = ({ kind, upstream, original }: RunningItem | Entry, names: Entry['exposed']): ItemNamed => ({
    kind,
    upstream,
    original,
    name: names[naming.style],
  });
  return {
    appears: here.filter((entry) => !old.has(identity(entry))).map((entry) => named(entry, entry.exposed)),
    vanishes: items
      .filter((item) => !now.has(identity(item)) && !unread.includes(item.upstream))
      .map((item) => named(item, item.names)),
    changes: here.flatMap((entry) => {
      const before = old.get(identity(entry));
      const change = before && changeOf(before, entry, naming.style);
      return change === undefined ? [] : [{ ...named(entry, entry.exposed), ...change }];
    }),
    unread,
  };
}

function identity({ kind, upstream, original }: RunningItem | Entry): string {
  return JSON.stringify([kind, upstream, original]);
}

/** A name that is another one breaks whoever calls it by the old one; resources are read anew by whoever needs them. */
function changeOf(
  { kind, names, definition }: RunningItem,
  entry: Entry,
  style: 'dotted' | 'strict',
): Pick<ItemChange, 'growth' | 'before' | 'differences'> | undefined {
  const differences = isPinned(kind)
    ? growth(kind, definition, entry.item)
    : same(definition, entry.item)
      ? []
      : [{ growth: 'grown', place: '', says: 'it is described otherwise' } as const];
  const isRenamed = names[style] !== entry.exposed[style];
  if (differences.length === 0 && !isRenamed) {
    return undefined;
  }
  const isBroken = isRenamed || differences.some((each) => each.growth === 'broken');
  return {
    growth: isBroken ? 'broken' : 'grown',
    ...(isRenamed ? { before: names[style] } : {}),
    differences,
  };
}

function isPinned(kind: Kind): kind is PinnedKind {
  return PINNED.some((each) => each === kind);
}

/** Whether somebody who relies on what the gateway offers now could be let down. */
export function breaks({ catalog: { vanishes, changes } }: RunningDiff): number {
  return vanishes.length + changes.filter((each) => each.growth === 'broken').length;
}

const MOST_TOLD = 20;

/** For people: what a reload would do to the running gateway, and what its clients would notice. */
export function runningLines(diff: RunningDiff): readonly string[] {
  const { catalog, uncompared } = diff;
  const list = (sign: string, items: readonly ItemNamed[]) => [
    ...items.slice(0, MOST_TOLD).map(({ kind, name }) => `  ${sign} ${kind}: ${oneLine(name)}`),
    ...(items.length > MOST_TOLD ? [`  ${sign} and ${items.length - MOST_TOLD} more`] : []),
  ];
  const changes = catalog.changes.slice(0, MOST_TOLD).map((change) => `  ~ ${toldChange(change)}`);
  const more = catalog.changes.length - changes.length;
  const lines = [
    ...diffLines(diff).map((line) => `  ${line}`),
    ...list('+', catalog.appears),
    ...list('-', catalog.vanishes),
    ...changes,
    ...(more > 0 ? [`  ~ and ${more} more`] : []),
  ];
  return [
    'The running gateway',
    ...(lines.length === 0 ? ['  nothing would change'] : lines),
    ...(uncompared.length === 0
      ? []
      : [
          `  not compared, for want of its sealing key: ${counted(uncompared.length, 'keys')} (--json names them)`,
        ]),
    ...(catalog.unread.length === 0
      ? []
      : [`  not read here, so not compared: ${catalog.unread.join(', ')}`]),
    '',
  ];
}

function toldChange({ kind, name, growth: how, before, differences }: ItemChange): string {
  const renamed = before === undefined ? [] : [`it is called ${before} now`];
  const told = [...renamed, ...differences.slice(0, 3).map(({ place, says }) => `${place} ${says}`)];
  return oneLine(`${kind}: ${name} (${how}): ${told.join('; ')}`);
}
