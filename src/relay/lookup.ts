import { GatewayError } from '../base/errors.ts';
import type { Catalog, Entry, ResourceRoute } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { resourceAt, type View, viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import { callableByApps } from '../protocol/extensions.ts';
import { type Caller, type RequestContext, sightOf, viewFor } from './context.ts';
import type { Hello } from './hello.ts';
import { exists, logAbsence, requireScopes } from './permission.ts';
import type { SeenUris } from './seen-uris.ts';

/** Longest URI that is looked up: the longest that a list may hold, and room for what clients add. */
const LONGEST_URI = 65_536;
/** Shortest time between two refreshes of one upstream because of unknown names, in ms: names can be made up. */
const REFRESH_EVERY_MS = 5_000;

export interface LookupOptions {
  readonly store: Store<Caller>;
  readonly hello: Hello;
  readonly seen: SeenUris;
  readonly settings: () => Settings;
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
   * Throws NAME_UNKNOWN, UPSTREAM_DOWN where the likely owner was never reached, so nobody knows, whatever kept its list
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
    const renewed = store.of(context.principal).toolOf(entry.upstream, entry.original) ?? entry;
    if (!exists(renewed, context)) {
      throw this.#notFound('tools', name, [], context);
    }
    requireScopes(renewed, context);
    return renewed;
  }

  async #late(kind: 'tools' | 'prompts', name: string, context: RequestContext): Promise<Entry> {
    const { store, hello } = this.#options;
    const { upstreams } = this.#options.settings();
    const find = (catalog: Catalog) => viewNow(catalog, context).find(kind, name);
    const visible = hello.visible(context.entrance, context.access);
    const owners = visible.filter((id) => this.#mayOwn(id, name, context));
    const patience = Math.max(0, ...owners.map((id) => upstreams[id]?.timeouts.connect ?? 0));
    hello.wake(owners);
    await store.settled(owners, patience);
    const started = find(await store.ready(context, owners, patience));
    if (started !== undefined) {
      return started;
    }
    await this.#refresh(kind, owners, context);
    const catalog = store.of(context.principal);
    const found = find(catalog) ?? (kind === 'tools' ? this.#appTool(name, catalog, context) : undefined);
    if (found === undefined) {
      throw this.#notFound(kind, name, owners, context);
    }
    return found;
  }

  /** Whose name this would be, if it existed: only to know whom to ask and what to say, never to route. */
  #mayOwn(id: string, name: string, context: RequestContext): boolean {
    const namespace = this.#options.settings().upstreams[id]?.namespace ?? id;
    return context.entrance.selection.style === 'bare' || name.startsWith(namespace);
  }

  /**
   * A page of an MCP App calls the tools of its own server by the names that server gave them, and hosts pass those on
   * as they are: such a name goes to the one server here that owns it and lets apps call it.
   */
  #appTool(name: string, catalog: Catalog, context: RequestContext): Entry | undefined {
    const visible = this.#options.hello.visible(context.entrance, context.access);
    const owned = visible.flatMap((id) => catalog.toolOf(id, name) ?? []);
    const callable = owned.filter((entry) => callableByApps(entry.item) && exists(entry, context));
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
    const { store, hello } = this.#options;
    const catalog = store.of(context.principal);
    logAbsence({ kind, name, found: viewOf(catalog, context.entrance.selection).find(kind, name) }, context);
    const [fault] = owners.flatMap((id) => store.gap(context.principal, id, kind)?.fault ?? []);
    if (fault !== undefined) {
      return fault;
    }
    const unread = owners.find((id) => !catalog.parts.has(id) && !hello.reachable(id));
    const what = kind === 'tools' ? 'tool' : 'prompt';
    return unread === undefined
      ? new GatewayError('NAME_UNKNOWN', { detail: `(${what}: ${name.slice(0, 128)})` })
      : new GatewayError('UPSTREAM_DOWN', { upstream: unread });
  }

  /**
   * The owner of a resource: a listed URI, then a template that matches, then a URI that a result gave to this
   * principal, then the only server here that has resources at all. Each is judged by the URI that its server has for
   * it. Throws URI_UNKNOWN with the URI in `data`, or SCOPE_INSUFFICIENT.
   */
  async resource(uri: string, context: RequestContext): Promise<ResourceRoute> {
    if (uri.length > LONGEST_URI) {
      throw new GatewayError('URI_UNKNOWN');
    }
    const { hello, seen, store, settings } = this.#options;
    const waited = hello.visible(context.entrance, context.access);
    await store.settled(waited, hello.patience(waited));
    const catalog = await store.ready(context, waited, settings().lists.firstWait);
    const visible = hello.visible(context.entrance, context.access);
    const route = [
      viewNow(catalog, context).resource(uri),
      seen.find(context.principal, uri),
      soleOwner(
        visible.filter((id) => hello.upstreamDeclares(id, 'resources', context)),
        uri,
      ),
    ].find(
      (each) => each !== undefined && visible.includes(each.upstream) && exists(resourceAt(each), context),
    );
    if (route === undefined) {
      const whole = viewOf(catalog, context.entrance.selection).resource(uri);
      logAbsence({ kind: 'resources', name: uri, found: whole && resourceAt(whole) }, context);
      throw new GatewayError('URI_UNKNOWN', { data: { uri } });
    }
    requireScopes(resourceAt(route), context);
    return route;
  }
}

function viewNow(catalog: Catalog, context: RequestContext): View {
  return viewOf(catalog, context.entrance.selection, sightOf(context));
}

function soleOwner(able: readonly string[], uri: string): ResourceRoute | undefined {
  const [only, another] = able;
  return only === undefined || another !== undefined ? undefined : { upstream: only, uri };
}
