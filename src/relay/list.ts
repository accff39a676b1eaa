import { createHash } from 'node:crypto';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Sealer } from '../base/sealed.ts';
import { mergeHints } from '../catalog/part.ts';
import type { Catalog } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { type ListedItem, type View, viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import type { EraCodec } from '../protocol/era-codec.ts';
import { type CacheHints, type Era, type Item, KIND_FACTS, type Kind } from '../protocol/model.ts';
import { type Caller, type RequestContext, sightOf } from './context.ts';
import { listingKey, type Shown, type ShownTools } from './find-list.ts';
import type { Hello } from './hello.ts';
import { KeptPages } from './kept-pages.ts';
import type { OfferedPage } from './record.ts';

const CURSOR = 'cursor';

/** One page, its items already serialised for the era of the client. */
export interface Page {
  readonly member: string;
  readonly items: string | Buffer;
  readonly nextCursor: string | undefined;
  readonly hints: CacheHints;
  readonly offered: OfferedPage;
}

export interface ListOptions {
  readonly store: Store<Caller>;
  readonly hello: Hello;
  readonly sealer: Sealer;
  readonly settings: () => Settings;
  readonly shown: Shown;
  /** Where there are other replicas, walks go on at any of them that has the same list. */
  readonly peers?: unknown;
}

/** Serves the merged lists. An item is serialised once per catalog, style and era; a page is made of such texts. */
export class Lists {
  readonly #options: ListOptions;
  readonly #texts = new WeakMap<readonly ListedItem[], Map<string, readonly string[]>>();
  /** Of one listed item in each era: views of one style share those, whatever each of them shows. */
  readonly #itemTexts: Record<Era, WeakMap<Item, string>> = { modern: new WeakMap(), legacy: new WeakMap() };

  readonly #pages = new KeptPages();

  constructor(options: ListOptions) {
    this.#options = options;
  }

  /**
   * One page of one kind. A list waits for first catalogs until the gateway is `lists.firstWait` old, then serves
   * what is there. Lists that are the client's own are read first where they are due. Throws METHOD_UNKNOWN where no
   * server here has the kind, CURSOR_INVALID for a cursor that is foreign, forged or outdated, and where one upstream is
   * served alone whatever keeps its list from this client: that is not an empty list.
   */
  async page(kind: Kind, params: JsonObject | undefined, context: RequestContext): Promise<Page> {
    const { store, hello } = this.#options;
    const { pageSize, maxTtl } = this.#options.settings().lists;
    const visible = this.#listedFrom(kind, context);
    await store.settled(visible, hello.patience(visible));
    const { catalog, position, order } = await this.#start(kind, params, context);
    const { capability, member } = KIND_FACTS[kind];
    if (!hello.promised(context, capability)) {
      throw new GatewayError('METHOD_UNKNOWN', { detail: `No server here offers ${capability}.` });
    }
    const gaps = visible.flatMap((id) => store.gap(context.principal, id, kind) ?? []);
    const [fault] = gaps.flatMap((gap) => gap.fault ?? []);
    if (fault !== undefined && context.entrance.selection.upstream !== undefined) {
      throw fault;
    }
    const view = viewOf(catalog, context.entrance.selection, sightOf(context));
    const { own, listed, joined } = await this.#listed(kind, view, context);
    if (order !== undefined && order !== orderOf(kind, own, listed)) {
      throw new GatewayError('CURSOR_INVALID');
    }
    const known = this.#serialised(listed, kind, context.codec);
    const texts = own.length === 0 ? known : [...this.#all(kind, own, context.codec), ...known];
    const size = pageSize === 0 ? texts.length : pageSize;
    const end = Math.min(texts.length, position + size);
    // What has joined since has no place in a walk: it is on the first page.
    const more = position === 0 ? joined : [];
    const offered =
      more.length === 0
        ? { listed, from: Math.max(0, position - own.length), to: Math.max(0, end - own.length) }
        : withMore(listed.slice(0, Math.max(0, end - own.length)), more);
    return {
      member,
      items:
        texts === known && more.length === 0
          ? this.#pages.of(known, position, end)
          : [...texts.slice(position, end), ...this.#all(kind, more.map(itemOf), context.codec)].join(','),
      nextCursor:
        end < texts.length
          ? this.#cursor(catalog, { kind, position: end, ...this.#orderOf(kind, own, listed) }, context)
          : undefined,
      hints: ownHints(hintsOf(catalog, kind, visible, maxTtl), context, gaps.length > 0),
      offered: { kind, revision: catalog.revision, ...offered },
    };
  }

  /** Where the page begins, and in which catalog: a walk goes on in the one it began in (case C-019). */
  async #start(
    kind: Kind,
    params: JsonObject | undefined,
    context: RequestContext,
  ): Promise<{ catalog: Catalog; position: number; order?: string | undefined }> {
    const { store, sealer } = this.#options;
    const cursor = params?.['cursor'];
    if (cursor === undefined || cursor === null) {
      const visible = this.#listedFrom(kind, context);
      const { firstWait } = this.#options.settings().lists;
      return { catalog: await store.ready(context, visible, firstWait), position: 0 };
    }
    const opened = typeof cursor === 'string' ? sealer.open(CURSOR, cursor) : undefined;
    const mine =
      opened !== undefined &&
      opened['principal'] === context.principal.key &&
      opened['entrance'] === entranceKey(context) &&
      opened['rights'] === rightsKey(context) &&
      opened['kind'] === kind;
    const { revision, position, order } = opened ?? {};
    if (!mine || typeof revision !== 'string' || typeof position !== 'number') {
      throw new GatewayError('CURSOR_INVALID');
    }
    const catalog = store.byRevision(revision, context.principal);
    if (catalog !== undefined) {
      return { catalog, position };
    }
    if (this.#options.peers === undefined || typeof order !== 'string') {
      throw new GatewayError('CURSOR_INVALID');
    }
    // Of another replica: it is good where the same items stand in the same places.
    const { firstWait } = this.#options.settings().lists;
    return {
      catalog: await store.ready(context, this.#listedFrom(kind, context), firstWait),
      position,
      order,
    };
  }

  #orderOf(kind: Kind, own: readonly Item[], listed: readonly ListedItem[]): { readonly order?: string } {
    return this.#options.peers === undefined ? {} : { order: orderOf(kind, own, listed) };
  }

  #cursor(
    catalog: Catalog,
    about: { readonly kind: Kind; readonly position: number; readonly order?: string },
    context: RequestContext,
  ): string {
    return this.#options.sealer.seal(CURSOR, {
      revision: catalog.revision,
      ...about,
      principal: context.principal.key,
      entrance: entranceKey(context),
      rights: rightsKey(context),
    });
  }

  /** The upstreams whose items a list may hold: where only pinned tools are listed, it waits for no other. */
  #listedFrom(kind: Kind, { entrance, access }: RequestContext): readonly string[] {
    const visible = this.#options.hello.visible(entrance, access);
    const { listing } = entrance;
    return kind === 'tools' && listing?.mode === 'search'
      ? visible.filter((id) => listing.pinned.sees(id))
      : visible;
  }

  #listed(kind: Kind, view: View, context: RequestContext): ShownTools | Promise<ShownTools> {
    return kind === 'tools'
      ? this.#options.shown.tools(view, context)
      : { own: [], listed: view.list(kind), joined: [] };
  }

  #all(kind: Kind, items: readonly Item[], codec: EraCodec): readonly string[] {
    return items.map((item) => this.#textOf(kind, item, codec));
  }

  #serialised(listed: readonly ListedItem[], kind: Kind, codec: EraCodec): readonly string[] {
    let known = this.#texts.get(listed);
    if (known === undefined) {
      known = new Map();
      this.#texts.set(listed, known);
    }
    const key = `${kind} ${codec.era}`;
    let texts = known.get(key);
    if (texts === undefined) {
      texts = listed.map(({ item }) => this.#textOf(kind, item, codec));
      known.set(key, texts);
    }
    return texts;
  }

  #textOf(kind: Kind, item: Item, codec: EraCodec): string {
    const known = this.#itemTexts[codec.era];
    let text = known.get(item);
    if (text === undefined) {
      text = JSON.stringify(codec.encodeItem(kind, item));
      known.set(item, text);
    }
    return text;
  }
}

const itemOf = ({ item }: ListedItem): Item => item;

function withMore(
  listed: readonly ListedItem[],
  more: readonly ListedItem[],
): Pick<OfferedPage, 'listed' | 'from' | 'to'> {
  const all = [...listed, ...more];
  return { listed: all, from: 0, to: all.length };
}

/**
 * A list that rules have made is nobody else's; one in which something is missing is out of date at once, and so is one
 * that grows with what its reader does.
 */
function ownHints(hints: CacheHints, { access, entrance }: RequestContext, incomplete: boolean): CacheHints {
  if (incomplete || entrance.listing?.mode === 'progressive') {
    return { ttlMs: 0, scope: 'private' };
  }
  return access.key === '' ? hints : { ...hints, scope: 'private' };
}

const orders = new WeakMap<readonly ListedItem[], string>();

/** Which items stand where in a list, whatever they say of themselves. */
function orderOf(kind: Kind, own: readonly Item[], listed: readonly ListedItem[]): string {
  const known = own.length === 0 ? orders.get(listed) : undefined;
  if (known !== undefined) {
    return known;
  }
  const { key } = KIND_FACTS[kind];
  const names = [...own, ...listed.map(itemOf)].map((item) => item[key]);
  const order = createHash('sha256').update(JSON.stringify(names)).digest('base64url').slice(0, 22);
  if (own.length === 0) {
    orders.set(listed, order);
  }
  return order;
}

function entranceKey(context: RequestContext): string {
  return `${context.entrance.id} ${context.entrance.selection.style}`;
}

/** What the client may see, and what of that is listed, as it was when the walk began. */
function rightsKey(context: RequestContext): string {
  const { listing } = context.entrance;
  const key = listing === undefined ? sightOf(context).key : `${sightOf(context).key} ${listingKey(listing)}`;
  return createHash('sha256').update(key).digest('base64url').slice(0, 16);
}

/**
 * The least remaining ttl and the most private scope of the parts (design, Catalog and cache; case C-053). A part
 * without a hint, out of date or stale counts as stale at once; no part at all as well.
 */
function hintsOf(catalog: Catalog, kind: Kind, upstreams: readonly string[], maxTtl: number): CacheHints {
  const now = Date.now();
  const parts = upstreams.flatMap((id) => {
    const part = catalog.parts.get(id);
    const list = part?.lists[kind];
    if (part === undefined || list === undefined) {
      return [];
    }
    const left = part.stale || list.hints.ttlMs === undefined ? 0 : list.readAt + list.hints.ttlMs - now;
    return [{ ttlMs: Math.max(0, left), scope: list.hints.scope }];
  });
  const merged = mergeHints(parts);
  return { ttlMs: Math.min(merged.ttlMs ?? 0, maxTtl), scope: merged.scope };
}
