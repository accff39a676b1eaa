import { listingOf } from '../access/listing.ts';
import { type Access, EVERYTHING } from '../access/policy.ts';
import { viewFilter } from '../access/view-filter.ts';
import { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import { type HeaderMap, headerOf } from '../protocol/headers.ts';
import type { Entrance } from '../relay/context.ts';

/** Path and query of an endpoint: `/mcp`, `/mcp/<upstream id>`, `?names=dotted|strict`. */
export interface EndpointRoute {
  readonly Params: { readonly name?: string };
  readonly Querystring: {
    readonly names?: string | string[];
    /** Of the HTTP+SSE transport: the stream that a message is posted for. */
    readonly sessionId?: string | string[];
  };
}

/** What a client asked to be served, whether there is such a thing or not. */
export interface Door {
  /** Of a view or an upstream; undefined: `default`. */
  readonly name: string | undefined;
  /** Undefined: as the configuration has it. */
  readonly names: 'dotted' | 'strict' | undefined;
  /** The trace that the request belongs to, where its headers name one (W3C Trace Context). */
  readonly carrier?: { readonly traceparent: string; readonly tracestate: string | undefined } | undefined;
}

/** What a request says of that. */
interface Asking {
  readonly params: EndpointRoute['Params'];
  readonly query: EndpointRoute['Querystring'];
  readonly headers: HeaderMap;
}

/** Where this request wants to come in. Throws REQUEST_INVALID for a naming style unknown. */
export function doorOf(request: Asking): Door {
  const { names } = request.query;
  if (names !== undefined && names !== 'dotted' && names !== 'strict') {
    throw new GatewayError('REQUEST_INVALID', { detail: 'names must be dotted or strict.' });
  }
  return { name: request.params.name, names, carrier: carrierOf(request.headers) };
}

function carrierOf(headers: HeaderMap): Door['carrier'] {
  const traceparent = headerOf(headers, 'traceparent');
  return traceparent === undefined ? undefined : { traceparent, tracestate: headerOf(headers, 'tracestate') };
}

/**
 * The entrance to a view, or to one upstream alone; without a name to the view `default`, which is everything where the
 * configuration does not say otherwise. Throws ENDPOINT_UNKNOWN for a name that nothing has.
 */
export function entranceTo(settings: Settings, { name, names }: Door): Entrance {
  const everything = { filter: EVERYTHING, instructions: { own: settings.instructions, upstreams: true } };
  const view = viewNamed(settings, name ?? 'default');
  if (view !== undefined) {
    const listing = listingOf(view);
    return {
      id: name === undefined || name === 'default' ? 'default' : `view ${name}`,
      selection: { style: names ?? view.naming },
      filter: viewFilter(view),
      instructions: { own: view.instructions ?? settings.instructions, upstreams: view.upstreamInstructions },
      ...(listing === undefined ? {} : { listing }),
    };
  }
  if (name === undefined) {
    return { id: 'default', selection: { style: names ?? settings.naming.style }, ...everything };
  }
  if (!Object.hasOwn(settings.upstreams, name) || settings.upstreams[name]?.enabled !== true) {
    throw new GatewayError('ENDPOINT_UNKNOWN');
  }
  return { id: `upstream ${name}`, selection: { style: names ?? 'bare', upstream: name }, ...everything };
}

function viewNamed({ views }: Settings, name: string): Settings['views'][string] | undefined {
  return Object.hasOwn(views, name) ? views[name] : undefined;
}

/**
 * Throws ENDPOINT_UNKNOWN at the entrance of an upstream that somebody with these rights sees nothing of: whether it is
 * there is not theirs to know.
 */
export function requireEntrance(entrance: Entrance, access: Access): void {
  const { upstream } = entrance.selection;
  if (upstream !== undefined && !access.sees(upstream)) {
    throw new GatewayError('ENDPOINT_UNKNOWN');
  }
}
