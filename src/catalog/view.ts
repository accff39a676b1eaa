import type { Subject } from '../access/policy.ts';
import { type Item, KIND_FACTS, type Kind } from '../protocol/model.ts';
import { exposeLinks, linkedUris } from './links.ts';
import type { Names } from './names.ts';
import type { Catalog, Entries, Entry } from './snapshot.ts';
import type { Work } from './template.ts';
import type { ResourceRoute } from './uris.ts';

/** Which items may be seen. Two with one key let the same ones through. */
export interface Sight {
  readonly key: string;
  shows(subject: Subject): boolean;
}

/** Which names, and whose items. The bare style is one upstream under its own names and URIs, untouched. */
export type ViewSelection =
  | { readonly style: 'dotted' | 'strict'; readonly upstream?: string }
  | { readonly style: 'bare'; readonly upstream: string };

export interface ListedItem {
  readonly entry: Entry;
  /** The item with the exposed name or URI in the place of the original; every other member untouched and in order. */
  readonly item: Item;
}

/** One way to look at one catalog. */
export interface View {
  /** In catalog order. The same array as long as the catalog's revision is the same. */
  list(kind: Kind): readonly ListedItem[];
  /** By the names of this style; dotted and strict names are understood in both styles. */
  find(kind: 'tools' | 'prompts', name: string): Entry | undefined;
  /** What waits for approval, by the same names. */
  withheld(kind: 'tools' | 'prompts', name: string): Entry | undefined;
  /** A tool that waits for approval, by its upstream's own name for it. */
  withheldOf(upstream: string, original: string): Entry | undefined;
  /** Where what a client calls a URI leads. In the bare style any URI leads to the upstream, which knows its own. */
  resource(uri: string, seen?: (route: ResourceRoute) => boolean): ResourceRoute | undefined;
  /** What a client of this view calls that upstream's URI. */
  exposeUri(upstream: string, original: string, work?: Work): string;
}

const EVERYTHING: Sight = { key: '', shows: () => true };
const EVERY_ROUTE = () => true;

/** Most views of one catalog that are kept ready: there is one for each set of rights at each entrance. */
const MOST_KEPT = 256;

/** Catalogs of one revision share entries, and so their views. */
const viewsOf = new WeakMap<Entries, Views>();

/** Those of one catalog, the one that was asked for last at the end. */
interface Views {
  readonly all: Map<string, View>;
  /** Nearly every call asks for the same as the one before it. */
  last?: { readonly selection: ViewSelection; readonly key: string; readonly view: View };
}

/** As which an entry is listed in each style: an entry that stays is listed as before, and its texts are there already. */
const listedAs: Readonly<Record<ViewSelection['style'], WeakMap<Entry, ListedItem>>> = {
  dotted: new WeakMap(),
  strict: new WeakMap(),
  bare: new WeakMap(),
};

/**
 * The view of this catalog; the same object as long as the revision is the same, unless many others were asked for since.
 * Lists are made when first asked for. Views of one style share their {@link ListedItem}s, whatever each of them shows.
 */
export function viewOf(catalog: Catalog, selection: ViewSelection, sight: Sight = EVERYTHING): View {
  const known = viewsOf.get(catalog.entries);
  if (known?.last?.selection === selection && known.last.key === sight.key) {
    return known.last.view;
  }
  const views: Views = known ?? { all: new Map() };
  viewsOf.set(catalog.entries, views);
  // Neither a style nor the id of an upstream has a space in it.
  const key = `${selection.style} ${selection.upstream ?? ''} ${sight.key}`;
  const view = views.all.get(key) ?? makeView(catalog, selection, sight);
  views.all.delete(key);
  views.all.set(key, view);
  const [oldest] = views.all.size > MOST_KEPT ? views.all.keys() : [];
  if (oldest !== undefined) {
    views.all.delete(oldest);
  }
  views.last = { selection, key: sight.key, view };
  return view;
}

function makeView(catalog: Catalog, selection: ViewSelection, sight: Sight): View {
  return sight.key === '' ? createView(catalog, selection) : filtered(viewOf(catalog, selection), sight);
}

function createView(catalog: Catalog, selection: ViewSelection): View {
  const lists: Partial<Record<Kind, readonly ListedItem[]>> = {};
  const { style, upstream: only } = selection;
  const shows = (upstream: string) => only === undefined || upstream === only;
  const exposeUri = (upstream: string, original: string, work?: Work) =>
    style === 'bare' ? original : catalog.exposeUri(upstream, original, work);
  const find = (names: Names, kind: 'tools' | 'prompts', name: string) => {
    if (style === 'bare') {
      const { upstream } = selection;
      return kind === 'tools' ? names.bareTool(upstream, name) : names.promptOf(upstream, name);
    }
    const entry = kind === 'tools' ? names.tool(name) : names.prompt(name);
    return entry !== undefined && shows(entry.upstream) ? entry : undefined;
  };
  const listed = (entry: Entry): ListedItem => {
    if (entry.kind === 'tools' && linkedUris(entry.item).length > 0) {
      // The resources it names may be called otherwise in the next catalog.
      return { entry, item: exposed(entry, style, (uri) => exposeUri(entry.upstream, uri)) };
    }
    const known = listedAs[style].get(entry) ?? { entry, item: exposed(entry, style) };
    listedAs[style].set(entry, known);
    return known;
  };
  return {
    list(kind) {
      lists[kind] ??= catalog.entries[kind].filter((entry) => shows(entry.upstream)).map(listed);
      return lists[kind];
    },
    find: (kind, name) => find(catalog, kind, name),
    withheld: (kind, name) => find(catalog.withheld, kind, name),
    withheldOf: (upstream, original) =>
      shows(upstream) ? catalog.withheld.toolOf(upstream, original) : undefined,
    resource(uri, seen = EVERY_ROUTE) {
      if (style === 'bare') {
        const route = { upstream: selection.upstream, uri };
        return seen(route) ? route : undefined;
      }
      return catalog.resourceByUri(uri, (route) => shows(route.upstream) && seen(route));
    },
    exposeUri,
  };
}

/** What of a view may be seen. Names and URIs stay those of the whole: they do not depend on who looks. */
function filtered(whole: View, sight: Sight): View {
  const seen = (entry: Entry | undefined) => (entry !== undefined && sight.shows(entry) ? entry : undefined);
  const lists: Partial<Record<Kind, readonly ListedItem[]>> = {};
  return {
    list(kind) {
      lists[kind] ??= whole.list(kind).filter(({ entry }) => sight.shows(entry));
      return lists[kind];
    },
    find: (kind, name) => seen(whole.find(kind, name)),
    withheld: (kind, name) => seen(whole.withheld(kind, name)),
    withheldOf: (upstream, original) => seen(whole.withheldOf(upstream, original)),
    resource: (uri, seen = EVERY_ROUTE) =>
      whole.resource(uri, (route) => sight.shows(resourceAt(route)) && seen(route)),
    exposeUri: whole.exposeUri,
  };
}

/** A resource as rules judge it: by the URI that its own upstream has for it. */
export function resourceAt({ upstream, uri }: ResourceRoute): Subject {
  return { kind: 'resources', upstream, original: uri };
}

function exposed(entry: Entry, style: ViewSelection['style'], expose?: (uri: string) => string): Item {
  const { kind, original, item } = entry;
  const name = entry.exposed[style];
  const named = name === original ? item : { ...item, [KIND_FACTS[kind].key]: name };
  return expose === undefined ? named : exposeLinks(named, expose);
}
