import { isObject } from '../base/json.ts';
import { type Item, KIND_FACTS } from '../protocol/model.ts';
import { digestOf, digestOfText, PINNED, type PinnedKind, salient } from './definition.ts';
import type { Offered } from './finding.ts';

/** One approved definition: its digest, and the parts that a later one is compared with. */
export interface Pin {
  readonly digest: string;
  readonly definition: Item;
}

/** By name, or by URI template. */
export type Pins = ReadonlyMap<string, Pin>;

/** Approved instructions of a server. */
interface PinnedText {
  readonly digest: string;
  readonly text: string;
}

/** What is approved of one server: by kind, and what it tells the model as a whole. */
type Pinned = Readonly<Partial<Record<PinnedKind, Pins>>> & { readonly instructions?: PinnedText };

/** What is in patchbay.lock.json: what was approved, by server. */
export type Lock = ReadonlyMap<string, Pinned>;

/** What is approved; undefined where nothing was ever pinned. One that cannot be read is a fault, never an empty one. */
export type LockState = { readonly lock: Lock } | { readonly fault: string } | undefined;

/** Whether anything of a server is approved. */
export function isPinned(lock: Lock, upstream: string): boolean {
  const pinned = lock.get(upstream);
  return pinned?.instructions !== undefined || PINNED.some((kind) => (pinned?.[kind]?.size ?? 0) > 0);
}

const VERSION = 1;

/** The lock as the text of its file: sorted, so that two of the same definitions are the same file. */
export function lockText(lock: Lock): string {
  const upstreams = sorted(lock, (pinned) => {
    const kinds = PINNED.flatMap((kind) => {
      const pins = pinned[kind];
      return pins === undefined || pins.size === 0 ? [] : [[kind, sorted(pins, (pin) => pin)]];
    });
    const { instructions } = pinned;
    return { ...(instructions === undefined ? {} : { instructions }), ...Object.fromEntries(kinds) };
  });
  return `${JSON.stringify({ version: VERSION, upstreams }, null, 2)}\n`;
}

function sorted<V>(
  map: ReadonlyMap<string, V>,
  json: (value: V) => unknown,
): Readonly<Record<string, unknown>> {
  const entries = [...map].toSorted(([one], [other]) => (one < other ? -1 : 1));
  // A server may well be called __proto__: entries make own members of any name.
  return Object.fromEntries(entries.map(([key, value]) => [key, json(value)]));
}

/**
 * Reads the text of a lock file. Returns why where it is not one: it must never be taken for one that approves nothing, or
 * anything. A definition that is not what its digest says was edited by hand.
 */
export function readLock(text: string): { readonly lock: Lock } | { readonly fault: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { fault: 'it is not JSON' };
  }
  if (!isObject(parsed) || parsed['version'] !== VERSION || !isObject(parsed['upstreams'])) {
    return { fault: `it is not a lock file of version ${VERSION}` };
  }
  const lock = new Map<string, Pinned>();
  for (const [upstream, kinds] of Object.entries(parsed['upstreams'])) {
    const instructions = isObject(kinds) ? kinds['instructions'] : undefined;
    if (instructions !== undefined && !isPinnedText(instructions)) {
      return { fault: `upstreams.${upstream}.instructions is damaged` };
    }
    const read: Partial<Record<PinnedKind, Pins>> = {};
    for (const kind of PINNED) {
      const pins = isObject(kinds) ? readPins(kinds[kind] ?? {}) : undefined;
      if (pins === undefined || 'fault' in pins) {
        return {
          fault: `upstreams.${upstream}.${kind}${pins === undefined ? '' : `.${pins.fault}`} is damaged`,
        };
      }
      read[kind] = pins;
    }
    lock.set(upstream, { ...(instructions === undefined ? {} : { instructions }), ...read });
  }
  return { lock };
}

function isPinnedText(value: unknown): value is PinnedText {
  return (
    isObject(value) && typeof value['text'] === 'string' && value['digest'] === digestOfText(value['text'])
  );
}

function readPins(value: unknown): Pins | { readonly fault: string } {
  const pins = new Map<string, Pin>();
  for (const [name, pin] of isObject(value) ? Object.entries(value) : []) {
    if (!isObject(pin) || !isObject(pin['definition']) || pin['digest'] !== digestOf(pin['definition'])) {
      return { fault: name };
    }
    pins.set(name, { digest: pin['digest'], definition: pin['definition'] });
  }
  return isObject(value) ? pins : { fault: '' };
}

/** What the instructions of a server are called where items have a name. */
export const INSTRUCTIONS = 'instructions';

/** Which item is meant: a server's own name for it, as rules have it. Its instructions are of the kind `server`. */
export interface ItemName {
  readonly upstream: string;
  readonly kind: PinnedKind | 'server';
  readonly name: string;
}

export function nameIn(kind: PinnedKind, item: Item): string {
  return String(item[KIND_FACTS[kind].key]);
}

/**
 * The lock with what these servers offer now in the place of what was approved, for whatever `approves` says yes to; what
 * is not offered any more goes. Lists that could not be read stay as they were approved.
 */
export function approved(
  lock: Lock,
  offers: readonly Offered[],
  approves: (item: ItemName) => boolean,
): Lock {
  const next = new Map(lock);
  for (const { upstream, instructions, lists } of offers) {
    const { instructions: before, ...pinned } = lock.get(upstream) ?? {};
    const kinds: Partial<Record<PinnedKind, Pins>> = { ...pinned };
    for (const kind of PINNED) {
      const items = lists[kind];
      if (items !== undefined) {
        kinds[kind] = approvedPins(kinds[kind] ?? new Map(), items, { upstream, kind }, approves);
      }
    }
    const isApproved = approves({ upstream, kind: 'server', name: INSTRUCTIONS });
    const text = isApproved ? pinnedText(instructions) : before;
    next.set(upstream, { ...(text === undefined ? {} : { instructions: text }), ...kinds });
  }
  return next;
}

function pinnedText(text: string | undefined): PinnedText | undefined {
  return text === undefined ? undefined : { digest: digestOfText(text), text };
}

function approvedPins(
  before: Pins,
  items: readonly Item[],
  about: { readonly upstream: string; readonly kind: PinnedKind },
  approves: (item: ItemName) => boolean,
): Pins {
  const pins = new Map([...before].filter(([name]) => !approves({ ...about, name })));
  for (const item of items) {
    const name = nameIn(about.kind, item);
    if (approves({ ...about, name })) {
      pins.set(name, { digest: digestOf(item), definition: salient(item) });
    }
  }
  return pins;
}
