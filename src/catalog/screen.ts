import { type Item, KINDS, type Kind } from '../protocol/model.ts';
import type { Entries, Entry } from './entry.ts';
import { linkedUris } from './links.ts';
import { type Names, namesOf } from './names.ts';
import type { UpstreamPart } from './part.ts';
import { compileTemplate, firstMatch } from './template.ts';
import type { ResourceRoute } from './uris.ts';

/** What is served in the place of an item, by its name or URI template; undefined: it is withheld. */
export type Verdicts = ReadonlyMap<string, Item | undefined>;

/** Decides which items of the upstreams are served. Names and URIs do not depend on it. */
export interface Screen {
  /** About items that are not served as they are. The same for the same lists, until the store is rearranged. */
  judge(part: UpstreamPart, kind: Kind): Verdicts;
}

const NO_VERDICTS: Verdicts = new Map();

/** Everything is served as it is. */
export const OPEN: Screen = { judge: () => NO_VERDICTS };

/** What is there and not served: in no list, and what calls it is refused. */
export interface Withheld extends Names {
  readonly entries: readonly Entry[];
  /** The withheld template without which nothing leads to this URI of its upstream, or which it is as text. */
  coverOf(route: ResourceRoute): string | undefined;
}

/** The entries that are served, and those that are not. */
export function sifted(
  all: Entries,
  parts: ReadonlyMap<string, UpstreamPart>,
  screen: Screen,
): { readonly served: Entries; readonly withheld: readonly Entry[] } {
  const withheld: Entry[] = [];
  const served: Partial<Record<Kind, readonly Entry[]>> = {};
  for (const kind of KINDS) {
    const verdicts = new Map([...parts.values()].map((part) => [part.upstream, screen.judge(part, kind)]));
    const concerned = [...verdicts.values()].some(({ size }) => size > 0);
    served[kind] = !concerned
      ? all[kind]
      : all[kind].flatMap((entry) => {
          const verdict = verdicts.get(entry.upstream);
          if (verdict?.has(entry.original) !== true) {
            return [entry];
          }
          const item = verdict.get(entry.original);
          withheld.push(...(item === undefined ? [entry] : []));
          return item === undefined ? [] : [{ ...entry, item }];
        });
  }
  return { served: { ...all, ...served }, withheld };
}

/** Of entries that are withheld, beside those that are served. */
export function withheldOf(entries: readonly Entry[], served: Entries): Withheld {
  const ofKind = (kind: Kind) => entries.filter((entry) => entry.kind === kind);
  const templates = ofKind('templates');
  const covers = new Map<string, (uri: string) => string | undefined>();
  return {
    ...namesOf({ tools: ofKind('tools'), prompts: ofKind('prompts') }),
    entries,
    coverOf: ({ upstream, uri }) => {
      const isOfIt = (entry: Entry) => entry.upstream === upstream;
      if (!templates.some(isOfIt)) {
        return undefined;
      }
      const test =
        covers.get(upstream) ??
        coverIn(templates.filter(isOfIt), {
          resources: served.resources.filter(isOfIt),
          templates: served.templates.filter(isOfIt),
          tools: served.tools.filter(isOfIt),
        });
      covers.set(upstream, test);
      return test(uri);
    },
  };
}

/** Of one upstream. */
function coverIn(
  withheld: readonly Entry[],
  served: Pick<Entries, 'resources' | 'templates' | 'tools'>,
): (uri: string) => string | undefined {
  const offered = new Set([
    ...[...served.resources, ...served.templates].map(({ original }) => original),
    ...served.tools.flatMap(({ item }) => linkedUris(item)),
  ]);
  const texts = new Set(withheld.map(({ original }) => original));
  const compiled = (entries: readonly Entry[]) =>
    entries.map(({ original }) => ({ original, compiled: compileTemplate(original) }));
  const [closed, open] = [compiled(withheld), compiled(served.templates)];
  return (uri) => {
    if (texts.has(uri)) {
      return uri;
    }
    const isOpen = offered.has(uri) || firstMatch(open, uri) !== undefined;
    return isOpen ? undefined : firstMatch(closed, uri)?.original;
  };
}
