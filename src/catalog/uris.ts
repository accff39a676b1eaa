import { identityOf } from './naming.ts';
import { compileTemplate, firstMatch, type UriTemplate, type Work } from './template.ts';

/** The URIs and templates that one upstream offers, as it knows them. */
export interface UriSource {
  readonly upstream: string;
  /** Listed ones first, then those its tools name (an app's page need not be listed). */
  readonly uris: readonly string[];
  readonly templates: readonly string[];
}

export interface ResourceRoute {
  readonly upstream: string;
  /** The URI as that upstream knows it. */
  readonly uri: string;
}

/** Who owns which URI, both ways. */
export interface UriRoutes {
  /**
   * The route of what a client calls a URI: an offered URI, or an offered template as text (completion names one by it),
   * before a renamed URI that no list holds, before the first template in config order, then in the upstream's, that
   * matches (case C-074). Undefined where nobody offers it. `seen`: what the client may see; a server that it does not see
   * takes nothing from a template that another one lists as it is.
   */
  route(exposed: string, seen?: (route: ResourceRoute) => boolean): ResourceRoute | undefined;
  /**
   * What clients call a URI or a template of an upstream, in lists and in results. A URI that no list holds is renamed
   * once `work` is spent: nobody knows then whether it is another upstream's.
   */
  expose(upstream: string, original: string, work?: Work): string;
  /** Upstreams whose URIs can come out renamed: results of all others need no rewriting. */
  readonly renamed: ReadonlySet<string>;
  /** Templates that are listed but cannot be matched, since they are malformed or too large. */
  readonly unreadable: readonly { readonly upstream: string; readonly template: string }[];
}

const SEEN: (route: ResourceRoute) => boolean = () => true;

/** URIs that no list holds and whose owner is remembered: notices about one go to all who watch it. */
const MOST_RECENT = 1_000;
const LONGEST_RECENT = 1_024;

/**
 * Ownership of URIs (case C-073): the first source that offers one keeps it unchanged; a later one's is exposed with
 * its id and `!` in front of the authority, or of what follows the scheme where there is no authority:
 *
 *     ui://widget/x      ui://tickets!widget/x           file:///README.md   file://tickets!/README.md
 *     urn:a:b            urn:tickets!a:b                 db://{table}/{id}   db://tickets!{table}/{id}
 *
 * Templates of one shape count as the same. A URI that no list holds (a link in a result) is renamed when its plain
 * form would lead to another upstream, so that a read never answers with the wrong server's content; web addresses
 * excepted, which clients fetch themselves (spec: server/resources, https://). `!` is legal in an authority, and a URI
 * that an upstream itself offers with a known id and `!` there is renamed too: so the mark is the gateway's alone, and
 * a marked URI goes to its upstream or nowhere.
 */
export function routeUris(sources: readonly UriSource[]): UriRoutes {
  const known = new Set(sources.map((source) => source.upstream));
  const templates = sources.map(({ upstream, templates }) => ({
    upstream,
    templates: templates.map((template) => ({ template, compiled: compileTemplate(template) })),
  }));
  const offered = offer(claimsOf(sources, templates), known);
  const unrenamed = unrenamedIn(templates, offered);
  const matching = (
    uri: string,
    seen = SEEN,
    among: readonly Templates[] = templates,
    work?: Work,
  ): ResourceRoute | undefined => {
    const owner = among.find(
      ({ upstream, templates }) => seen({ upstream, uri }) && firstMatch(templates, uri, work) !== undefined,
    );
    return owner && { upstream: owner.upstream, uri };
  };
  const recent = new Map<string, ResourceRoute | undefined>();
  const covers = (uri: string, work?: Work): ResourceRoute | undefined => {
    if (work !== undefined || uri.length > LONGEST_RECENT) {
      return matching(uri, SEEN, templates, work);
    }
    if (!recent.has(uri)) {
      const [oldest] = recent.size >= MOST_RECENT ? recent.keys() : [];
      if (oldest !== undefined) {
        recent.delete(oldest);
      }
      recent.set(uri, matching(uri));
    }
    return recent.get(uri);
  };
  const expose = (upstream: string, original: string, work?: Work): string => {
    const listed = offered.exposed.get(identityOf(upstream, original));
    if (listed !== undefined || /^https?:/i.test(original)) {
      return listed ?? original;
    }
    const found = offered.routes.get(original) ?? (isSpent(work) ? undefined : covers(original, work));
    const owner = found?.upstream ?? upstream;
    const foreign = isSpent(work) || owner !== upstream || markOf(original, known) !== undefined;
    return foreign ? mark(original, upstream) : original;
  };
  const offersItself = ({ upstream, uri }: ResourceRoute): boolean =>
    offered.exposed.has(identityOf(upstream, uri)) ||
    matching(uri, (each) => each.upstream === upstream) !== undefined;
  const route = (exposed: string, seen = SEEN): ResourceRoute | undefined => {
    const exact = offered.routes.get(exposed);
    const marked = markOf(exposed, known);
    if (exact === undefined && marked !== undefined) {
      const isItsOwn = expose(marked.upstream, marked.uri) === exposed || offersItself(marked);
      return isItsOwn && seen(marked) ? marked : undefined;
    }
    const first = exact ?? covers(exposed);
    if (first === undefined || seen(first)) {
      return first;
    }
    return marked === undefined ? matching(exposed, seen, unrenamed()) : undefined;
  };
  return {
    route,
    expose,
    renamed: renamedOf(sources, offered),
    unreadable: templates.flatMap(({ upstream, templates }) =>
      templates
        .filter(({ compiled }) => compiled === undefined)
        .map(({ template }) => ({ upstream, template })),
    ),
  };
}

function isSpent(work: Work | undefined): boolean {
  return work !== undefined && work.left < 0;
}

interface Templates {
  readonly upstream: string;
  readonly templates: readonly { readonly template: string; readonly compiled: UriTemplate | undefined }[];
}

/** Those that are listed as they are; found out when they are first asked for. */
function unrenamedIn(all: readonly Templates[], { exposed }: Offered): () => readonly Templates[] {
  let found: readonly Templates[] | undefined;
  return () => {
    found ??= all.map(({ upstream, templates }) => ({
      upstream,
      templates: templates.filter(({ template }) => exposed.get(identityOf(upstream, template)) === template),
    }));
    return found;
  };
}

interface Claim {
  readonly upstream: string;
  readonly original: string;
  /** Claims of one key are about the same thing. */
  readonly key: string;
}

/** In the order of the sources, which decides between claims of one key. */
function claimsOf(sources: readonly UriSource[], templates: readonly Templates[]): readonly Claim[] {
  const ofUris = sources.flatMap(({ upstream, uris }) =>
    uris.map((uri): Claim => ({ upstream, original: uri, key: uri })),
  );
  const ofTemplates = templates.flatMap(({ upstream, templates }) =>
    templates.map(
      ({ template, compiled }): Claim => ({
        upstream,
        original: template,
        key: compiled?.shape ?? template,
      }),
    ),
  );
  return [...ofUris, ...ofTemplates];
}

interface Offered {
  /** By {@link identityOf} (upstream, original). */
  readonly exposed: ReadonlyMap<string, string>;
  readonly routes: ReadonlyMap<string, ResourceRoute>;
  /** Upstreams with at least one renamed URI or template among those they offer. */
  readonly renamed: ReadonlySet<string>;
}

function offer(claims: readonly Claim[], known: ReadonlySet<string>): Offered {
  const exposed = new Map<string, string>();
  const routes = new Map<string, ResourceRoute>();
  const renamed = new Set<string>();
  const owners = new Map<string, string>();
  for (const { upstream, original, key } of claims) {
    const owner = owners.get(key) ?? upstream;
    owners.set(key, owner);
    const keeps = owner === upstream && markOf(original, known) === undefined;
    const name = keeps ? original : mark(original, upstream);
    if (!keeps) {
      renamed.add(upstream);
    }
    exposed.set(identityOf(upstream, original), name);
    routes.set(name, { upstream, uri: original });
  }
  return { exposed, routes, renamed };
}

/** An upstream can only name what another one owns if there is another one that owns something. */
function renamedOf(sources: readonly UriSource[], offered: Offered): ReadonlySet<string> {
  const owning = sources.filter(({ uris, templates }) => uris.length + templates.length > 0);
  const may = sources.filter(
    ({ upstream }) => offered.renamed.has(upstream) || owning.some((source) => source.upstream !== upstream),
  );
  return new Set(may.map((source) => source.upstream));
}

/** Scheme with its colon, and the slashes of an authority where there is one. */
const SCHEME = /^(?:[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/)?)?/;
const MARKED = /^((?:[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/)?)?)([a-z0-9][a-z0-9_-]{0,31})!/;

/** Puts the id in front of the authority. Different pairs give different results; {@link markOf} is the inverse. */
function mark(uri: string, upstream: string): string {
  const scheme = SCHEME.exec(uri)?.[0] ?? '';
  return `${scheme}${upstream}!${uri.slice(scheme.length)}`;
}

function markOf(uri: string, known: ReadonlySet<string>): ResourceRoute | undefined {
  const found = MARKED.exec(uri);
  const [whole, scheme, upstream] = found ?? [];
  if (whole === undefined || upstream === undefined || !known.has(upstream)) {
    return undefined;
  }
  return { upstream, uri: `${scheme}${uri.slice(whole.length)}` };
}
