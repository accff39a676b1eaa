import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Catalog } from '../catalog/snapshot.ts';
import { type View, type ViewSelection, viewOf } from '../catalog/view.ts';
import type { EraCodec } from '../protocol/era-codec.ts';
import type { HeaderMap } from '../protocol/headers.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Implementation } from '../protocol/model.ts';
import type { Question } from '../upstream/calls.ts';

/** What the client is, as it says itself: labels and declarations, never a reason to trust it. */
export interface ClientFace {
  readonly info: Implementation;
  readonly capabilities: JsonObject;
  /** Least severe log level it wants to hear on the stream of this request; undefined: it did not ask. */
  readonly logLevel: string | undefined;
}

/** Where a request came in. */
export interface Entrance {
  /** `default`, or the id of the upstream that `/mcp/<id>` serves alone. Cursors and sessions are bound to it. */
  readonly id: string;
  readonly selection: ViewSelection;
}

/** One request, with everything it may read. The catalog is pinned once, so a swap never changes it midway. */
export interface RequestContext {
  readonly principal: Principal;
  readonly codec: EraCodec;
  readonly client: ClientFace;
  readonly entrance: Entrance;
  readonly catalog: Catalog;
  /** Aborts when the client no longer waits. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** HTTP headers, where there are some to check against the body (modern Streamable HTTP). */
  readonly headers: HeaderMap | undefined;
  /** Sends a notice on the stream of this request, before its result. */
  readonly notify: (notice: RpcNotification) => void;
  /** How to reach the client of a legacy session with a question of a server; undefined for modern clients. */
  readonly session: SessionFace | undefined;
}

/** A resource that can be watched, under the URI that the client used for it. */
export interface Watched {
  readonly uri: string;
  /** Starts watching: `updated` gets the URI to name in each notice. Returns how to stop. */
  readonly start: (updated: (uri: string) => void) => () => void;
}

export interface SessionFace {
  readonly sid: string;
  /** Asks on the stream of this request. Rejects with an RpcRefusal when the client answers with an error. */
  readonly ask: (question: Question) => Promise<JsonObject>;
  /** Asks on the session's own stream, outside any request; rejects where the client keeps none open. */
  readonly askAside: (question: Question) => Promise<JsonObject>;
  /** `logging/setLevel`: holds for the session from its next request on. */
  readonly setLogLevel: (level: string) => void;
  /** Tells the session of updates of a resource until `unwatch`, or until the session ends. Twice is once. */
  readonly watch: (watched: Watched) => void;
  readonly unwatch: (uri: string) => void;
}

export function viewFor(context: RequestContext): View {
  return viewOf(context.catalog, context.entrance.selection);
}

/** A member of params that has to be a string; throws PARAMS_INVALID naming it. */
export function requiredString(params: JsonObject | undefined, key: string): string {
  const value = params?.[key];
  if (typeof value !== 'string') {
    throw new GatewayError('PARAMS_INVALID', { detail: `params.${key} must be a string.` });
  }
  return value;
}
