import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Configuration, type JWK } from 'oidc-provider';

export interface AuthorizationServerOptions {
  /** Scopes that tokens may have. Default: `mcp` and `write`. */
  readonly scopes?: readonly string[];
  /** How long an access token lives, in seconds. */
  readonly ttl?: number;
  /** Whether clients get refresh tokens. */
  readonly refresh?: boolean;
}

/** A real OAuth 2.1 authorization server (oidc-provider). Whoever comes is signed in, and agrees to everything. */
export interface AuthorizationServer extends AsyncDisposable {
  readonly issuer: string;
  /** A client that is known before: with client credentials, and with the authorization code. */
  readonly client: { readonly id: string; readonly secret: string };
  /** Groups of each user, by id. */
  readonly groups: Map<string, readonly string[]>;
  /** Who signs in next. */
  user: string;
  /** Every code, token and secret that it gave out. */
  readonly secrets: readonly string[];
  /** A token of the known client itself, for one resource. */
  clientToken(resource: string, scope?: string): Promise<string>;
  /** Follows an authorization URL as the browser of the user does, to the redirect that brings the code back. */
  authorize(url: URL): Promise<URL>;
  /** Paths that were asked for, in order. */
  readonly asked: readonly string[];
}

export const REDIRECT = 'http://127.0.0.1:9/callback';

export async function startAuthorizationServer(
  options: AuthorizationServerOptions = {},
): Promise<AuthorizationServer> {
  const { scopes = ['mcp', 'write'], ttl = 300, refresh = true } = options;
  const client = { id: 'known', secret: randomBytes(24).toString('base64url') };
  const groups = new Map<string, readonly string[]>();
  const secrets: string[] = [client.secret];
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push((request.url ?? '').replace(/\?.*/, ''));
    const { url = '' } = request;
    if (url.startsWith('/interaction/')) {
      agree(provider, self.user, request, response).catch((thrown: unknown) => {
        response.writeHead(500).end(String(thrown));
      });
    } else {
      void provider.callback()(request, response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: 'first', alg: 'ES256', use: 'sig' } as JWK;
  const provider = new Provider(issuer, {
    ...configuration({ scopes, ttl, refresh, client, groups }),
    jwks: { keys: [jwk] },
  });
  const self: AuthorizationServer = {
    issuer,
    client,
    groups,
    user: 'ann',
    secrets,
    asked,
    async clientToken(resource, scope = scopes.join(' ')) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
        },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
      });
      const answer = (await response.json()) as { readonly access_token?: string };
      const { access_token: token } = answer;
      if (token === undefined) {
        throw new Error(`no token: ${JSON.stringify(answer)}`);
      }
      secrets.push(token);
      return token;
    },
    authorize: (url) => followed(url, secrets),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return self;
}

function configuration(about: {
  readonly scopes: readonly string[];
  readonly ttl: number;
  readonly refresh: boolean;
  readonly client: AuthorizationServer['client'];
  readonly groups: AuthorizationServer['groups'];
}): Configuration {
  const { scopes, ttl, refresh, client, groups } = about;
  return {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        application_type: 'native',
        redirect_uris: [REDIRECT],
        grant_types: ['client_credentials', 'authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope: scopes.join(' '),
      },
    ],
    clientDefaults: { application_type: 'native', id_token_signed_response_alg: 'ES256' },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: ['openid', ...scopes],
    findAccount: async (_context, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    extraTokenClaims: async (_context, token) =>
      'accountId' in token ? { groups: groups.get(String(token.accountId)) ?? [] } : {},
    issueRefreshToken: async (_context, client) => refresh && client.grantTypeAllowed('refresh_token'),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: {
      Interaction: 600,
      Session: 600,
      Grant: 600,
      RefreshToken: 600,
      AuthorizationCode: 60,
      ClientCredentials: ttl,
      AccessToken: ttl,
      IdToken: 600,
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true, initialAccessToken: false },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_context, audience) => ({
          audience,
          scope: scopes.join(' '),
          accessTokenFormat: 'jwt',
          accessTokenTTL: ttl,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}

type Handler = Parameters<Parameters<typeof createServer>[1] & object>;

/** Signs the user in and grants what the client asks for. */
async function agree(provider: Provider, user: string, ...[request, response]: Handler): Promise<void> {
  const { params } = await provider.interactionDetails(request, response);
  const grant = new provider.Grant({ accountId: user, clientId: String(params['client_id']) });
  const scope = String(params['scope'] ?? '');
  grant.addOIDCScope(scope);
  for (const resource of [params['resource']].flat()) {
    grant.addResourceScope(String(resource), scope);
  }
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { login: { accountId: user }, consent });
}

async function followed(url: URL, secrets: string[]): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = url;
  for (let hops = 0; hops < 10; hops += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) {
      throw new Error(`no redirect from ${next.pathname}: ${response.status} ${await response.text()}`);
    }
    next = new URL(location, next);
    if (next.href.startsWith(REDIRECT)) {
      const code = next.searchParams.get('code');
      secrets.push(...(code === null ? [] : [code]));
      return next;
    }
  }
  throw new Error(`too many redirects from ${url.pathname}`);
}
