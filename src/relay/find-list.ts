import type { Listing } from '../access/listing.ts';
import type { Entry } from '../catalog/entry.ts';
import type { ListedItem, View } from '../catalog/view.ts';
import { forTheModel } from '../protocol/extensions.ts';
import type { Item } from '../protocol/model.ts';
import type { RequestContext } from './context.ts';
import type { CountTokens } from './find-tokens.ts';
import { GATEWAY_TOOLS, isSearched } from './find-tools.ts';
import type { Joined } from './progressive.ts';

/** What a list of tools holds, in this order. */
export interface ShownTools {
  /** The gateway's own. */
  readonly own: readonly Item[];
  /** The same object for all who see the same. */
  readonly listed: readonly ListedItem[];
  /** What is listed for this principal besides. */
  readonly joined: readonly ListedItem[];
}

/** Where the tools of a view stand. One that is for the pages of MCP Apps alone may be in neither. */
export interface Standing {
  readonly listed: ReadonlySet<Entry>;
  readonly found: ReadonlySet<Entry>;
}

/** How much JSON text of a list is counted before others get their turn. */
const SLICE = 50;

const NOTHING: readonly never[] = [];

/** Which of the tools that may be used at an entrance are in the list there. */
export class Shown {
  readonly #joined: Joined;
  readonly #tokenizer: () => Promise<CountTokens>;
  readonly #chosen = new WeakMap<View, Map<string, Promise<readonly ListedItem[]>>>();
  readonly #counts = new WeakMap<Item, number>();

  constructor(joined: Joined, tokenizer: () => Promise<CountTokens>) {
    this.#joined = joined;
    this.#tokenizer = tokenizer;
  }

  /** `view`: all that may be used there. */
  tools(
    view: View,
    context: Pick<RequestContext, 'principal' | 'entrance'>,
  ): ShownTools | Promise<ShownTools> {
    const { listing } = context.entrance;
    const all = view.list('tools');
    return listing === undefined
      ? { own: NOTHING, listed: all, joined: NOTHING }
      : this.#narrowed(view, listing, context);
  }

  async #narrowed(
    view: View,
    listing: Listing,
    context: Pick<RequestContext, 'principal' | 'entrance'>,
  ): Promise<ShownTools> {
    const all = view.list('tools');
    const listed = await this.#choice(view, listing);
    const isWhole = listed.length === all.length;
    if (!isSearched(context.entrance) || (listing.mode === 'list' && isWhole)) {
      return { own: NOTHING, listed, joined: NOTHING };
    }
    await this.#joined.caughtUp(context);
    const pinned = new Set(listed);
    const more = this.#joined.among(all, context).filter((tool) => !pinned.has(tool));
    const room =
      listing.maxTokens - (await this.#sum([...GATEWAY_TOOLS, ...listed.map(({ item }) => item)], listing));
    const joined = listing.maxTokens === 0 ? more : await this.#fitting(more, room);
    return { own: GATEWAY_TOOLS, listed, joined };
  }

  /** The tools of a view that are in the list there, and those that `search_tools` finds instead. */
  async standing(view: View, context: Pick<RequestContext, 'principal' | 'entrance'>): Promise<Standing> {
    const { own, listed, joined } = await this.tools(view, context);
    const inList = new Set([...listed, ...joined].map(({ entry }) => entry));
    const rest = own.length === 0 ? [] : view.list('tools').filter(({ entry }) => !inList.has(entry));
    return {
      listed: inList,
      found: new Set(rest.map(({ entry }) => entry).filter(({ item }) => forTheModel(item))),
    };
  }

  #choice(view: View, listing: Listing): Promise<readonly ListedItem[]> {
    const known = this.#chosen.get(view) ?? new Map<string, Promise<readonly ListedItem[]>>();
    this.#chosen.set(view, known);
    const key = listingKey(listing);
    const choice = known.get(key) ?? this.#choose(view, listing);
    known.set(key, choice);
    return choice;
  }

  async #choose(view: View, { mode, pinned, maxTokens }: Listing): Promise<readonly ListedItem[]> {
    const all = view.list('tools');
    const first = all.filter(({ entry }) => pinned.shows(entry));
    const rest = mode === 'list' ? all.filter(({ entry }) => !pinned.shows(entry)) : [];
    const wanted = rest.length === all.length ? all : [...first, ...rest];
    if (maxTokens === 0) {
      return wanted;
    }
    const whole = await this.#fitting(wanted, maxTokens);
    // Where all of a list fits, nothing has to be found.
    return mode === 'list' && whole.length === wanted.length
      ? whole
      : this.#fitting(wanted, maxTokens - (await this.#sum(GATEWAY_TOOLS, { maxTokens })));
  }

  /** As many from the beginning as fit into so many tokens; whole where that is all. */
  async #fitting(tools: readonly ListedItem[], most: number): Promise<readonly ListedItem[]> {
    const count = await this.#tokenizer();
    let sum = 0;
    for (const [at, { item }] of tools.entries()) {
      sum += this.#tokens(item, count);
      if (sum > most) {
        return tools.slice(0, at);
      }
      if (at % SLICE === SLICE - 1) {
        await new Promise(setImmediate);
      }
    }
    return tools;
  }

  async #sum(items: readonly Item[], { maxTokens }: Pick<Listing, 'maxTokens'>): Promise<number> {
    if (maxTokens === 0) {
      return 0;
    }
    const count = await this.#tokenizer();
    return items.reduce((sum, item) => sum + this.#tokens(item, count), 0);
  }

  #tokens(item: Item, count: CountTokens): number {
    const tokens = this.#counts.get(item) ?? count(JSON.stringify(item));
    this.#counts.set(item, tokens);
    return tokens;
  }
}

/** Equal for two that choose the same from the same. */
export function listingKey(listing: Listing | undefined): string {
  return listing === undefined ? '' : JSON.stringify([listing.mode, listing.pinned.key, listing.maxTokens]);
}
