import type { FastifyInstance } from 'fastify';
import { type Endpoint, endpointOf, MCP, resourceMetadata, WELL_KNOWN } from '../access/resource.ts';
import { GatewayError } from '../base/errors.ts';
import type { FrontOptions } from './front.ts';
import { WITH_HEAD } from './http.ts';

/**
 * Where to sign in, for everybody (RFC 9728, 3). The document of an endpoint is the same whether anything is there or
 * not. Without a suffix it is that of the whole gateway, as the specification lets clients ask for it.
 */
export function metadataRoutes(server: FastifyInstance, front: FrontOptions): void {
  const serve = (suffix: string) => {
    const { auth, legacySse, name } = front.regime().settings;
    const { jwt } = auth;
    if (auth.mode !== 'jwt' || jwt === undefined) {
      throw new GatewayError('ENDPOINT_UNKNOWN');
    }
    const paths = legacySse.enabled ? [MCP.path, legacySse.path] : [MCP.path];
    const endpoint = endpointAt(suffix, new URL(front.base()).pathname.replace(/\/+$/, ''), paths);
    if (endpoint === undefined) {
      throw new GatewayError('ENDPOINT_UNKNOWN');
    }
    return resourceMetadata(front.base(), endpoint, jwt, name);
  };
  server.get(WELL_KNOWN, WITH_HEAD, async () => serve(''));
  server.get<{ Params: { '*': string } }>(`${WELL_KNOWN}/*`, WITH_HEAD, async ({ params }) =>
    serve(`/${params['*']}`),
  );
}

/** `before`: what the public URL has before the paths of the gateway; a proxy may have taken it away. */
function endpointAt(suffix: string, before: string, paths: readonly string[]): Endpoint | undefined {
  const whole = suffix.replace(/\/+$/, '');
  const path = before !== '' && whole.startsWith(`${before}/`) ? whole.slice(before.length) : whole;
  if (path === '') {
    return MCP;
  }
  const base = paths.find((each) => path === each || path.startsWith(`${each}/`));
  return base === undefined
    ? undefined
    : endpointOf(base, path === base ? undefined : path.slice(base.length + 1));
}
