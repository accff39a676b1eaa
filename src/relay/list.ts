import { createHash } from 'node:crypto';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Sealer } from '../base/sealed.ts';
import { mergeHints } from '../catalog/part.ts';
import type { Catalog } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { type View, viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import type { EraCodec } from '../protocol/era-codec.ts';
import { type CacheHints, type Era, type Item, KIND_FACTS, type Kind } from '../protocol/model.ts';
import { type Caller, type RequestContext, sightOf } from './context.ts';
import type { Hello } from './hello.ts';

const CURSOR = 'cursor';

/** One page, its items already serialised for the era of the client. */
export interface Page {
  readonly member: string;
  readonly items: string;
  readonly nextCursor: string | undefined;
  readonly hints: CacheHints;
}

export interface ListOptions {
  readonly store: Store<Caller>;
  readonly hello: Hello;
  readonly sealer: Sealer;
  readonly settings: () => Settings;
}

/** Serves the merged lists. An item is serialised once per catalog, style and era; a page is a join of such texts. */
export class Lists {
  readonly #options: ListOptions;
  readonly #texts = new WeakMap<View, Map<string, readonly string[]>>();
  /** Of one listed item in each era: views of one style share those, whatever each of them shows. */
  readonly #itemTexts: Record<Era, WeakMap<Item, string>> = { modern: new WeakMap(), legacy: new WeakMap() };

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
    const visible = hello.visible(context.entrance, context.access);
    await store.settled(visible, hello.patience(visible));
    const { catalog, position } = await this.#start(kind, params, context);
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
    const texts = this.#serialised(view, kind, context.codec);
    const size = pageSize === 0 ? texts.length : pageSize;
    const end = Math.min(texts.length, position + size);
    return {
      member,
      items: texts.slice(position, end).join(','),
      nextCursor: end < texts.length ? this.#cursor(catalog, kind, end, context) : undefined,
      hints: ownHints(hintsOf(catalog, kind, visible, maxTtl), context, gaps.length > 0),
    };
  }

  /** Where the page begins, and in which catalog: a walk goes on in the one it began in (case C-019). */
  async #start(
    kind: Kind,
    params: JsonObject | undefined,
    context: RequestContext,
  ): Promise<{ catalog: Catalog; position: number }> {
    const { store, sealer, hello } = this.#options;
    const cursor = params?.['cursor'];
    if (cursor === undefined || cursor === null) {
      const visible = hello.visible(context.entrance, context.access);
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
    const { revision, position } = opened ?? {};
    const catalog =
      mine && typeof revision === 'string' ? store.byRevision(revision, context.principal) : undefined;
    if (catalog === undefined || typeof position !== 'number') {
      throw new GatewayError('CURSOR_INVALID');
    }
    return { catalog, position };
  }

  #cursor(catalog: Catalog, kind: Kind, position: number, context: RequestContext): string {
    return this.#options.sealer.seal(CURSOR, {
      revision: catalog.revision,
      kind,
      position,
      principal: context.principal.key,
      entrance: entranceKey(context),
      rights: rightsKey(context),
    });
  }

  #serialised(view: View, kind: Kind, codec: EraCodec): readonly string[] {
    let known = this.#texts.get(view);
    if (known === undefined) {
      known = new Map();
      this.#texts.set(view, known);
    }
    const key = `${kind} ${codec.era}`;
    let texts = known.get(key);
    if (texts === undefined) {
      texts = view.list(kind).map(({ item }) => this.#textOf(kind, item, codec));
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

/** A list that rules have made is nobody else's; one in which something is missing is out of date at once. */
function ownHints(hints: CacheHints, { access }: RequestContext, incomplete: boolean): CacheHints {
  if (incomplete) {
    return { ttlMs: 0, scope: 'private' };
  }
  return access.key === '' ? hints : { ...hints, scope: 'private' };
}

function entranceKey(context: RequestContext): string {
  return `${context.entrance.id} ${context.entrance.selection.style}`;
}

/** What the client may see, as it was when the walk began. */
function rightsKey(context: RequestContext): string {
  return createHash('sha256').update(sightOf(context).key).digest('base64url').slice(0, 16);
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
