import type { Subject } from '../access/policy.ts';
import type { Principal } from '../access/principal.ts';
import { type Entry, exposedFor } from '../catalog/entry.ts';
import type { NamingRule } from '../catalog/naming.ts';
import type { UpstreamPart } from '../catalog/part.ts';
import type { Catalog } from '../catalog/snapshot.ts';
import type { ViewSelection } from '../catalog/view.ts';
import type { GoneCalls, GoneCallsOfOne } from '../observe/status.ts';
import type { LockState } from '../vetting/lock.ts';
import { asSaid } from '../vetting/offered.ts';
import { namelessDigest, pinChanges } from '../vetting/pins.ts';

/** A tool that was there under a name that it has no longer. */
export interface GoneTool extends Subject {
  /** What its server calls it now, where it is there under another name. */
  readonly to: string | undefined;
}

/** A tool that went, and who may be told that it was there. */
interface Retired {
  readonly tool: GoneTool;
  /** The grant of the one principal in whose list it was; undefined: in everybody's. */
  readonly owner: string | undefined;
  /** It was in what the gateway itself is told, and nobody else. */
  readonly isPrivate: boolean;
}

export interface GoneOptions {
  readonly lock: () => LockState;
  readonly naming: () => NamingRule;
  /** Whether the tools of this upstream are each principal's own. */
  readonly isOwn: (principal: Principal, upstream: string) => boolean;
  /** Whether it is served what the gateway itself is told. */
  readonly isEverybody: (principal: Principal) => boolean;
}

/** Tools that are remembered, those that went last; and clients that are counted by name. */
const MOST_RETIRED = 1_000;
const MOST_CLIENTS = 100;
const LONGEST_CLIENT = 64;
/** Of more tools at once it is not found out which of them have other names now. */
const MOST_MOVED = 200;

/**
 * Which names of tools were there once. From what went out of the catalogs since the start, from the lock file, and from
 * new names that the configuration gives. A name that never was is not known here.
 */
export class Gone {
  readonly #options: GoneOptions;
  /** By {@link nameKey}; in the order in which they went. */
  readonly #retired = new Map<string, Retired>();
  readonly #pinned = new WeakMap<
    Catalog,
    { readonly lock: LockState; readonly tools: ReadonlyMap<string, GoneTool> }
  >();
  readonly #clients = new Map<string, GoneCallsOfOne>();
  #calls = 0;

  constructor(options: GoneOptions) {
    this.#options = options;
  }

  /** One catalog took the place of another: everybody's, or that of one principal. */
  replaced(before: Catalog, after: Catalog, owner: Principal | undefined): void {
    if (before.entries === after.entries) {
      return;
    }
    const theirs = [...before.parts.keys()].filter(
      (id) => owner === undefined || this.#options.isOwn(owner, id),
    );
    if (theirs.length === 0) {
      return;
    }
    const isTheirs = new Set(theirs);
    const kept = new Set(after.entries.tools);
    const old = [...before.entries.tools, ...ofTools(before)].filter(
      (entry) => !kept.has(entry) && isTheirs.has(entry.upstream),
    );
    const lost: Entry[] = [];
    for (const entry of old) {
      const now =
        after.toolOf(entry.upstream, entry.original) ?? after.withheld.toolOf(entry.upstream, entry.original);
      if (now === undefined) {
        lost.push(entry);
      } else if (isRenamed(entry, now)) {
        this.#retire(entry, entry.original, before, owner);
      }
    }
    const moved = lost.length > MOST_MOVED ? new Map<string, string>() : movedTo(lost, before, after);
    for (const entry of lost) {
      this.#retire(entry, moved.get(namelessKey(entry)), before, owner);
    }
  }

  #retire(entry: Entry, to: string | undefined, before: Catalog, owner: Principal | undefined): void {
    const { upstream, original, exposed, item } = entry;
    // Rules may look at its hints; the rest of its definition is not kept.
    const kept = {
      name: original,
      ...(item['annotations'] === undefined ? {} : { annotations: item['annotations'] }),
    };
    const tool = { kind: 'tools', upstream, original, item: kept, to } as const;
    const isPrivate = before.parts.get(upstream)?.lists.tools?.hints.scope === 'private';
    for (const key of keysOf(owner?.grant, upstream, exposed)) {
      this.#retired.delete(key);
      this.#retired.set(key, { tool, owner: owner?.grant, isPrivate });
    }
    for (const [oldest] of this.#retired) {
      if (this.#retired.size <= 3 * MOST_RETIRED) {
        return;
      }
      this.#retired.delete(oldest);
    }
  }

  /**
   * The tool that once had this name here, whether or not the principal may see it: that is for the caller to judge.
   * What was in somebody else's list alone is not known. `catalog`: that of the principal.
   */
  find(name: string, selection: ViewSelection, catalog: Catalog, principal: Principal): GoneTool | undefined {
    const upstream = selection.style === 'bare' ? selection.upstream : undefined;
    const own = this.#retired.get(nameKey(principal.grant, upstream, name));
    const common = this.#retired.get(nameKey(undefined, upstream, name));
    const isTold =
      common !== undefined &&
      !this.#options.isOwn(principal, common.tool.upstream) &&
      (!common.isPrivate || this.#options.isEverybody(principal));
    if (own !== undefined || isTold) {
      return own?.tool ?? common?.tool;
    }
    const known = this.#known(catalog).get(nameKey(undefined, upstream, name));
    const isFromLock = known !== undefined && known.to !== known.original;
    return isFromLock && this.#options.isOwn(principal, known.upstream) ? undefined : known;
  }

  /** Names that the lock file has and the servers no longer have, and those that the configuration has replaced. */
  #known(catalog: Catalog): ReadonlyMap<string, GoneTool> {
    const lock = this.#options.lock();
    const known = this.#pinned.get(catalog);
    if (known !== undefined && known.lock === lock) {
      return known.tools;
    }
    const tools = new Map<string, GoneTool>();
    for (const part of catalog.parts.values()) {
      for (const { tool, shown } of [...renamedIn(part), ...unpinnedIn(part, lock)]) {
        const exposed = exposedFor({ ...part, name: tool.original, shown }, this.#options.naming());
        for (const key of keysOf(undefined, part.upstream, exposed)) {
          tools.set(key, tool);
        }
      }
    }
    this.#pinned.set(catalog, { lock, tools });
    return tools;
  }

  /** `client`: what it calls itself, a label. `name`: of the tool. */
  count(client: string, name: string): void {
    this.#calls += 1;
    const label = client.slice(0, LONGEST_CLIENT);
    const key = this.#clients.has(label) || this.#clients.size < MOST_CLIENTS ? label : '(others)';
    const calls = (this.#clients.get(key)?.calls ?? 0) + 1;
    this.#clients.delete(key);
    this.#clients.set(key, { calls, tool: name.slice(0, LONGEST_CLIENT), at: new Date().toISOString() });
  }

  get counted(): GoneCalls {
    return { calls: this.#calls, clients: Object.fromEntries(this.#clients) };
  }
}

/** A name that two tools would have is neither's: the digest that both were given then is no other name of one of them. */
function isRenamed({ exposed }: Entry, { exposed: now }: Entry): boolean {
  const isDigested = now.dotted.startsWith(`${exposed.dotted}_`) && now.bare === exposed.bare;
  return !isDigested && (now.dotted !== exposed.dotted || now.bare !== exposed.bare);
}

function ofTools({ withheld }: Catalog): readonly Entry[] {
  return withheld.entries.filter(({ kind }) => kind === 'tools');
}

/** JSON, so that no sign of a name can forge another one. */
function nameKey(owner: string | undefined, upstream: string | undefined, name: string): string {
  return JSON.stringify([owner ?? null, upstream ?? null, name]);
}

function keysOf(owner: string | undefined, upstream: string, exposed: Entry['exposed']): readonly string[] {
  return [
    nameKey(owner, undefined, exposed.dotted),
    nameKey(owner, undefined, exposed.strict),
    nameKey(owner, upstream, exposed.bare),
  ];
}

function namelessKey({ upstream, item }: Entry): string {
  return `${upstream} ${namelessDigest(item)}`;
}

/**
 * Tools that came at the same time with the same definition as one that went, by {@link namelessKey}. Where several went or
 * came with it, as tools that say little of themselves do, nobody can tell which of them is which.
 */
function movedTo(lost: readonly Entry[], before: Catalog, after: Catalog): ReadonlyMap<string, string> {
  const upstreams = new Set(lost.map(({ upstream }) => upstream));
  const known = new Set(before.entries.tools);
  const isNew = (entry: Entry) =>
    !known.has(entry) &&
    upstreams.has(entry.upstream) &&
    before.toolOf(entry.upstream, entry.original) === undefined &&
    before.withheld.toolOf(entry.upstream, entry.original) === undefined;
  const come = [...after.entries.tools, ...ofTools(after)].filter(isNew).slice(0, MOST_MOVED);
  const went = new Set(onlyOnes(lost).map(namelessKey));
  return new Map(
    onlyOnes(come).flatMap((entry) => {
      const key = namelessKey(entry);
      return went.has(key) ? [[key, entry.original] as const] : [];
    }),
  );
}

/** Those whose definition no other of them has; one tool may stand among them twice. */
function onlyOnes(entries: readonly Entry[]): readonly Entry[] {
  const names = new Map<string, Set<string>>();
  for (const entry of entries) {
    const key = namelessKey(entry);
    names.set(key, (names.get(key) ?? new Set()).add(entry.original));
  }
  return entries.filter((entry) => names.get(namelessKey(entry))?.size === 1);
}

interface Known {
  readonly tool: GoneTool;
  readonly shown: string;
}

/** Their own names, in the place of which the configuration puts others. */
function renamedIn({ upstream, lists }: UpstreamPart): readonly Known[] {
  const named = new Map(lists.tools?.items.map((item) => [String(item['name']), item]));
  return [...(lists.tools?.renamed?.keys() ?? [])].flatMap((original) => {
    const item = named.get(original);
    return item === undefined
      ? []
      : [{ tool: { kind: 'tools', upstream, original, item, to: original } as const, shown: original }];
  });
}

function unpinnedIn(part: UpstreamPart, lock: LockState): readonly Known[] {
  const { upstream } = part;
  const { tools } = asSaid(part).lists;
  const pins = lock !== undefined && 'lock' in lock ? lock.lock.get(upstream)?.tools : undefined;
  if (lock === undefined || 'fault' in lock || tools === undefined || pins === undefined) {
    return [];
  }
  return pinChanges(lock.lock, [{ upstream, lists: { tools } }]).flatMap(({ id, name, to }) => {
    const item = pins.get(name)?.definition;
    const shown = part.lists.tools?.renamed?.get(name) ?? name;
    return item !== undefined && (id === 'pin.removed' || id === 'pin.renamed')
      ? [{ tool: { kind: 'tools', upstream, original: name, item, to } as const, shown }]
      : [];
  });
}
