import type { JsonObject } from '../base/json.ts';
import type { Settings } from '../config/settings.ts';

/** Where a client comes in: `/mcp`, or the path of the HTTP+SSE transport; with a name, the endpoint below it. */
export interface Endpoint {
  readonly path: string;
  readonly name: string | undefined;
}

/** What `/.well-known/…` of RFC 9728 begins with. */
export const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Where everything is served. */
export const MCP: Endpoint = { path: '/mcp', name: undefined };

/** Ids of upstreams and names of views; nothing else goes into URLs and headers. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** The endpoint below `path`, whether anything has that name or not; undefined for what can be no name. */
export function endpointOf(path: string, name: string | undefined): Endpoint | undefined {
  return name === undefined || NAME.test(name) ? { path, name } : undefined;
}

/**
 * What the URLs of this gateway begin with, as clients see them, such as `https://gw.example.com`. Never made from what
 * a request says of itself (case C-057). `port` is the one that it really listens on.
 */
export function publicBase({ host, publicUrl }: Settings['listen'], port: number): string {
  if (publicUrl !== undefined) {
    const { origin, pathname } = new URL(publicUrl);
    return `${origin}${pathname.replace(/\/+$/, '').replace(/\/mcp$/, '')}`;
  }
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** The resource that an endpoint is, in the sense of RFC 8707 and RFC 9728. */
export function resourceUrl(base: string, { path, name }: Endpoint): string {
  return `${base}${path}${name === undefined ? '' : `/${name}`}`;
}

/** Where its metadata is: the well-known part goes between host and path (RFC 9728, 3.1). */
export function metadataUrl(base: string, endpoint: Endpoint): string {
  const { origin, pathname } = new URL(resourceUrl(base, endpoint));
  return `${origin}${WELL_KNOWN}${pathname}`;
}

/**
 * Audiences of tokens that are good at an endpoint, where the configuration names none: the URL of the endpoint and that
 * of the whole gateway. So a token for one server alone is of no use anywhere else.
 */
export function ownAudiences(base: string, { path, name }: Endpoint): readonly string[] {
  const paths = path === MCP.path ? [path] : [MCP.path, path];
  return paths.flatMap((each) => {
    const whole = resourceUrl(base, { path: each, name: undefined });
    return name === undefined ? [whole] : [whole, resourceUrl(base, { path: each, name })];
  });
}

/** The metadata document of an endpoint (RFC 9728, 2). `title`: what people shall read. */
export function resourceMetadata(
  base: string,
  endpoint: Endpoint,
  { issuer, scopes }: NonNullable<Settings['auth']['jwt']>,
  title: string,
): JsonObject {
  return {
    resource: resourceUrl(base, endpoint),
    authorization_servers: [issuer],
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    resource_name: endpoint.name === undefined ? title : `${title}: ${endpoint.name}`,
  };
}
