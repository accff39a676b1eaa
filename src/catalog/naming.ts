import { createHash } from 'node:crypto';

/** How exposed names are built: `<namespace><separator><name>`, or the bare name where the namespace is empty. */
export interface NamingRule {
  readonly separator: string;
  /** Longest exposed name, in UTF-16 units. */
  readonly maxLength: number;
  /**
   * Names must pass `^[A-Za-z_][A-Za-z0-9_-]*$`, which every model API accepts: other characters become `_` (case
   * C-004). Without it names pass unchanged, whatever characters they hold (case C-003).
   */
  readonly strict?: boolean;
}

/**
 * The safe style. 52 leaves room for what clients put in front before they hand names to a model API that takes 64:
 * `mcp__<server>__`, or server and tool within 60 (case C-005).
 */
export const STRICT: NamingRule = { separator: '__', maxLength: 52, strict: true };

/** A lower `maxLength` leaves no room for a digest and something readable before it. */
const SHORTEST_LIMIT = 16;

/** What one tool or prompt is, whatever it is called. */
export interface Identity {
  readonly upstream: string;
  readonly name: string;
}

/** One tool or prompt with what its names are made of. */
export interface Original extends Identity {
  readonly namespace: string;
  /** What the configuration calls it instead; its identity stays that of `name`. */
  readonly shown?: string;
}

export interface ExposedName {
  readonly name: string;
  /** Why it carries a digest: it was over-long, or another pair would have had the same name. */
  readonly digested: undefined | 'shortened' | 'collided';
}

/**
 * One exposed name for each original, at the same index. A name that is legal and nobody else's stays as it is. An
 * over-long one is cut, and every member of a group that would share a name gets a short digest of (upstream, name), so
 * that the outcome depends neither on order nor on which member came first (cases C-002, C-003, C-005). Digested names
 * that collide again, even with a tool that is called so on purpose, are digested anew until all differ.
 *
 * @throws RangeError where `rule.maxLength` is under {@link SHORTEST_LIMIT}.
 * @param taken names that already stand for something: exposed name to its owner.
 */
export function exposeNames(
  originals: readonly Original[],
  rule: NamingRule,
  taken: ReadonlyMap<string, Identity> = new Map(),
): ExposedName[] {
  if (rule.maxLength < SHORTEST_LIMIT) {
    throw new RangeError(`names need a limit of ${SHORTEST_LIMIT} or more, not ${rule.maxLength}`);
  }
  const drafts = originals.map((original) => draftOf(original, rule));
  // Each round digests at least one draft anew, and digests of different pairs differ, so rounds come to an end.
  for (let crowded = collisions(drafts, taken); crowded.length > 0; crowded = collisions(drafts, taken)) {
    for (const draft of crowded) {
      draft.round += 1;
      draft.digested ??= 'collided';
      draft.name = digestedName(draft, rule);
    }
  }
  return drafts.map(({ name, digested }) => ({ name, digested }));
}

/**
 * The names where each upstream is served alone, at the same index: its own, but for tools that were given another one.
 * Where that makes two of one name, both get a digest.
 */
export function bareNames(originals: readonly Original[]): readonly string[] {
  if (originals.every(({ name, shown = name }) => shown === name)) {
    return originals.map(({ name }) => name);
  }
  const within = originals.map((original) => ({ ...original, namespace: original.upstream }));
  const rule = { separator: BETWEEN, maxLength: Number.POSITIVE_INFINITY };
  return exposeNames(within, rule).map(({ name }, at) =>
    name.slice((within[at]?.namespace.length ?? 0) + BETWEEN.length),
  );
}

/** No id holds it, so that no two upstreams share a name. */
const BETWEEN = '/';

/** The identity behind a name as one string; JSON, so that no character of a name can forge another pair. */
export function identityOf(upstream: string, name: string): string {
  return JSON.stringify([upstream, name]);
}

interface Draft {
  readonly of: Original;
  readonly full: string;
  name: string;
  digested: ExposedName['digested'];
  /** How often it was digested. */
  round: number;
}

const DIGEST_LENGTH = 8;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

function draftOf(original: Original, rule: NamingRule): Draft {
  const { namespace, name, shown = name } = original;
  const plain = namespace === '' ? shown : `${namespace}${rule.separator}${shown}`;
  const full = rule.strict ? cleaned(plain) : plain;
  const draft: Draft = {
    of: original,
    full,
    name: full,
    digested: undefined,
    round: 0,
  };
  if (full.length > rule.maxLength) {
    draft.round = 1;
    draft.digested = 'shortened';
    draft.name = digestedName(draft, rule);
  }
  return draft;
}

const CLEAN = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** Gemini wants a letter or `_` first; the others take any of the set anywhere. */
function cleaned(name: string): string {
  if (CLEAN.test(name)) {
    return name;
  }
  const legal = name.replaceAll(/[^A-Za-z0-9_-]/gu, '_');
  return /^[A-Za-z_]/.test(legal) ? legal : `_${legal}`;
}

/** Drafts whose name is also another pair's. */
function collisions(drafts: readonly Draft[], taken: ReadonlyMap<string, Identity>): readonly Draft[] {
  const owners = new Map<string, Identity>();
  const crowded = new Set<string>();
  for (const { name, of } of drafts) {
    const owner = owners.get(name);
    if (owner === undefined) {
      owners.set(name, of);
    }
    if (!(isSame(owner ?? of, of) && isSame(taken.get(name) ?? of, of))) {
      crowded.add(name);
    }
  }
  return crowded.size === 0 ? [] : drafts.filter(({ name }) => crowded.has(name));
}

function isSame(one: Identity, other: Identity): boolean {
  return one === other || (one.name === other.name && one.upstream === other.upstream);
}

function digestedName({ of, full, round }: Draft, { maxLength }: NamingRule): string {
  const identity = identityOf(of.upstream, of.name);
  const digest = digestOf(round === 1 ? identity : `${identity}${round}`);
  return `${cutAt(full, maxLength - DIGEST_LENGTH - 1)}_${digest}`;
}

function digestOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest();
  return Array.from(bytes.subarray(0, DIGEST_LENGTH), (byte) => BASE32.charAt(byte % 32)).join('');
}

/** The first `length` units, never the first half of a surrogate pair alone. */
function cutAt(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
