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
  const { name } = request.params;
  const { names } = request.query;
  if (names !== undefined && names !== 'dotted' && names !== 'strict') {
    throw new GatewayError('REQUEST_INVALID', { detail: 'names must be dotted or strict.' });
  }
  if (name === undefined) {
    return { id: 'default', selection: { style: names ?? settings.naming.style } };
  }
  if (!Object.hasOwn(settings.upstreams, name) || settings.upstreams[name]?.enabled !== true) {
    throw new GatewayError('ENDPOINT_UNKNOWN');
  }
  return { id: `upstream ${name}`, selection: { style: names ?? 'bare', upstream: name } };
}
