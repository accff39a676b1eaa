import { isObject, stringAt } from '../base/json.ts';

/** A JSON document from the network. `body` is undefined where the answer was not 200 with JSON. */
export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Rejects where there is no answer, or one too large. Follows no redirect. */
export type FetchJson = (url: string, signal: AbortSignal) => Promise<JsonAnswer>;

/**
 * Where the metadata of an issuer may be, in the order of the specification (2026-07-28:
 * basic/authorization/authorization-server-discovery): RFC 8414, then OpenID Connect Discovery in both of its forms.
 *
 * @internal exported for the tests
 */
export function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/+$/, '');
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return path === '' ? urls.slice(0, 2) : urls;
}

type MetadataVerdict = { readonly jwksUri: string } | { readonly unusable: string };

/**
 * Where the keys are, by one metadata document. It has to name the very issuer that it was asked about (RFC 8414, 3.3),
 * and keys of an https issuer come over https.
 */
function judgeMetadata(body: unknown, issuer: string): MetadataVerdict {
  if (!isObject(body)) {
    return { unusable: 'no metadata' };
  }
  if (body['issuer'] !== issuer) {
    return { unusable: 'metadata of another issuer' };
  }
  const jwksUri = stringAt(body, 'jwks_uri') ?? '';
  const protocol = URL.canParse(jwksUri) ? new URL(jwksUri).protocol : undefined;
  return protocol === 'https:' || (protocol === 'http:' && new URL(issuer).protocol === 'http:')
    ? { jwksUri }
    : { unusable: 'metadata without a usable jwks_uri' };
}

/** Looks for the keys of an issuer through its metadata. Rejects where none can be used, and like `fetchJson`. */
export async function discoverJwksUri(
  issuer: string,
  fetchJson: FetchJson,
  signal: AbortSignal,
): Promise<string> {
  const found: string[] = [];
  for (const url of metadataUrls(issuer)) {
    const { status, body } = await fetchJson(url, signal);
    const verdict = judgeMetadata(body, issuer);
    if ('jwksUri' in verdict) {
      return verdict.jwksUri;
    }
    found.push(`${new URL(url).pathname}: ${status}, ${verdict.unusable}`);
  }
  throw new Error(`the issuer has no metadata that can be used (${found.join('; ')})`);
}
