import { isObject, objectAt, stringAt } from '../base/json.ts';
import { forTheModel } from '../protocol/extensions.ts';
import type { Item } from '../protocol/model.ts';
import type { Entry } from './entry.ts';
import { bagOf, type Rated, SearchIndex } from './search-index.ts';
import { stemsOf, stemsOfQuestion } from './search-words.ts';
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
const NAMED = 2.5;
/** How many letters, at least, and half of all, name a server that begins or ends with them: "calendar" names `gcalendar`. */
const SHORTEST_PART = 4;
/** What it is worth to a tool that it only reads, where a question begins like one, and where something is to be done. */
const READS = 1.5;
const ONLY_READS = 0.7;
const QUESTION = /^(?:any|are|did|do|does|has|have|how|is|was|were|what|when|where|which|who|whose|why)\b/i;
const DOING =
  /^(?:(?:can|could|i|let|need|please|to|want|would|you) )*(?:add|answer|assign|book|buy|cancel|change|close|create|delete|drop|edit|enter|execute|get rid|give|let|log|make|mark|merge|move|mute|new|order|pause|post|publish|put|raise|record|remove|rename|reply|reserve|run|save|schedule|send|set|shut|start|stop|switch|tell|throw|trigger|turn|update|upload|write)\b/i;
/** By which names a tool only reads. */
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
  /** The stems of the ids of the servers. */
  readonly servers: ReadonlyMap<string, readonly string[]>;
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
  const all = await indexOf(view);
  const words = stemsOfQuestion(query.question);
  const found = words.length === 0 ? all.tools : ranked(all, query.question, words);
  const isFiltered = [query.servers, query.readOnly, query.destructive].some(
    (filter) => filter !== undefined,
  );
  return isFiltered ? found.filter(({ entry }) => passes(entry, query)) : found;
}

/** Whoever names a server means its tools rather than those of others; whoever asks a question wants to know, not to change. */
function ranked(
  { tools, index, servers }: Indexed,
  question: string,
  words: readonly string[],
): readonly ListedItem[] {
  const reading = QUESTION.test(question) ? READS : DOING.test(question) ? ONLY_READS : 1;
  const named = new Set([...servers].filter((server) => isNamed(server, words)).map(([id]) => id));
  const found: { readonly tool: ListedItem; readonly score: number }[] = [];
  for (const { at, score } of index.rate(words)) {
    const tool = tools[at];
    if (tool !== undefined) {
      const { entry } = tool;
      const kind = reading !== 1 && reads(entry) ? reading : 1;
      found.push({ tool, score: score * kind * (named.has(entry.upstream) ? NAMED : 1) });
    }
  }
  return found.sort((one, other) => other.score - one.score).map(({ tool }) => tool);
}

function isNamed([upstream, stems]: readonly [string, readonly string[]], words: readonly string[]): boolean {
  const parts = upstream.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return (
    (stems.length > 0 && stems.every((stem) => words.includes(stem))) ||
    words.some((word) => parts.some((part) => isMostOf(part, word)))
  );
}

function isMostOf(part: string, word: string): boolean {
  return (
    word.length >= Math.max(SHORTEST_PART, part.length / 2) &&
    (part.startsWith(word) || part.endsWith(word) || part.endsWith(`${word}s`))
  );
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
  const rated: Rated[] = [];
  for (const { entry } of tools) {
    if (rated.length % SLICE === SLICE - 1 && !ratedOf.has(entry.item)) {
      await new Promise(setImmediate);
    }
    rated.push(ratedTool(entry));
  }
  const servers = new Set(tools.map(({ entry }) => entry.upstream));
  return {
    tools,
    index: new SearchIndex(rated),
    servers: new Map([...servers].map((id) => [id, stemsOf(id)])),
  };
}

/** Of a definition; definitions outlive catalogs as long as they say the same. */
const ratedOf = new WeakMap<
  Item,
  { readonly upstream: string; readonly name: string; readonly rated: Rated }
>();

function ratedTool({ upstream, original, exposed, item }: Entry): Rated {
  const name = original === exposed.bare ? original : `${original} ${exposed.bare}`;
  const known = ratedOf.get(item);
  if (known?.upstream === upstream && known.name === name) {
    return known.rated;
  }
  const title = stringAt(item, 'title') ?? stringAt(objectAt(item, 'annotations'), 'title') ?? '';
  const args = Object.keys(objectAt(objectAt(item, 'inputSchema'), 'properties') ?? {});
  const bag = bagOf([
    { stems: stemsOf(name), weight: 2.5, usual: 3 },
    { stems: stemsOf(title.slice(0, LONGEST_TEXT)), weight: 1.5, usual: 3 },
    { stems: stemsOf(upstream), weight: 3, usual: 1 },
    { stems: stemsOf((stringAt(item, 'description') ?? '').slice(0, LONGEST_TEXT)), weight: 1.4, usual: 12 },
    { stems: stemsOf(args.slice(0, MOST_ARGUMENTS).join(' ')), weight: 0.75, usual: 6 },
  ]);
  const rated = { bag, name: stemsOf(original) };
  ratedOf.set(item, { upstream, name, rated });
  return rated;
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
