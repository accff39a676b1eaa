import { GatewayError } from '../base/errors.ts';
import type { Entry, ResourceRoute } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import { callableByApps } from '../protocol/extensions.ts';
import { type RequestContext, viewFor } from './context.ts';
import type { Hello } from './hello.ts';
import type { SeenUris } from './seen-uris.ts';

/** Shortest time between two refreshes of one upstream because of unknown names, in ms: names can be made up. */
const REFRESH_EVERY_MS = 5_000;

export interface LookupOptions {
  readonly store: Store;
  readonly hello: Hello;
  readonly seen: SeenUris;
  readonly settings: Settings;
}

/** From what a client names to the upstream that has it. Looked up in the catalog's routes, never parsed. */
export class Lookup {
  readonly #options: LookupOptions;
  readonly #refreshedAt = new Map<string, number>();

  constructor(options: LookupOptions) {
    this.#options = options;
  }

  /**
   * The tool or prompt of that name. One that is not there may belong to a server that is still starting, or may have
   * appeared since the last list: its likely owner is waited for, and asked once, before the answer.
   * Throws NAME_UNKNOWN, or UPSTREAM_DOWN where the likely owner was never reached, so nobody knows.
   */
  async entry(kind: 'tools' | 'prompts', name: string, context: RequestContext): Promise<Entry> {
    const known = viewFor(context).find(kind, name);
    if (known !== undefined) {
      return known;
    }
    const { store, settings, hello } = this.#options;
    const find = () => viewOf(store.current, context.entrance.selection).find(kind, name);
    const owners = hello.visible(context.entrance).filter((id) => this.#mayOwn(id, name, context));
    const patience = Math.max(0, ...owners.map((id) => settings.upstreams[id]?.timeouts.connect ?? 0));
    await store.settled(owners, patience);
    const started = find();
    if (started !== undefined) {
      return started;
    }
    await this.#refresh(kind, owners);
    const found = find() ?? (kind === 'tools' ? this.#appTool(name, context) : undefined);
    if (found === undefined) {
      throw this.#notFound(kind, name, owners, context);
    }
    return found;
  }

  /** Whose name this would be, if it existed: only to know whom to ask and what to say, never to route. */
  #mayOwn(id: string, name: string, context: RequestContext): boolean {
    const { settings } = this.#options;
    const namespace = settings.upstreams[id]?.namespace ?? id;
    return context.entrance.selection.style === 'bare' || name.startsWith(namespace);
  }

  /**
   * A page of an MCP App calls the tools of its own server by their bare names, and hosts pass those on as they are: a
   * bare name goes to the one server here that owns it and lets apps call it.
   */
  #appTool(name: string, context: RequestContext): Entry | undefined {
    const { store, hello } = this.#options;
    const owned = hello.visible(context.entrance).flatMap((id) => store.current.toolOf(id, name) ?? []);
    const callable = owned.filter((entry) => callableByApps(entry.item));
    return callable.length === 1 ? callable[0] : undefined;
  }

  async #refresh(kind: 'tools' | 'prompts', owners: readonly string[]): Promise<void> {
    const now = Date.now();
    const due = owners.filter(
      (id) => this.#options.hello.reachable(id) && now - (this.#refreshedAt.get(id) ?? 0) >= REFRESH_EVERY_MS,
    );
    for (const id of due) {
      this.#refreshedAt.set(id, now);
    }
    await Promise.all(due.map((id) => this.#options.store.refresh(id, [kind])));
  }

  #notFound(
    kind: 'tools' | 'prompts',
    name: string,
    owners: readonly string[],
    context: RequestContext,
  ): GatewayError {
    const { store, hello } = this.#options;
    const cut = name.slice(0, 128);
    context.log.info({ kind, name: cut, reason: 'unknown' }, 'no such name');
    const unread = owners.find((id) => !store.current.parts.has(id) && !hello.reachable(id));
    return unread === undefined
      ? new GatewayError('NAME_UNKNOWN', { detail: `(${kind === 'tools' ? 'tool' : 'prompt'}: ${cut})` })
      : new GatewayError('UPSTREAM_DOWN', { upstream: unread });
  }

  /**
   * The owner of a resource: a listed URI, then a template that matches, then a URI that a result gave to this
   * principal, then the only server here that has resources at all. Throws URI_UNKNOWN with the URI in `data`.
   */
  async resource(uri: string, context: RequestContext): Promise<ResourceRoute> {
    const { hello, seen, store } = this.#options;
    await store.settled(hello.visible(context.entrance), hello.patience());
    const view = viewOf(store.current, context.entrance.selection);
    const route = view.resource(uri) ?? seen.find(context.principal, uri);
    const visible = hello.visible(context.entrance);
    if (route !== undefined && visible.includes(route.upstream)) {
      return route;
    }
    const able = visible.filter((id) => hello.upstreamDeclares(id, 'resources'));
    const [only] = able;
    if (only === undefined || able.length > 1) {
      throw new GatewayError('URI_UNKNOWN', { data: { uri } });
    }
    return { upstream: only, uri };
  }
}
