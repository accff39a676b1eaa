import { GatewayError } from '../base/errors.ts';
import type { Entry, ResourceRoute } from '../catalog/snapshot.ts';
import type { Store } from '../catalog/store.ts';
import { viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
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
   * The tool or prompt of that name. A name that is not there may have appeared since the last list, so its likely
   * owner is asked once before the answer. Throws NAME_UNKNOWN.
   */
  async entry(kind: 'tools' | 'prompts', name: string, context: RequestContext): Promise<Entry> {
    const { store } = this.#options;
    const known = viewFor(context).find(kind, name);
    if (known !== undefined) {
      return known;
    }
    for (const owner of this.#likelyOwners(name, context)) {
      await store.refresh(owner, [kind]);
    }
    const found = viewOf(store.current, context.entrance.selection).find(kind, name);
    if (found === undefined) {
      context.log.info({ kind, name: name.slice(0, 128), reason: 'unknown' }, 'no such name');
      throw new GatewayError('NAME_UNKNOWN', {
        detail: `(${kind === 'tools' ? 'tool' : 'prompt'}: ${name.slice(0, 128)})`,
      });
    }
    return found;
  }

  /** Whose name this would be, if it existed: only to know whom to ask, never to route. */
  #likelyOwners(name: string, context: RequestContext): readonly string[] {
    const { settings, hello } = this.#options;
    const now = Date.now();
    const likely = hello.visible(context.entrance).filter((id) => {
      const namespace = settings.upstreams[id]?.namespace ?? id;
      const due = now - (this.#refreshedAt.get(id) ?? 0) >= REFRESH_EVERY_MS;
      return (
        due &&
        hello.reachable(id) &&
        (context.entrance.selection.style === 'bare' || name.startsWith(namespace))
      );
    });
    for (const id of likely) {
      this.#refreshedAt.set(id, now);
    }
    return likely;
  }

  /**
   * The owner of a resource: a listed URI, then a template that matches, then a URI that a result gave to this
   * principal, then the only server here that has resources at all. Throws URI_UNKNOWN with the URI in `data`.
   */
  resource(uri: string, context: RequestContext): ResourceRoute {
    const { hello, seen } = this.#options;
    const route = viewFor(context).resource(uri) ?? seen.find(context.principal, uri);
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
