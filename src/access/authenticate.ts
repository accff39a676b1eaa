import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../config/settings.ts';
import { credentialOf, type SentHeaders } from './credential.ts';
import type { FetchJson } from './issuer.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { createKeyRing, holderAmong } from './keys.ts';
import { ANONYMOUS, type Principal } from './principal.ts';
import { type Endpoint, ownAudiences } from './resource.ts';
import { createTokenJudge, type JwtSettings } from './token.ts';

/**
 * From the headers of a request, and the endpoint it came in at, to who asks. Rejects with TOKEN_MISSING, TOKEN_INVALID,
 * CREDENTIALS_AMBIGUOUS, SCOPE_INSUFFICIENT, or AUTH_UNAVAILABLE. Nothing is promised where there is nothing to judge.
 */
export type Authenticate = (headers: SentHeaders, endpoint: Endpoint) => Principal | Promise<Principal>;

export interface AuthenticateDeps {
  /** What the URLs of this gateway begin with, as clients see them. Asked for late: the port may be any free one. */
  readonly base: () => string;
  readonly fetchJson: FetchJson;
  readonly log: Log;
  /** ms since the epoch. */
  readonly now?: () => number;
}

/** The sign-in that the configuration asks for. */
export function createAuthenticate(auth: Settings['auth'], deps: AuthenticateDeps): Authenticate {
  switch (auth.mode) {
    case 'none':
      return () => ANONYMOUS;
    case 'keys': {
      const find = createKeyRing(auth.keys);
      return (headers) => find(credentialOf(headers).text);
    }
    case 'jwt':
      if (auth.jwt === undefined) {
        throw new GatewayError('CONFIG_INVALID', { logged: 'auth.jwt is missing' });
      }
      return withTokens(auth.jwt, deps);
  }
}

/**
 * Who somebody is by the sign-in `now` who was let in by `before`: with what their key stands for now, and a token as long
 * as nothing is asked of tokens that was not asked before. Undefined: they have to sign in anew.
 */
export function letInStill(
  principal: Principal,
  before: Settings['auth'],
  now: Settings['auth'],
): Principal | undefined {
  if (before === now) {
    return principal;
  }
  if (before.mode !== now.mode) {
    return undefined;
  }
  switch (now.mode) {
    case 'none':
      return principal;
    case 'keys':
      return holderAmong(now.keys, principal);
    case 'jwt':
      return isDeepStrictEqual(before.jwt, now.jwt) ? principal : undefined;
  }
}

function withTokens(
  jwt: JwtSettings,
  { base, fetchJson, log, now = Date.now }: AuthenticateDeps,
): Authenticate {
  const keys = new IssuerKeys({ ...jwt, jwksUri: jwt.jwksUri, fetchJson, log, now });
  const judge = createTokenJudge(jwt, keys.find, now);
  return async (headers, endpoint) => {
    const { kind, text } = credentialOf(headers);
    if (kind !== 'bearer') {
      throw new GatewayError('TOKEN_MISSING', { logged: 'a key, but tokens are wanted' });
    }
    const accepted = jwt.audience.length > 0 ? jwt.audience : ownAudiences(base(), endpoint);
    const principal = await judge(text, accepted);
    if (!jwt.scopes.every((scope) => principal.scopes.includes(scope))) {
      throw new GatewayError('SCOPE_INSUFFICIENT', { scopes: jwt.scopes });
    }
    return principal;
  };
}
