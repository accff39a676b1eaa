import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { ResourceRoute } from '../catalog/snapshot.ts';
import type { Updates } from '../changes/updates.ts';
import { type RequestContext, requiredString, viewFor } from './context.ts';
import type { Hello } from './hello.ts';
import type { Lookup } from './lookup.ts';

/** Most resources that one stream may ask for. */
const MOST_WATCHED = 1_000;

/** A resource that can be watched, under the URI that the client used for it. */
export interface Watched {
  readonly uri: string;
  /** Starts watching: `updated` gets the URI to name in each notice. Returns how to stop. */
  readonly start: (updated: (uri: string) => void) => () => void;
}

export interface WatchingOptions {
  readonly lookup: Lookup;
  readonly hello: Hello;
  readonly updates: Updates;
}

/** Subscriptions to single resources, in the forms of both eras. */
export class Watching {
  readonly #options: WatchingOptions;

  constructor(options: WatchingOptions) {
    this.#options = options;
  }

  /** `resources/subscribe`. Throws URI_UNKNOWN, or UPSTREAM_CAPABILITY where its server announces no updates. */
  async subscribe(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const uri = requiredString(params, 'uri');
    const watched = await this.#watched(uri, context);
    if (watched === undefined) {
      throw new GatewayError('UPSTREAM_CAPABILITY', {
        detail: 'The server of this resource announces no updates.',
      });
    }
    context.session?.watch(watched);
    return {};
  }

  /** `resources/unsubscribe`. A URI that was not subscribed to is no fault. */
  unsubscribe(params: JsonObject | undefined, context: RequestContext): JsonObject {
    context.session?.unwatch(requiredString(params, 'uri'));
    return {};
  }

  /** Those of the wanted URIs that can be watched: what an acknowledgement may name (spec: patterns/subscriptions). */
  async honoured(wanted: unknown, context: RequestContext): Promise<readonly Watched[]> {
    const uris = Array.isArray(wanted)
      ? wanted.filter((uri) => typeof uri === 'string').slice(0, MOST_WATCHED)
      : [];
    const found = await Promise.all(
      [...new Set(uris)].map((uri) => this.#watched(uri, context).catch(unknownUri)),
    );
    return found.filter((watched) => watched !== undefined);
  }

  async #watched(uri: string, context: RequestContext): Promise<Watched | undefined> {
    const { lookup, hello, updates } = this.#options;
    const route: ResourceRoute = await lookup.resource(uri, context);
    if (!hello.announcesUpdates(route.upstream)) {
      return undefined;
    }
    const expose = (updated: string) => {
      return updated === route.uri ? uri : viewFor(context).exposeUri(route.upstream, updated);
    };
    return { uri, start: (updated) => updates.subscribe(route, (original) => updated(expose(original))) };
  }
}

/** A resource that does not exist is left out of the acknowledgement; any other fault is one. */
function unknownUri(thrown: unknown): undefined {
  if (!(thrown instanceof GatewayError && thrown.code === 'URI_UNKNOWN')) {
    throw thrown;
  }
}
