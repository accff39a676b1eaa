import { GatewayError } from '../base/errors.ts';
import type { Names } from '../catalog/names.ts';
import type { Catalog, Entry, ResourceRoute } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { resourceAt, type View, viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import { callableByApps } from '../protocol/extensions.ts';
import type { LockState } from '../vetting/lock.ts';
import { type Caller, type RequestContext, sightOf, viewFor } from './context.ts';
import type { Gone, GoneTool } from './gone.ts';
import type { Hello } from './hello.ts';
import { unapproved, wentAway } from './not-served.ts';
import { exists, logAbsence, requireScopes } from './permission.ts';
import type { SeenUris } from './seen-uris.ts';

/** Longest URI that is looked up: the longest that a list may hold, and room for what clients add. */
const LONGEST_URI = 65_536;
/** Shortest time between two refreshes of one upstream because of unknown names, in ms: names can be made up. */
const REFRESH_EVERY_MS = 5_000;

/** Who looks, and from where. */
export type Onlooker = Pick<RequestContext, 'principal' | 'entrance' | 'access'>;

/** What something leads to. withheld: a use is refused until it is approved. */
export interface Glimpse<T> {
  readonly leads: T;
  readonly withheld: boolean;
}

export interface LookupOptions {
  readonly store: Store<Caller>;
  readonly hello: Hello;
  readonly seen: SeenUris;
  readonly settings: () => Settings;
  readonly gone: Gone;
  /** What is approved. */
  readonly lock: () => LockState;
}

/**
 * From what a client names to the upstream that has it. Looked up in the catalog's routes, never parsed. What the client
 * may not see goes the same way as what does not exist, through the same waits, to the same answer.
 */
export class Lookup {
  readonly #options: LookupOptions;
  readonly #refreshedAt = new Map<string, number>();

  constructor(options: LookupOptions) {
    this.#options = options;
  }

  /**
   * The tool or prompt of that name. One that is not there may belong to a server that is still starting, or may have
   * appeared since the last list: its likely owner is waited for, and asked once, before the answer.
   * Throws NAME_UNKNOWN, TOOL_GONE for a tool that this client may hold in an old list, UNAPPROVED for what is withheld from
   * a client that may use it, UPSTREAM_DOWN where the likely owner was never reached, so nobody knows, whatever kept its list
   * from this client, or SCOPE_INSUFFICIENT. Nothing is promised where it is there.
   */
  entry(kind: 'tools' | 'prompts', name: string, context: RequestContext): Entry | Promise<Entry> {
    const found = viewFor(context).find(kind, name);
    const judged = (entry: Entry) => {
      requireScopes(entry, context);
      return entry;
    };
    return found === undefined ? this.#late(kind, name, context).then(judged) : judged(found);
  }

  /** The tool as its server describes it now, found anew and judged anew. It stays as it was where it is gone. */
  async again(entry: Entry, name: string, context: RequestContext): Promise<Entry> {
    const { store } = this.#options;
    await store.refresh(entry.upstream, ['tools'], context);
    const catalog = store.of(context.principal);
    const held = catalog.withheld.toolOf(entry.upstream, entry.original);
    const renewed = held ?? catalog.toolOf(entry.upstream, entry.original) ?? entry;
    if (!exists(renewed, context)) {
      throw this.#notFound('tools', name, [], context);
    }
    requireScopes(renewed, context);
    if (held !== undefined) {
      throw unapproved(held, this.#options.lock(), context);
    }
    return renewed;
  }

  /** What that name leads to right now: nobody is waited for, asked or told. Undefined: it is answered as unknown. */
  glance(kind: 'tools' | 'prompts', name: string, onlooker: Onlooker): Glimpse<Entry> | undefined {
    const catalog = this.#options.store.of(onlooker.principal);
    const found = this.#found(kind, name, catalog, onlooker);
    const held = found === undefined ? this.#held(kind, name, catalog, onlooker) : undefined;
    const leads = found ?? held;
    return leads && { leads, withheld: held !== undefined };
  }

  /** The same for a URI. */
  glanceAt(uri: string, onlooker: Onlooker): Glimpse<ResourceRoute> | undefined {
    const catalog = this.#options.store.of(onlooker.principal);
    const leads = uri.length > LONGEST_URI ? undefined : this.#routeOf(uri, catalog, onlooker);
    return leads && { leads, withheld: this.#coverOf(uri, leads, catalog, onlooker) !== undefined };
  }

  #found(kind: 'tools' | 'prompts', name: string, catalog: Catalog, onlooker: Onlooker): Entry | undefined {
    const found = viewNow(catalog, onlooker).find(kind, name);
    return found ?? (kind === 'tools' ? this.#appTool(name, catalog, onlooker) : undefined);
  }

  #held(kind: 'tools' | 'prompts', name: string, catalog: Catalog, onlooker: Onlooker): Entry | undefined {
    const held = viewNow(catalog, onlooker).withheld(kind, name);
    return held ?? (kind === 'tools' ? this.#appTool(name, catalog.withheld, onlooker) : undefined);
  }

  async #late(kind: 'tools' | 'prompts', name: string, context: RequestContext): Promise<Entry> {
    const { store, hello } = this.#options;
    const { upstreams } = this.#options.settings();
    const find = (catalog: Catalog) => viewNow(catalog, context).find(kind, name);
    const visible = hello.visible(context.entrance, context.access);
    const owners = visible.filter((id) => this.mayOwn(id, name, context));
    const patience = Math.max(0, ...owners.map((id) => upstreams[id]?.timeouts.connect ?? 0));
    hello.wake(owners);
    await store.settled(owners, patience);
    const started = find(await store.ready(context, owners, patience));
    if (started !== undefined) {
      return started;
    }
    await this.#refresh(kind, owners, context);
    const catalog = store.of(context.principal);
    const found = this.#found(kind, name, catalog, context);
    if (found === undefined) {
      throw this.#notFound(kind, name, owners, context);
    }
    return found;
  }

  /** Whose name this would be, if it existed: only to know whom to ask and what to say, never to route. */
  mayOwn(id: string, name: string, { entrance }: Pick<Onlooker, 'entrance'>): boolean {
    const namespace = this.#options.settings().upstreams[id]?.namespace ?? id;
    return entrance.selection.style === 'bare' || name.startsWith(namespace);
  }

  /**
   * A page of an MCP App calls the tools of its own server by the names that server gave them, and hosts pass those on
   * as they are: such a name goes to the one server here that owns it and lets apps call it.
   */
  #appTool(name: string, names: Names, onlooker: Onlooker): Entry | undefined {
    const visible = this.#options.hello.visible(onlooker.entrance, onlooker.access);
    const owned = visible.flatMap((id) => names.toolOf(id, name) ?? []);
    const callable = owned.filter((entry) => callableByApps(entry.item) && exists(entry, onlooker));
    return callable.length === 1 ? callable[0] : undefined;
  }

  async #refresh(
    kind: 'tools' | 'prompts',
    owners: readonly string[],
    context: RequestContext,
  ): Promise<void> {
    const { store, hello } = this.#options;
    const now = Date.now();
    // Made-up names of one user must not keep another's own lists from being read.
    const nameOf = (id: string) =>
      JSON.stringify([id, store.isOwn(context.principal, id, kind) ? context.principal.grant : null]);
    const due = owners.filter(
      (id) => hello.reachable(id) && now - (this.#refreshedAt.get(nameOf(id)) ?? 0) >= REFRESH_EVERY_MS,
    );
    for (const id of due) {
      this.#refreshedAt.delete(nameOf(id));
      this.#refreshedAt.set(nameOf(id), now);
    }
    this.#forgetRefreshes(now);
    await Promise.all(due.map((id) => store.refresh(id, [kind], context)));
  }

  /** In the order of their times: those that hold nothing back any more stand first. */
  #forgetRefreshes(now: number): void {
    for (const [name, at] of this.#refreshedAt) {
      if (now - at < REFRESH_EVERY_MS) {
        return;
      }
      this.#refreshedAt.delete(name);
    }
  }

  #notFound(
    kind: 'tools' | 'prompts',
    name: string,
    owners: readonly string[],
    context: RequestContext,
  ): GatewayError {
    const { store, hello, lock, gone } = this.#options;
    const catalog = store.of(context.principal);
    const held = this.#held(kind, name, catalog, context);
    if (held !== undefined) {
      requireScopes(held, context);
      return unapproved(held, lock(), context);
    }
    const [fault] = owners.flatMap((id) => store.gap(context.principal, id, kind)?.fault ?? []);
    const isUnread = (id: string) => catalog.parts.get(id)?.lists[kind] === undefined;
    const unread = owners.find((id) =>
      hello.reachable(id)
        ? hello.upstreamDeclares(id, kind, context) && isUnread(id)
        : !catalog.parts.has(id),
    );
    const went = fault === undefined && unread === undefined ? this.went(kind, name, context) : undefined;
    if (went !== undefined) {
      gone.count(context.client.info.name, name);
      return wentAway(went, viewNow(catalog, context), lock(), context);
    }
    const whole = viewOf(catalog, context.entrance.selection);
    logAbsence({ kind, name, found: whole.find(kind, name) ?? whole.withheld(kind, name) }, context);
    if (fault !== undefined) {
      return fault;
    }
    const what = kind === 'tools' ? 'tool' : 'prompt';
    if (unread === undefined) {
      return new GatewayError('NAME_UNKNOWN', { detail: `(${what}: ${name.slice(0, 128)})` });
    }
    const detail = hello.reachable(unread) ? { detail: `What ${what}s it has could not be read.` } : {};
    return new GatewayError('UPSTREAM_DOWN', { upstream: unread, ...detail });
  }

  /** A tool that was there under this name, and that the client could see if it still were. */
  went(kind: 'tools' | 'prompts', name: string, onlooker: Onlooker): GoneTool | undefined {
    if (kind !== 'tools') {
      return undefined;
    }
    const { principal, entrance } = onlooker;
    const { selection } = entrance;
    const tool = this.#options.gone.find(name, selection, this.#options.store.of(principal), principal);
    const isHere = selection.upstream === undefined || selection.upstream === tool?.upstream;
    return tool !== undefined && isHere && exists(tool, onlooker) ? tool : undefined;
  }

  /**
   * The owner of a resource: a listed URI, then a template that matches, then a URI that a result gave to this
   * principal, then the only server here that has resources at all. Each is judged by the URI that its server has for
   * it. Throws URI_UNKNOWN with the URI in `data`, SCOPE_INSUFFICIENT, or UNAPPROVED for what only a template leads to that
   * is withheld; a URI that a result gave to this principal was not made from it.
   */
  async resource(uri: string, context: RequestContext): Promise<ResourceRoute> {
    if (uri.length > LONGEST_URI) {
      throw new GatewayError('URI_UNKNOWN');
    }
    const { hello, store, settings } = this.#options;
    const waited = hello.visible(context.entrance, context.access);
    await store.settled(waited, hello.patience(waited));
    const catalog = await store.ready(context, waited, settings().lists.firstWait);
    const route = this.#routeOf(uri, catalog, context);
    if (route === undefined) {
      const whole = viewOf(catalog, context.entrance.selection).resource(uri);
      logAbsence({ kind: 'resources', name: uri, found: whole && resourceAt(whole) }, context);
      throw new GatewayError('URI_UNKNOWN', { data: { uri } });
    }
    requireScopes(resourceAt(route), context);
    const template = this.#coverOf(uri, route, catalog, context);
    if (template !== undefined) {
      const { upstream } = route;
      throw unapproved({ upstream, original: template }, this.#options.lock(), context);
    }
    return route;
  }

  /** The withheld template that this was made from: a URI that a result gave to this principal was made by its server. */
  #coverOf(uri: string, route: ResourceRoute, catalog: Catalog, { principal }: Onlooker): string | undefined {
    const given = this.#options.seen.find(principal, uri);
    return given === undefined ? catalog.withheld.coverOf(route) : undefined;
  }

  #routeOf(uri: string, catalog: Catalog, onlooker: Onlooker): ResourceRoute | undefined {
    const { hello, seen } = this.#options;
    const visible = hello.visible(onlooker.entrance, onlooker.access);
    return [
      viewNow(catalog, onlooker).resource(uri),
      seen.find(onlooker.principal, uri),
      soleOwner(
        visible.filter((id) => hello.upstreamDeclares(id, 'resources', onlooker)),
        uri,
      ),
    ].find(
      (each) => each !== undefined && visible.includes(each.upstream) && exists(resourceAt(each), onlooker),
    );
  }
}

function viewNow(catalog: Catalog, onlooker: Onlooker): View {
  return viewOf(catalog, onlooker.entrance.selection, sightOf(onlooker));
}

function soleOwner(able: readonly string[], uri: string): ResourceRoute | undefined {
  const [only, another] = able;
  return only === undefined || another !== undefined ? undefined : { upstream: only, uri };
}
