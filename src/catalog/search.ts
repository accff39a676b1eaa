import { isObject, objectAt, stringAt } from '../base/json.ts';
import { forTheModel } from '../protocol/extensions.ts';
import type { Item } from '../protocol/model.ts';
import type { Entry } from './entry.ts';
import { type Bag, bagOf, type Hit, SearchIndex } from './search-index.ts';
import { stemsOf } from './search-words.ts';
import type { ListedItem, View } from './view.ts';

/** Which tools are looked for. What is not given does not matter. */
export interface ToolQuery {
  /** In words; without any that say something, all tools that pass are found, in the order of the list. */
  readonly question: string;
  /** Ids of the upstreams. */
  readonly servers?: readonly string[] | undefined;
  readonly readOnly?: boolean | undefined;
  readonly destructive?: boolean | undefined;
}

/** What the name of its server in the question is worth to a tool. */
const NAMED = 1.6;
/** What it is worth to a tool that it only reads, where a question begins like one; and by which names it does. */
const READS = 1.5;
const QUESTION = /^(?:any|are|did|do|does|has|have|how|is|was|were|what|when|where|which|who|whose|why)\b/i;
const READING =
  /(?:^|[^a-z])(?:check|count|describe|find|get|inspect|list|lookup|query|read|search|show|view)(?:[^a-z]|$)/;
/** Most tools that indexes are kept for, in all views together: about half a kilobyte each. */
const MOST_INDEXED = 100_000;
/** Tools whose words are taken before others get their turn. */
const SLICE = 100;
/** What of a text is read, in UTF-16 units: what a tool is for stands at its beginning. */
const LONGEST_TEXT = 1_500;
/** Arguments that are read. */
const MOST_ARGUMENTS = 64;

interface Indexed {
  readonly tools: readonly ListedItem[];
  readonly index: SearchIndex;
}

/** By the view, which is one object for all who see the same, and another one as soon as anything in it is another. */
const indexes = new WeakMap<
  View,
  { readonly making: Promise<Indexed>; readonly size: number; readonly ref: WeakRef<View> }
>();
/** How many tools each is about; the one that was used last stands last. A view that is gone is not held back. */
const kept = new Map<WeakRef<View>, number>();

/**
 * The tools of a view that a question is about, the best first. Nothing but what the view shows is in the index, so
 * nothing else can be found, nor change what is. The index is made when it is first asked for; words are taken a slice at a time.
 */
export async function searchTools(view: View, query: ToolQuery): Promise<readonly ListedItem[]> {
  const { tools, index } = await indexOf(view);
  const words = stemsOf(query.question);
  const found = words.length === 0 ? tools : ranked(index.rate(words), tools, query.question, new Set(words));
  return found.filter(({ entry }) => passes(entry, query));
}

/** Whoever names a server means its tools rather than those of others; whoever asks a question wants to know, not to change. */
function ranked(
  hits: readonly Hit[],
  tools: readonly ListedItem[],
  question: string,
  words: ReadonlySet<string>,
): readonly ListedItem[] {
  const asks = QUESTION.test(question);
  const named = new Map<string, boolean>();
  const isNamed = (upstream: string) => {
    const known = named.get(upstream) ?? stemsOf(upstream).every((stem) => words.has(stem));
    named.set(upstream, known);
    return known;
  };
  return hits
    .flatMap(({ at, score }) => {
      const tool = tools[at];
      if (tool === undefined) {
        return [];
      }
      const named = isNamed(tool.entry.upstream) ? NAMED : 1;
      return [{ tool, score: score * named * (asks && reads(tool.entry) ? READS : 1) }];
    })
    .sort((one, other) => other.score - one.score)
    .map(({ tool }) => tool);
}

function reads({ original, item }: Entry): boolean {
  return objectAt(item, 'annotations')?.['readOnlyHint'] === true || READING.test(original);
}

function indexOf(view: View): Promise<Indexed> {
  const known = indexes.get(view);
  const one = known ?? { making: makeIndex(view), size: view.list('tools').length, ref: new WeakRef(view) };
  indexes.set(view, one);
  kept.delete(one.ref);
  kept.set(one.ref, one.size);
  if (known === undefined) {
    shorten();
  }
  return one.making;
}

/** Those go first that were not used for longest. */
function shorten(): void {
  let all = [...kept.values()].reduce((sum, size) => sum + size, 0);
  for (const [ref, size] of kept) {
    const view = ref.deref();
    if (view !== undefined && (all <= MOST_INDEXED || kept.size === 1)) {
      continue;
    }
    all -= size;
    kept.delete(ref);
    if (view !== undefined) {
      indexes.delete(view);
    }
  }
}

async function makeIndex(view: View): Promise<Indexed> {
  const tools = view.list('tools').filter(({ entry }) => forTheModel(entry.item));
  const bags: Bag[] = [];
  for (const { entry } of tools) {
    if (bags.length % SLICE === SLICE - 1 && !bagsOf.has(entry.item)) {
      await new Promise(setImmediate);
    }
    bags.push(bagOfTool(entry));
  }
  return { tools, index: new SearchIndex(bags) };
}

/** Of a definition; definitions outlive catalogs as long as they say the same. */
const bagsOf = new WeakMap<Item, { readonly upstream: string; readonly name: string; readonly bag: Bag }>();

function bagOfTool({ upstream, original, exposed, item }: Entry): Bag {
  const name = original === exposed.bare ? original : `${original} ${exposed.bare}`;
  const known = bagsOf.get(item);
  if (known?.upstream === upstream && known.name === name) {
    return known.bag;
  }
  const title = stringAt(item, 'title') ?? stringAt(objectAt(item, 'annotations'), 'title') ?? '';
  const args = Object.keys(objectAt(objectAt(item, 'inputSchema'), 'properties') ?? {});
  const bag = bagOf([
    { stems: stemsOf(name), weight: 2.5, usual: 3 },
    { stems: stemsOf(title.slice(0, LONGEST_TEXT)), weight: 1.5, usual: 3 },
    { stems: stemsOf(upstream), weight: 2, usual: 1 },
    { stems: stemsOf((stringAt(item, 'description') ?? '').slice(0, LONGEST_TEXT)), weight: 1, usual: 12 },
    { stems: stemsOf(args.slice(0, MOST_ARGUMENTS).join(' ')), weight: 0.6, usual: 6 },
  ]);
  bagsOf.set(item, { upstream, name, bag });
  return bag;
}

/** Hints that are not given count as the specification has them (spec 2026-07-28: schema, ToolAnnotations). */
function passes({ upstream, item }: Entry, { servers, readOnly, destructive }: ToolQuery): boolean {
  const hints = isObject(item['annotations']) ? item['annotations'] : {};
  const changesNothing = hints['readOnlyHint'] === true;
  const mayDestroy = !changesNothing && hints['destructiveHint'] !== false;
  return (
    (servers === undefined || servers.includes(upstream)) &&
    (readOnly === undefined || readOnly === changesNothing) &&
    (destructive === undefined || destructive === mayDestroy)
  );
}
