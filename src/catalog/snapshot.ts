import { randomBytes } from 'node:crypto';
import { CHANGES, type Change, type Item, KIND_FACTS, KINDS, type Kind } from '../protocol/model.ts';
import { type Entries, type Entry, keptEntries, sameEntry } from './entry.ts';
import { listFindings, nameFinding, templateFinding, uriFinding } from './findings.ts';
import { exposeLinks, linkedUris } from './links.ts';
import { type Names, namesOf } from './names.ts';
import { bareNames, exposeNames, type Identity, type NamingRule, STRICT } from './naming.ts';
import type { CatalogFinding, UpstreamPart } from './part.ts';
import { reusePart, sameJson } from './reuse.ts';
import { OPEN, type Screen, sifted, type Withheld, withheldOf } from './screen.ts';
import { KEPT_FREE } from './search-names.ts';
import type { Work } from './template.ts';
import { type ResourceRoute, routeUris, type UriRoutes, type UriSource } from './uris.ts';

export type { Entries, Entry } from './entry.ts';
export type { ResourceRoute } from './uris.ts';

/** What the gateway offers at one moment. Immutable. */
export interface Catalog extends Names {
  /** Changes if and only if something visible changed, or is withheld; unique in this process, and no other process makes the same. */
  readonly revision: string;
  /** In config order. */
  readonly parts: ReadonlyMap<string, UpstreamPart>;
  /** In config order, then in the upstream's. The same object as long as the revision is the same. */
  readonly entries: Entries;
  /** Of the lists, about shortened and collided names, renamed URIs, and templates that cannot be matched. */
  readonly findings: readonly CatalogFinding[];
  /** What waits for approval. */
  readonly withheld: Withheld;
  /** The order of look-up is that of {@link UriRoutes}. Takes a template as text too, as completion names it. */
  resourceByUri(exposed: string, seen?: (route: ResourceRoute) => boolean): ResourceRoute | undefined;
  /** What clients call that upstream's URI or template: itself unless another upstream has it too. */
  exposeUri(upstream: string, original: string, work?: Work): string;
  /** Upstreams for which {@link exposeUri} can change something; results of others need no rewriting. */
  readonly renamedUris: ReadonlySet<string>;
}

/** One catalog in the place of another. */
export interface Swap {
  readonly before: Catalog;
  readonly after: Catalog;
  /** Never empty. */
  readonly changes: readonly Change[];
  /** Key of the one principal whose catalog it is; undefined: the shared one, of all who have no part of their own. */
  readonly owner: string | undefined;
}

/** Cursors name a revision, so one from before a restart must never fit. */
const NONCE = randomBytes(6).toString('base64url');
let revisions = 0;

/**
 * The catalog of these parts (in config order). Pure but for the revision. What says the same as in `previous` is
 * taken from there: `previous` itself where nothing is new, and its revision, entries, order and routes where only what
 * clients cannot see is new (freshness, hints, staleness, findings).
 */
export function buildCatalog(
  parts: readonly UpstreamPart[],
  naming: NamingRule,
  previous?: Catalog,
  screen: Screen = OPEN,
): Catalog {
  const settled = parts.map((part) => reusePart(part, previous?.parts.get(part.upstream)));
  const routes = routeUris(settled.map(uriSourceOf));
  const findings = settled.flatMap(listFindings);
  const keep = keptEntries(previous?.entries);
  const all: Entries = {
    tools: namedEntries('tools', settled, naming, findings).map(keep),
    prompts: namedEntries('prompts', settled, naming, findings).map(keep),
    resources: resourceEntries('resources', settled, routes, findings).map(keep),
    templates: resourceEntries('templates', settled, routes, findings).map(keep),
  };
  findings.push(...routes.unreadable.map(templateFinding));
  const fresh = new Map(settled.map((part) => [part.upstream, part]));
  const { served, withheld } = sifted(all, fresh, screen);
  if (previous !== undefined && sameOffers(previous, fresh, served, withheld)) {
    const same = settled.every((part) => part === previous.parts.get(part.upstream));
    return same ? previous : { ...previous, parts: fresh, findings };
  }
  revisions += 1;
  return {
    ...namesOf(served),
    revision: `${NONCE}.${revisions}`,
    parts: fresh,
    entries: served,
    withheld: withheldOf(withheld, served),
    findings,
    resourceByUri: routes.route,
    exposeUri: routes.expose,
    renamedUris: routes.renamed,
  };
}

/**
 * What a client could notice: names or URIs that came or went, and definitions that say something else. Order does not
 * count, neither of items nor of keys. Templates count as resources.
 */
export function changesBetween(before: Catalog, after: Catalog): readonly Change[] {
  if (before.entries === after.entries) {
    return [];
  }
  const differs = (kind: Kind) => !sameOffer(kind, before, after);
  return CHANGES.filter((change) =>
    change === 'resources' ? differs('resources') || differs('templates') : differs(change),
  );
}

function sameOffer(kind: Kind, before: Catalog, after: Catalog): boolean {
  const now = after.entries[kind];
  const left = new Set(before.entries[kind]);
  if (left.size !== now.length) {
    return false;
  }
  // What is the same entry still says the same, unless it names resources.
  const others = now.filter((entry) => linkedUris(entry.item).length > 0 || !left.delete(entry));
  const known = new Map([...left].map((entry) => [entry.exposed.dotted, entry]));
  return (
    others.length === known.size &&
    others.every((entry) => {
      const match = known.get(entry.exposed.dotted);
      return (
        match !== undefined &&
        match.exposed.strict === entry.exposed.strict &&
        sameJson(linksExposed(before, match), linksExposed(after, entry))
      );
    })
  );
}

function linksExposed(catalog: Catalog, { upstream, item }: Entry): Item {
  return exposeLinks(item, (uri) => catalog.exposeUri(upstream, uri));
}

function uriSourceOf({ upstream, lists }: UpstreamPart): UriSource {
  return {
    upstream,
    uris: [
      ...(lists.resources?.items ?? []).map((item) => originalOf('resources', item)),
      ...(lists.tools?.items ?? []).flatMap(linkedUris),
    ],
    templates: (lists.templates?.items ?? []).map((item) => originalOf('templates', item)),
  };
}

/** Lists hold only items with a key that is a string: `repairItems` has left out the others. */
function originalOf(kind: Kind, item: Item): string {
  return String(item[KIND_FACTS[kind].key]);
}

function namedEntries(
  kind: 'tools' | 'prompts',
  parts: readonly UpstreamPart[],
  naming: NamingRule,
  findings: CatalogFinding[],
): readonly Entry[] {
  const items = parts.flatMap(({ upstream, namespace, lists }) =>
    (lists[kind]?.items ?? []).map((item) => {
      const name = originalOf(kind, item);
      return { upstream, namespace, name, shown: lists[kind]?.renamed?.get(name) ?? name, item };
    }),
  );
  const free = kind === 'tools' ? KEPT_FREE : new Map<string, Identity>();
  const dotted = exposeNames(items, naming, free);
  const taken = new Map<string, Identity>(free);
  for (const [at, item] of items.entries()) {
    taken.set(dotted[at]?.name ?? '', item);
  }
  const strict = exposeNames(items, STRICT, taken);
  const bare = bareNames(items);
  return items.map(({ upstream, name, shown, item }, at): Entry => {
    const inDotted = dotted[at] ?? { name: shown, digested: undefined };
    const inStrict = strict[at] ?? { name: shown, digested: undefined };
    findings.push(...nameFinding({ kind, upstream, name }, inDotted, inStrict));
    const exposed = { dotted: inDotted.name, strict: inStrict.name, bare: bare[at] ?? shown };
    return { kind, upstream, original: name, exposed, item };
  });
}

function resourceEntries(
  kind: 'resources' | 'templates',
  parts: readonly UpstreamPart[],
  routes: UriRoutes,
  findings: CatalogFinding[],
): readonly Entry[] {
  return parts.flatMap(({ upstream, lists }) =>
    (lists[kind]?.items ?? []).map((item): Entry => {
      const original = originalOf(kind, item);
      const uri = routes.expose(upstream, original);
      if (uri !== original) {
        findings.push(uriFinding(kind, upstream, original, uri));
      }
      return { kind, upstream, original, exposed: { dotted: uri, strict: uri, bare: original }, item };
    }),
  );
}

/** The ids count too: which ids are known decides how a URI in a result is exposed. */
function sameOffers(
  previous: Catalog,
  parts: Catalog['parts'],
  served: Entries,
  withheld: readonly Entry[],
): boolean {
  const ids = [...previous.parts.keys()];
  return (
    ids.length === parts.size &&
    [...parts.keys()].every((id, at) => id === ids[at]) &&
    KINDS.every((kind) => sameEntries(previous.entries[kind], served[kind])) &&
    sameEntries(previous.withheld.entries, withheld)
  );
}

function sameEntries(before: readonly Entry[], now: readonly Entry[]): boolean {
  return before.length === now.length && now.every((entry, at) => sameEntry(entry, before[at]));
}
