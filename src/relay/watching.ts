import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import type { ResourceRoute } from '../catalog/snapshot.ts';
import { resourceAt } from '../catalog/view.ts';
import type { Updates } from '../changes/updates.ts';
import type { Fleet } from '../upstream/fleet.ts';
import { type RequestContext, requiredString, viewFor, type Watched } from './context.ts';
import type { Hello } from './hello.ts';
import type { Lookup } from './lookup.ts';
import { exists } from './permission.ts';
import { ownPartyOf } from './reverse.ts';
import type { Tasks } from './tasks.ts';

const LEFT_OUT: ReadonlySet<ErrorCode> = new Set(['URI_UNKNOWN', 'UNAPPROVED']);

/** Most resources that one stream may ask for. */
const MOST_WATCHED = 1_000;
/** Most that one user watches over all sessions and streams. */
const MOST_OF_USER = 10_000;

/** The part of a listen filter that is honoured, as it is acknowledged; `start` returns how to stop. */
export interface Honoured {
  readonly filter: JsonObject;
  readonly start: (tell: (method: string, params: JsonObject) => void) => () => void;
}

export interface WatchingOptions {
  readonly lookup: Lookup;
  readonly hello: Hello;
  readonly updates: Updates;
  readonly tasks: Tasks;
  readonly fleet: Pick<Fleet, 'reach' | 'capabilities'>;
}

/** Subscriptions to single resources, in the forms of both eras. */
export class Watching {
  readonly #options: WatchingOptions;
  /** How many each principal watches now, by its key. */
  readonly #counts = new Map<string, number>();

  constructor(options: WatchingOptions) {
    this.#options = options;
  }

  /**
   * `resources/subscribe`. Throws URI_UNKNOWN, UPSTREAM_CAPABILITY where its server announces no updates, RATE_LIMITED
   * where this user watches too many already.
   */
  async subscribe(params: JsonObject | undefined, context: RequestContext): Promise<JsonObject> {
    const uri = requiredString(params, 'uri');
    const watched = await this.#watched(uri, context);
    if (watched === undefined) {
      throw new GatewayError('UPSTREAM_CAPABILITY', {
        detail: 'The server of this resource announces no updates.',
      });
    }
    this.#requireRoom(context, 1);
    context.session?.watch(watched);
    return {};
  }

  /** `resources/unsubscribe`. A URI that was not subscribed to is no fault. */
  unsubscribe(params: JsonObject | undefined, context: RequestContext): JsonObject {
    context.session?.unwatch(requiredString(params, 'uri'));
    return {};
  }

  /**
   * What of a listen filter, besides the lists, can be honoured for this client, and how to start it
   * (spec: patterns/subscriptions; SEP-2663 for `taskIds`). Throws CAPABILITY_MISSING where tasks are asked for without
   * the extension, RATE_LIMITED where this user watches too many resources already.
   */
  async honour(filter: unknown, context: RequestContext): Promise<Honoured> {
    const wanted = isObject(filter) ? filter : {};
    const watched = await this.#resources(wanted['resourceSubscriptions'], context);
    const tasks = this.#options.tasks.listenable(wanted['taskIds'], context);
    return {
      filter: {
        ...(watched.length === 0 ? {} : { resourceSubscriptions: watched.map(({ uri }) => uri) }),
        ...(tasks.length === 0 ? {} : { taskIds: tasks.map(({ id }) => id) }),
      },
      start: (tell) => {
        const stops = [
          ...watched.map(({ start }) => start((uri) => tell('notifications/resources/updated', { uri }))),
          ...tasks.map(({ start }) => start((task) => tell('notifications/tasks', task))),
        ];
        return () => {
          for (const stop of stops) {
            stop();
          }
        };
      },
    };
  }

  async #resources(wanted: unknown, context: RequestContext): Promise<readonly Watched[]> {
    const uris = Array.isArray(wanted) ? wanted.filter((uri) => typeof uri === 'string') : [];
    const asked = [...new Set(uris)].slice(0, MOST_WATCHED);
    const found = await Promise.all(asked.map((uri) => this.#watched(uri, context).catch(unknownUri)));
    const watched = found.filter((each) => each !== undefined);
    this.#requireRoom(context, watched.length);
    return watched;
  }

  async #watched(uri: string, context: RequestContext): Promise<Watched | undefined> {
    const { lookup, hello, updates } = this.#options;
    const route: ResourceRoute = await lookup.resource(uri, context);
    if (!hello.announcesUpdates(route.upstream, context)) {
      return undefined;
    }
    const expose = (updated: string) => {
      return updated === route.uri ? uri : viewFor(context).exposeUri(route.upstream, updated);
    };
    const party = ownPartyOf(context, this.#options.fleet, route.upstream);
    const start: Watched['start'] = (updated) => {
      const stop = updates.subscribe({ ...route, party }, (original) => {
        // It may be a part of what is watched, and be kept from this client; and what it may see may have changed.
        const here = context.now();
        if (here !== undefined && exists(resourceAt({ ...route, uri: original }), here)) {
          updated(expose(original));
        }
      });
      return this.#counted(context.principal.key, stop);
    };
    return { uri, start };
  }

  #requireRoom({ principal }: RequestContext, more: number): void {
    if (more > 0 && (this.#counts.get(principal.key) ?? 0) + more > MOST_OF_USER) {
      throw new GatewayError('RATE_LIMITED', {
        detail: `A user watches ${MOST_OF_USER} resources at most.`,
      });
    }
  }

  /** Counts one resource that is watched from now on, until it is stopped. */
  #counted(user: string, stop: () => void): () => void {
    const add = (more: number) => {
      const count = (this.#counts.get(user) ?? 0) + more;
      if (count === 0) {
        this.#counts.delete(user);
      } else {
        this.#counts.set(user, count);
      }
    };
    add(1);
    let watched = true;
    return () => {
      if (watched) {
        watched = false;
        add(-1);
      }
      stop();
    };
  }
}

/** A resource that does not exist, or waits for approval, is left out of the acknowledgement; any other fault is one. */
function unknownUri(thrown: unknown): undefined {
  if (!(thrown instanceof GatewayError && LEFT_OUT.has(thrown.code))) {
    throw thrown;
  }
}
