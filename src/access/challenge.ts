import type { ErrorCode } from '../base/error-table.ts';
import type { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';

/** What a refused client is told to do about it, for `WWW-Authenticate` (RFC 6750, 3; RFC 9728, 5.1). */
export interface Challenge {
  readonly error: 'invalid_request' | 'invalid_token' | 'insufficient_scope' | undefined;
  /** All scopes that the request needs. */
  readonly scopes: readonly string[];
  /** URL of the metadata of the resource, where there is an authorization server to be found in it. */
  readonly resourceMetadata: string | undefined;
}

/** Refusals with a challenge. A request that came without any credential is told no error (RFC 6750, 3.1). */
const REFUSALS: Partial<Record<ErrorCode, Challenge['error']>> = {
  TOKEN_MISSING: undefined,
  TOKEN_INVALID: 'invalid_token',
  CREDENTIALS_AMBIGUOUS: 'invalid_request',
  SCOPE_INSUFFICIENT: 'insufficient_scope',
};

/** A scope as RFC 6749, 3.3 has it; nothing else can stand in the header. */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** What an error says that a challenge is made of. */
export type Refused = Pick<GatewayError, 'code' | 'scopes'>;

/** The challenge that belongs to a refusal; undefined for every other error, and where there is no sign-in at all. */
export function challengeOf(
  error: Refused,
  { mode, jwt }: Settings['auth'],
  resourceMetadata: string,
): Challenge | undefined {
  if (mode === 'none' || !Object.hasOwn(REFUSALS, error.code)) {
    return undefined;
  }
  const always = mode === 'jwt' ? (jwt?.scopes ?? []) : [];
  return {
    error: REFUSALS[error.code],
    scopes: [...new Set([...always, ...error.scopes])].filter((scope) => SCOPE.test(scope)),
    resourceMetadata: mode === 'jwt' ? resourceMetadata : undefined,
  };
}

/** The value of `WWW-Authenticate`. */
export function writeChallenge({ error, scopes, resourceMetadata }: Challenge): string {
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
    ...(resourceMetadata === undefined ? [] : [`resource_metadata="${resourceMetadata}"`]),
  ];
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`;
}
