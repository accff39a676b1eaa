import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import { whole } from '../base/long-text.ts';
import { searchTools } from '../catalog/search.ts';
import { CALL, DESCRIBE, SEARCH } from '../catalog/search-names.ts';
import type { Store } from '../catalog/store.ts';
import { type ListedItem, type View, viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import { type Caller, type RequestContext, sightOf } from './context.ts';
import {
  type Described,
  describeArguments,
  type SearchArguments,
  searchArguments,
} from './find-arguments.ts';
import { isSearched } from './find-tools.ts';
import type { Forward } from './forward.ts';
import type { Hello } from './hello.ts';
import type { Lookup } from './lookup.ts';
import type { Joined } from './progressive.ts';

export interface FinderOptions {
  readonly store: Store<Caller>;
  readonly hello: Hello;
  readonly lookup: Lookup;
  readonly forward: Pick<Forward, 'callTool'>;
  readonly joined: Joined;
  readonly settings: () => Settings;
}

/** Longest short description, in UTF-16 units, and arguments that are named. */
const LONGEST_SHORT = 200;
const MOST_NAMED = 16;
/** Definitions in one answer, as JSON in UTF-16 units, before the rest is told in short; the first is always whole. */
const MOST_DEFINED = 65_536;
/** Names that are offered instead of one that nothing has. */
const MOST_NEAR = 3;

/** Calls of tools where not all of them are listed: the gateway's own ones are answered here, all others pass. */
export class Finder {
  readonly #options: FinderOptions;

  constructor(options: FinderOptions) {
    this.#options = options;
  }

  callTool(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const { forward } = this.#options;
    if (!isSearched(context.entrance)) {
      return forward.callTool(params, context);
    }
    const args = objectAt(params, 'arguments') ?? {};
    switch (params?.['name']) {
      case SEARCH:
        return this.#search(read(args), context);
      case DESCRIBE:
        return this.#describe(read(args), context);
      case CALL:
        return this.#call(params, args, context);
      default:
        this.#named(params?.['name'], context);
        return forward.callTool(params, context);
    }
  }

  async #search(args: JsonObject, context: RequestContext): Promise<JsonObject> {
    const asked = searchArguments(args);
    if (typeof asked === 'string') {
      return failed(asked);
    }
    const { view, unread } = await this.#here(context);
    const found = await searchTools(view, asked);
    const page = found.slice(asked.offset, asked.offset + asked.limit);
    // A look around is no find: it would push out what was found before.
    if (asked.question !== '') {
      this.#options.joined.note(
        page.map(({ entry }) => entry),
        context,
      );
    }
    const servers = found.length === 0 || asked.question === '' ? { servers: serversOf(view) } : {};
    return answer({
      tools: asked.schemas ? withSchemas(page, context) : page.map(inShort),
      total: found.length,
      ...next(asked, found.length),
      ...servers,
      ...(unread.length === 0 ? {} : { unread }),
    });
  }

  async #describe(args: JsonObject, context: RequestContext): Promise<JsonObject> {
    const asked = describeArguments(args);
    if (typeof asked === 'string') {
      return failed(asked);
    }
    const { view } = await this.#here(context);
    const { found, unknown } = described(view, asked);
    this.#options.joined.note(
      found.map(({ entry }) => entry),
      context,
    );
    return answer({ tools: withSchemas(found, context), ...(unknown.length === 0 ? {} : { unknown }) });
  }

  /** The same as a call of that tool by its own name; only that the client could not send headers for it. */
  async #call(params: JsonObject, args: JsonObject, context: RequestContext): Promise<JsonObject> {
    const { name } = args;
    // `null` counts as not given, as models send it.
    const given = args['arguments'] ?? undefined;
    if (typeof name !== 'string') {
      return failed('name must be a string: the name of the tool to call.');
    }
    if (given !== undefined && !isObject(given)) {
      return failed('arguments must be an object.');
    }
    this.#named(name, context);
    try {
      return await this.#options.forward.callTool(
        { ...params, name, arguments: given ?? {} },
        { ...context, headers: undefined },
      );
    } catch (thrown) {
      if (!(thrown instanceof GatewayError) || thrown.code !== 'NAME_UNKNOWN') {
        throw thrown;
      }
      if (context.record !== undefined) {
        context.record.code = thrown.code;
      }
      return this.#unknown(name, context);
    }
  }

  /** To a client this name is an argument, and a wrong argument is for the model to correct. */
  async #unknown(name: string, context: RequestContext): Promise<JsonObject> {
    const { view } = await this.#here(context);
    const near = await searchTools(view, { question: name.slice(0, LONGEST_SHORT) });
    const names = near.slice(0, MOST_NEAR).map(({ item }) => String(item['name']));
    const instead = names.length === 0 ? '' : ` Is one of these meant: ${names.join(', ')}?`;
    return failed(`No tool of that name can be called here.${instead} ${SEARCH} finds what there is.`);
  }

  #named(name: unknown, context: RequestContext): void {
    if (typeof name === 'string' && context.entrance.listing?.mode === 'progressive') {
      const seen = this.#options.lookup.glance('tools', name, context);
      this.#options.joined.note(seen === undefined || seen.withheld ? [] : [seen.leads], context);
    }
  }

  /** What this client may use here, once it is read as for a list; and the servers whose tools could not be. */
  async #here(context: RequestContext): Promise<{ readonly view: View; readonly unread: readonly string[] }> {
    const { store, hello, settings } = this.#options;
    const { entrance, access, principal } = context;
    const visible = hello.visible(entrance, access);
    await store.settled(visible, hello.patience(visible));
    const catalog = await store.ready(context, visible, settings().lists.firstWait);
    const unread = visible.filter(
      (id) =>
        store.gap(principal, id, 'tools') !== undefined || !(catalog.parts.has(id) || hello.reachable(id)),
    );
    return { view: viewOf(catalog, entrance.selection, sightOf(context)), unread };
  }
}

/** With long texts decoded: they are read here. */
function read(args: JsonObject): JsonObject {
  return whole(args) as JsonObject; // whatever is in it, an object stays one
}

function described(
  view: View,
  { names }: Described,
): { readonly found: readonly ListedItem[]; readonly unknown: readonly string[] } {
  const byEntry = new Map(view.list('tools').map((tool) => [tool.entry, tool]));
  const found = new Set<ListedItem>();
  const unknown: string[] = [];
  for (const name of names) {
    const entry = view.find('tools', name);
    const tool = entry && byEntry.get(entry);
    if (tool === undefined) {
      unknown.push(name.slice(0, LONGEST_SHORT));
    } else {
      found.add(tool);
    }
  }
  return { found: [...found], unknown };
}

function inShort({ entry, item }: ListedItem): JsonObject {
  const schema = objectAt(item, 'inputSchema');
  const required = schema?.['required'];
  const needed = new Set(Array.isArray(required) ? required : []);
  const names = Object.keys(objectAt(schema, 'properties') ?? {});
  const named = [...names.filter((name) => needed.has(name)), ...names.filter((name) => !needed.has(name))];
  return {
    name: item['name'],
    server: entry.upstream,
    description: shortened(stringAt(item, 'description') ?? stringAt(item, 'title') ?? ''),
    arguments: [
      ...named.slice(0, MOST_NAMED).map((name) => (needed.has(name) ? name : `${name}?`)),
      ...(named.length > MOST_NAMED ? ['…'] : []),
    ],
  };
}

/** The first sentence, where one ends early enough. */
function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  if (line.length <= LONGEST_SHORT) {
    return line;
  }
  const start = line.slice(0, LONGEST_SHORT);
  const end = start.search(/[.!?] (?=[^.!?]*$)/);
  return end > LONGEST_SHORT / 3 ? start.slice(0, end + 1) : `${start.slice(0, -1)}…`;
}

/** Whole definitions in the form of the client's era; in short, and marked so, from where they become too many signs. */
function withSchemas(tools: readonly ListedItem[], { codec }: RequestContext): readonly JsonObject[] {
  let size = 0;
  return tools.map((tool, at) => {
    const whole = codec.encodeItem('tools', tool.item);
    size += JSON.stringify(whole).length;
    return at === 0 || size <= MOST_DEFINED ? whole : { ...inShort(tool), shortened: true };
  });
}

function next({ offset, limit }: SearchArguments, total: number): { readonly nextOffset?: number } {
  return offset + limit < total ? { nextOffset: offset + limit } : {};
}

function serversOf(view: View): readonly JsonObject[] {
  const counts = new Map<string, number>();
  for (const { entry } of view.list('tools')) {
    counts.set(entry.upstream, (counts.get(entry.upstream) ?? 0) + 1);
  }
  return [...counts].map(([server, tools]) => ({ server, tools }));
}

function answer(content: JsonObject): JsonObject {
  return { content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: content };
}

function failed(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true };
}
