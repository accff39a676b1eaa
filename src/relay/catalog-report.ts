import { type BelievedHint, believedHint } from '../access/policy.ts';
import type { HintName } from '../access/rules.ts';
import { stringAt } from '../base/json.ts';
import type { Entry } from '../catalog/entry.ts';
import type { Catalog } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import { type Item, KINDS, type Kind } from '../protocol/model.ts';
import { type Caller, sightOf } from './context.ts';
import type { AnyFinding, Route } from './explanation.ts';
import type { Shown, Standing } from './find-list.ts';
import type { Onlooker } from './lookup.ts';

/** One item as operators see it; docs/api.md has its shape. */
export interface CatalogItem extends Omit<Route, 'listed' | 'found'> {
  /** Whether the list that is served there has it; of the whole catalog, undefined. */
  readonly listed?: boolean;
  /** Whether it is not, and `search_tools` finds it there. */
  readonly found?: boolean;
  readonly title: string | null;
  readonly description: string | null;
  /** Of tools: what is believed of their hints. */
  readonly hints: Readonly<Record<HintName, BelievedHint>> | null;
  /** Scopes that a use needs, and those of them that are lacking. */
  readonly needs: readonly string[];
  readonly lacks: readonly string[];
  /** It waits for approval: no list has it. */
  readonly withheld: boolean;
  /** The list of this principal has not been read: it is in that of the gateway itself. */
  readonly assumed: boolean;
  readonly findings: readonly AnyFinding[];
  /** As its server sent it, with what the configuration says instead; names and URIs are the originals. */
  readonly definition?: Item;
}

/** A part of the catalog, to be written out one by one: it may be large. */
export interface CatalogReport {
  /** Another one means that something is another one. */
  readonly revision: string;
  /** How many there are of each kind, whatever part was asked for. */
  readonly counts: Readonly<Record<Kind, number>>;
  readonly items: Iterable<CatalogItem>;
}

export interface CatalogInquiry extends Onlooker {
  /** undefined: the whole catalog, with what is withheld, whatever any view shows. */
  readonly at: 'endpoint' | undefined;
  readonly kind: Kind | undefined;
  /** Position of the first item, and most items. */
  readonly from: number;
  readonly limit: number;
  readonly definitions: boolean;
}

export interface CatalogReportOptions {
  readonly store: Pick<Store<Caller>, 'of' | 'current' | 'gap'>;
  readonly settings: Settings;
  readonly findings: readonly AnyFinding[];
  readonly shown: Pick<Shown, 'standing'>;
}

/**
 * The catalog as this onlooker may use it, in the order of the lists, kind by kind, with what of it is listed. Nothing is read for it: where a
 * list of a principal was not read yet, what the gateway itself is told stands in.
 */
export async function catalogReport(
  inquiry: CatalogInquiry,
  options: CatalogReportOptions,
): Promise<CatalogReport> {
  const { store } = options;
  const { principal, at } = inquiry;
  const catalog = store.of(principal);
  const held = new Set(catalog.withheld.entries);
  const ofKind = (kind: Kind): readonly Seen[] => {
    if (at === undefined) {
      const entries = [...catalog.entries[kind], ...[...held].filter((entry) => entry.kind === kind)];
      return entries.map((entry) => ({ entry, assumed: false, withheld: held.has(entry) }));
    }
    const unread = ({ upstream }: Entry) => store.gap(principal, upstream, kind) !== undefined;
    return [
      ...listedIn(catalog, kind, inquiry).map((entry) => ({ entry, assumed: false, withheld: false })),
      ...listedIn(store.current, kind, inquiry)
        .filter(unread)
        .map((entry) => ({ entry, assumed: true, withheld: false })),
    ];
  };
  const lists = KINDS.map((kind) => ({ kind, shown: ofKind(kind) }));
  const asked = lists.filter(({ kind }) => inquiry.kind === undefined || inquiry.kind === kind);
  const standing = at === undefined ? undefined : await standingOf(inquiry, options);
  const part = asked.flatMap(({ shown }) => shown).slice(inquiry.from, inquiry.from + inquiry.limit);
  return {
    revision: catalog.revision,
    counts: Object.fromEntries(lists.map(({ kind, shown }) => [kind, shown.length])) as Record<Kind, number>,
    items: itemsOf(part, standing, inquiry, options),
  };
}

interface Seen {
  readonly entry: Entry;
  readonly assumed: boolean;
  readonly withheld: boolean;
}

function listedIn(catalog: Catalog, kind: Kind, onlooker: Onlooker): readonly Entry[] {
  const view = viewOf(catalog, onlooker.entrance.selection, sightOf(onlooker));
  return view.list(kind).map(({ entry }) => entry);
}

/** Of the tools that are in the list of this onlooker, and of those of everybody that stand in for one. */
async function standingOf(
  inquiry: CatalogInquiry,
  { store, shown }: CatalogReportOptions,
): Promise<Standing> {
  const { principal, entrance } = inquiry;
  const catalogs = new Set([store.of(principal), store.current]);
  const each = await Promise.all(
    [...catalogs].map((catalog) =>
      shown.standing(viewOf(catalog, entrance.selection, sightOf(inquiry)), inquiry),
    ),
  );
  return {
    listed: new Set(each.flatMap(({ listed }) => [...listed])),
    found: new Set(each.flatMap(({ found }) => [...found])),
  };
}

function* itemsOf(
  part: readonly Seen[],
  standing: Standing | undefined,
  { access, definitions }: CatalogInquiry,
  { settings, findings }: CatalogReportOptions,
): Generator<CatalogItem> {
  const found = new Map<string, AnyFinding[]>();
  for (const finding of findings) {
    const name = nameOf(finding.kind, finding.upstream, finding.item);
    found.set(name, [...(found.get(name) ?? []), finding]);
  }
  for (const { entry, assumed, withheld } of part) {
    const { kind, upstream, original, exposed, item } = entry;
    const hint = (name: HintName) => believedHint(settings, entry, name);
    yield {
      kind,
      upstream,
      original,
      names: exposed,
      title: stringAt(item, 'title') ?? stringAt(item['annotations'], 'title') ?? null,
      description: stringAt(item, 'description') ?? null,
      hints:
        kind === 'tools'
          ? { readOnly: hint('readOnly'), destructive: hint('destructive'), openWorld: hint('openWorld') }
          : null,
      needs: access.needed(entry),
      lacks: access.lacking(entry),
      withheld,
      assumed,
      ...(standing === undefined
        ? {}
        : { listed: kind !== 'tools' || standing.listed.has(entry), found: standing.found.has(entry) }),
      findings: found.get(nameOf(kind, upstream, original)) ?? [],
      ...(definitions ? { definition: item } : {}),
    };
  }
}

function nameOf(kind: string, upstream: string, item: string): string {
  return JSON.stringify([kind, upstream, item]);
}
