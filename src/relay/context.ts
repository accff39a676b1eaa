import type { Listing } from '../access/listing.ts';
import type { Access } from '../access/policy.ts';
import type { Principal } from '../access/principal.ts';
import type { ViewFilter } from '../access/view-filter.ts';
import type { EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Catalog } from '../catalog/snapshot.ts';
import { type Sight, type View, type ViewSelection, viewOf } from '../catalog/view.ts';
import type { EraCodec } from '../protocol/era-codec.ts';
import type { HeaderMap } from '../protocol/headers.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Implementation } from '../protocol/model.ts';
import type { Question } from '../upstream/call.ts';
import type { RequestRecord } from './record.ts';

/** What the client is, as it says itself: labels and declarations, never a reason to trust it. */
export interface ClientFace {
  readonly info: Implementation;
  readonly capabilities: JsonObject;
  /** Least severe log level it wants to hear on the stream of this request; undefined: it did not ask. */
  readonly logLevel: string | undefined;
}

/** Where a request came in. */
export interface Entrance {
  /** `default`, `view <name>`, or `upstream <id>` for one alone. Cursors and sessions are bound to it. */
  readonly id: string;
  readonly selection: ViewSelection;
  /** What of the catalog belongs here, whoever asks. */
  readonly filter: ViewFilter;
  readonly instructions: Instructions;
  /** Which of the tools that may be used there are listed; absent: all of them, in the order of the catalog. */
  readonly listing?: Listing;
}

/** What of instructions for the model is told at an entrance. */
export interface Instructions {
  readonly own: string | undefined;
  /** Whether those of the upstreams are added. */
  readonly upstreams: boolean;
}

/** One request, with everything it may read. Catalog and rights are pinned once, so nothing changes them midway. */
export interface RequestContext {
  readonly principal: Principal;
  /** What the principal may use. */
  readonly access: Access;
  readonly codec: EraCodec;
  readonly client: ClientFace;
  readonly entrance: Entrance;
  /** Where it stands whenever this is called: for what outlives the request. Undefined: it is not let in any more. */
  readonly now: () => Standpoint | undefined;
  readonly catalog: Catalog;
  /** Aborts when the client no longer waits. */
  readonly signal: EndSignal;
  readonly log: Log;
  /** HTTP headers, where there are some to check against the body (modern Streamable HTTP). */
  readonly headers: HeaderMap | undefined;
  /** Sends a notice on the stream of this request, before its result. */
  readonly notify: (notice: RpcNotification) => void;
  /** How to reach the client of a legacy session with a question of a server; undefined for modern clients. */
  readonly session: SessionFace | undefined;
  /** What becomes of it, to be written into; absent where nobody wants to know. */
  readonly record?: RequestRecord;
  /** The trace that it belongs to, as its HTTP request says. */
  readonly carrier?: { readonly traceparent: string; readonly tracestate: string | undefined } | undefined;
}

/** Who asks, as far as it decides on which connection an upstream is asked. */
export type Caller = Pick<RequestContext, 'principal' | 'codec' | 'client' | 'session'>;

/** Where somebody stands, and what they may use: what decides about everything that is visible from there. */
export type Standpoint = Pick<RequestContext, 'entrance' | 'access'>;

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

/** Whether a client with these rights sees anything of this upstream at an entrance. */
export function seesUpstream(upstream: string, { entrance, access }: Standpoint): boolean {
  const { selection, filter } = entrance;
  const here = selection.upstream === undefined || selection.upstream === upstream;
  return here && filter.sees(upstream) && access.sees(upstream);
}

/** What a client sees at an entrance: what belongs there, and the principal may use. */
export function sightOf({ entrance: { filter }, access }: Standpoint): Sight {
  return {
    key: filter.key + access.key === '' ? '' : JSON.stringify([filter.key, access.key]),
    shows: (subject) => filter.shows(subject) && access.shows(subject),
  };
}

/**
 * What is listed there, as far as it is the same for all with equal rights: for whoever wants to know whether a list has
 * changed. More than that where it depends on the principal, or on how much fits.
 */
export function listedSightOf(where: Standpoint): Sight {
  const sight = sightOf(where);
  const { listing } = where.entrance;
  return listing?.mode !== 'search'
    ? sight
    : {
        key: JSON.stringify([sight.key, listing.pinned.key]),
        shows: (subject) =>
          sight.shows(subject) && (subject.kind !== 'tools' || listing.pinned.shows(subject)),
      };
}

export function viewFor(context: RequestContext): View {
  return viewOf(context.catalog, context.entrance.selection, sightOf(context));
}

/** A member of params that has to be a string; throws PARAMS_INVALID naming it. */
export function requiredString(params: JsonObject | undefined, key: string): string {
  const value = params?.[key];
  if (typeof value !== 'string') {
    throw new GatewayError('PARAMS_INVALID', { detail: `params.${key} must be a string.` });
  }
  return value;
}
