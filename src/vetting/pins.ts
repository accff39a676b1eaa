import type { Item } from '../protocol/model.ts';
import { digestOf, PINNED, type PinnedKind, salient } from './definition.ts';
import { finding, type Offered, quoted, several, type VettingFinding } from './finding.ts';
import { type Difference, growth, textChange } from './growth.ts';
import {
  INSTRUCTIONS,
  type ItemName,
  isPinned,
  type Lock,
  type LockState,
  nameIn,
  type Pin,
  type Pins,
} from './lock.ts';

/** How one item differs from what was approved. */
export interface PinChange extends ItemName {
  readonly id: 'pin.new' | 'pin.grown' | 'pin.broken' | 'pin.renamed' | 'pin.removed';
  /** The name it has now, where it was renamed. */
  readonly to?: string;
  /** Empty where the whole item came or went. */
  readonly differences: readonly Difference[];
}

/**
 * How what these servers offer differs from what was approved, by server, kind and name. Lists that could not be read say
 * nothing: a server that is down has removed no tool.
 */
export function pinChanges(lock: Lock, offers: readonly Offered[]): readonly PinChange[] {
  return offers.flatMap(({ upstream, instructions, lists }) => [
    ...instructionChange(upstream, lock.get(upstream)?.instructions?.text, instructions),
    ...PINNED.flatMap((kind) => {
      const items = lists[kind];
      return items === undefined
        ? []
        : listChanges({ upstream, kind }, lock.get(upstream)?.[kind] ?? new Map(), items);
    }),
  ]);
}

/** Instructions that went mislead nobody. */
function instructionChange(
  upstream: string,
  before: string | undefined,
  after: string | undefined,
): readonly PinChange[] {
  const about = { upstream, kind: 'server', name: INSTRUCTIONS } as const;
  if (after === undefined || after === before) {
    return [];
  }
  return before === undefined
    ? [{ ...about, id: 'pin.new', differences: [] }]
    : [{ ...about, id: 'pin.broken', differences: textChange('/instructions', before, after) }];
}

/** Where one item is pinned. */
type AboutList = { readonly upstream: string; readonly kind: PinnedKind };

function listChanges(about: AboutList, pins: Pins, items: readonly Item[]): readonly PinChange[] {
  const { kind } = about;
  const offered = new Set(items.map((item) => nameIn(kind, item)));
  const gone = [...pins].filter(([name]) => !offered.has(name));
  const nameless = new Map(gone.map(([name, pin]) => [namelessDigest(pin.definition), name]));
  const renamed = new Map<string, string>();
  const changes: PinChange[] = [];
  for (const item of items) {
    const name = nameIn(kind, item);
    const pin = pins.get(name);
    if (pin !== undefined) {
      changes.push(...itemChange({ ...about, name }, pin, item));
      continue;
    }
    const old = nameless.size === 0 ? undefined : nameless.get(namelessDigest(item));
    if (old === undefined || renamed.has(old)) {
      changes.push({ ...about, name, id: 'pin.new', differences: [] });
    } else {
      renamed.set(old, name);
    }
  }
  for (const [name] of gone) {
    const to = renamed.get(name);
    changes.push(
      to === undefined
        ? { ...about, name, id: 'pin.removed', differences: [] }
        : { ...about, name, to, id: 'pin.renamed', differences: [] },
    );
  }
  return changes;
}

/** Items, and the approved definitions that they were found to be equal to: both never change. */
const agreed = new WeakMap<Item, Item>();

/** Most are word for word what was approved, which is seen ten times faster than by their digests. */
function agrees(item: Item, { digest, definition }: Pin): boolean {
  const isEqual =
    agreed.get(item) === definition ||
    JSON.stringify(salient(item)) === JSON.stringify(definition) ||
    digestOf(item) === digest;
  if (isEqual) {
    agreed.set(item, definition);
  }
  return isEqual;
}

function itemChange(
  about: AboutList & { readonly name: string },
  pin: Pin,
  item: Item,
): readonly PinChange[] {
  if (agrees(item, pin)) {
    return [];
  }
  const differences = growth(about.kind, pin.definition, item);
  const isBroken = differences.some((each) => each.growth === 'broken');
  return differences.length === 0
    ? []
    : [{ ...about, id: isBroken ? 'pin.broken' : 'pin.grown', differences }];
}

/** Of two items with the same one, one is the other under a new name. */
export function namelessDigest(item: Item): string {
  return digestOf({ ...item, name: '', uriTemplate: '' });
}

/** How many differences of one item a reason tells. */
const MOST_TOLD = 4;

const ABOUT_FILE = { upstream: '', kind: 'server', item: 'patchbay.lock.json' } as const;

/**
 * How what these servers offer differs from what is approved, in words; nothing where nothing was ever pinned, unless
 * nothing is served without.
 */
export function lockFindings(
  state: LockState,
  offers: readonly Offered[],
  onChange: 'allow' | 'warn' | 'quarantine' = 'warn',
): readonly VettingFinding[] {
  if (state === undefined) {
    const reason = 'pins.onChange is quarantine, and there is no such file: nothing is approved.';
    return onChange === 'quarantine' ? [finding('pin.missing', ABOUT_FILE, reason)] : [];
  }
  if ('fault' in state) {
    return [finding('pin.unreadable', ABOUT_FILE, `It cannot be used: ${state.fault}.`)];
  }
  return pinFindings(pinChanges(state.lock, offers), state.lock);
}

/** The changes as findings. Of a server that is not pinned at all there is one for each kind. */
export function pinFindings(changes: readonly PinChange[], lock: Lock): readonly VettingFinding[] {
  const unknown = new Map<string, PinChange[]>();
  const findings: VettingFinding[] = [];
  for (const change of changes) {
    const { upstream, kind, name, id } = change;
    if (id === 'pin.new' && !isPinned(lock, upstream)) {
      const key = JSON.stringify([upstream, kind]);
      unknown.set(key, [...(unknown.get(key) ?? []), change]);
    } else {
      const place = change.differences[0]?.place ?? '';
      const item = kind === 'server' ? '' : name;
      findings.push(finding(id, { upstream, kind, item, place }, reasonOf(change)));
    }
  }
  for (const [first, ...others] of unknown.values()) {
    if (first !== undefined) {
      const { upstream, kind } = first;
      const names = several([first, ...others].map(({ name }) => name));
      const reason = `Nothing of this server is approved; it offers ${names}.`;
      findings.push(finding('pin.new', { upstream, kind, item: '' }, reason));
    }
  }
  return findings;
}

function reasonOf({ id, kind, to, differences }: PinChange): string {
  switch (id) {
    case 'pin.new':
      return kind === 'server' ? 'Its instructions are not approved.' : 'It is not approved.';
    case 'pin.removed':
      return 'It was approved and is not offered any more.';
    case 'pin.renamed':
      return `It was approved and is called ${quoted(to ?? '')} now.`;
    default:
      return `Since it was approved: ${toldOf(differences)}.`;
  }
}

/** What broke comes first. */
function toldOf(differences: readonly Difference[]): string {
  const ordered = differences.toSorted(
    (one, other) => Number(one.growth === 'grown') - Number(other.growth === 'grown'),
  );
  const told = ordered
    .slice(0, MOST_TOLD)
    .map(({ growth: how, place, says }) => `${place}: ${says} (${how})`);
  const more = ordered.length - told.length;
  return `${told.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

/** One text for one item. */
export function itemKey({ upstream, kind, name }: ItemName): string {
  return JSON.stringify([upstream, kind, name]);
}
