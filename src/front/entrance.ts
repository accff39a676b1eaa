import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import type { Entrance } from '../relay/context.ts';

/** Path and query of the MCP endpoint: `/mcp`, `/mcp/<upstream id>`, `?names=dotted|strict`. */
export interface EndpointRoute {
  readonly Params: { readonly name?: string };
  readonly Querystring: { readonly names?: string | string[] };
}

/** What is served where this request came in. Throws ENDPOINT_UNKNOWN, or REQUEST_INVALID for a naming style unknown. */
export function entranceOf(request: FastifyRequest<EndpointRoute>, settings: Settings): Entrance {
  const { names } = request.query;
  if (names !== undefined && names !== 'dotted' && names !== 'strict') {
    throw new GatewayError('REQUEST_INVALID', { detail: 'names must be dotted or strict.' });
  }
  return entranceTo(settings, request.params.name, names);
}

/** The entrance to everything, or to one upstream alone. Throws ENDPOINT_UNKNOWN for an upstream that is not there. */
export function entranceTo(
  settings: Settings,
  upstream: string | undefined,
  names: 'dotted' | 'strict' | undefined,
): Entrance {
  if (upstream === undefined) {
    return { id: 'default', selection: { style: names ?? settings.naming.style } };
  }
  if (!Object.hasOwn(settings.upstreams, upstream) || settings.upstreams[upstream]?.enabled !== true) {
    throw new GatewayError('ENDPOINT_UNKNOWN');
  }
  return { id: `upstream ${upstream}`, selection: { style: names ?? 'bare', upstream } };
}
