import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import { AuthorizationServer } from './authorization-server.ts';
import { type SharedTokens, TokenCache, type TokenWanted } from './token-cache.ts';
import { userHeader } from './user-header.ts';

/** What one connection signs in with. */
export interface Credential {
  /**
   * Headers for one request, by lower-case name: a promise only where they have to be got first. Never throws; rejects with
   * UPSTREAM_TOKEN while no token can be had, UPSTREAM_AUTH where there is none for this user.
   */
  headers(): CredentialHeaders | Promise<CredentialHeaders>;
  /** The upstream refused a request that carried these, with 401 or 403. True when it is worth another try. */
  refused(sent: CredentialHeaders, status: number): boolean;
  /** What whoever hears of a refusal can do about it. */
  readonly advice: string;
}

export type CredentialHeaders = Readonly<Record<string, string>>;

/** Those of one upstream. */
export interface Credentials {
  /** They are those of the calling user, so each user has connections of their own. */
  readonly own: boolean;
  /** `user` is asked at each request: the token a user comes with changes while a connection lives. */
  for(user: () => Principal | undefined): Credential;
  close(): Promise<void>;
}

const GATEWAYS = 'It does not accept the credentials of this gateway, whose operator has to see to it.';
const USERS = 'It does not accept you: ask its operator for access, or sign in again.';
/** Key of the token of the gateway itself; no grant of a user is empty. */
const EVERYBODY = '';

/**
 * What the configuration says; a child process gets its secrets through its environment instead. `shared`: tokens that
 * other replicas have got.
 */
export function createCredentials(upstream: UpstreamSettings, shared?: SharedTokens): Credentials {
  // One that is off may hold variables that are not set.
  if (upstream.kind !== 'http' || !upstream.enabled) {
    return fixed({});
  }
  const { type, token = '', name = '', value = `\${principal.id}` } = upstream.credentials;
  switch (type) {
    case 'none':
      return fixed({});
    case 'bearer':
      return fixed({ authorization: `Bearer ${token}` });
    case 'userHeader':
      return {
        own: true,
        for: (user) => ({
          advice: USERS,
          headers: async () => ({
            [name.toLowerCase()]: userHeader(value, someone(user(), upstream.id), upstream.id),
          }),
          refused: () => false,
        }),
        close: () => Promise.resolve(),
      };
    case 'clientCredentials':
    case 'tokenExchange':
      return withTokens(
        upstream.id,
        type === 'tokenExchange',
        new AuthorizationServer(upstream),
        new TokenCache(Date.now, shared),
      );
  }
}

function fixed(headers: CredentialHeaders): Credentials {
  const credential = { advice: GATEWAYS, headers: () => headers, refused: () => false };
  return { own: false, for: () => credential, close: () => Promise.resolve() };
}

function withTokens(
  upstream: string,
  own: boolean,
  server: AuthorizationServer,
  tokens: TokenCache,
): Credentials {
  const wantedFor = (user: Principal | undefined): TokenWanted => {
    const owner = own ? someone(user, upstream) : undefined;
    return {
      key: owner?.grant ?? EVERYBODY,
      until: owner?.expires,
      subject: owner?.presented?.(),
      ask: () => server.token(owner),
    };
  };
  return {
    own,
    for: (user) => ({
      advice: own ? USERS : GATEWAYS,
      headers: async () => ({ authorization: `Bearer ${await tokens.get(wantedFor(user()))}` }),
      refused: ({ authorization = '' }, status) =>
        tokens.refused(wantedFor(user()).key, authorization.slice('Bearer '.length), status),
    }),
    async close() {
      tokens.clear();
      await server.close();
    },
  };
}

/** A connection of a single user always has one; that it had none would be a fault of ours. */
function someone(user: Principal | undefined, upstream: string): Principal {
  if (user === undefined) {
    throw new GatewayError('INTERNAL', {
      upstream,
      logged: 'a request as nobody to a server for single users',
    });
  }
  return user;
}
