import { GatewayError } from '../base/errors.ts';
import { excerpt } from '../base/ration.ts';
import { headerOf } from '../protocol/headers.ts';
import { codeOf } from './foreign-errors.ts';
import { retryAfter } from './http-answer.ts';

/** What a refusal of an authorization server means. Pure judgement. */

/** Errors that are about the gateway as a client, whoever asks (RFC 6749, 5.2). */
const ABOUT_THE_GATEWAY: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
]);

export interface TokenRefusal {
  readonly upstream: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The token was asked for a user, in exchange for the user's own. */
  readonly forUser: boolean;
}

export interface TokenFault {
  readonly error: GatewayError;
  /** Whoever else asks would hear the same. */
  readonly everybodys: boolean;
}

/**
 * A status other than 200. UPSTREAM_AUTH where the server gives no token for this user (RFC 8693, 2.2.2: an unacceptable
 * subject token is `invalid_request`), else UPSTREAM_TOKEN, with `retryAfterMs` where the server says when.
 */
export function judgeTokenRefusal(refusal: TokenRefusal): TokenFault {
  const { upstream, status, headers, body, forUser } = refusal;
  const { error: name, description } = oauthError(body);
  const said = description === undefined ? '' : ` ${excerpt(description)}`;
  const logged = `token endpoint: status ${status}${name === undefined ? '' : `, ${excerpt(name)}`}${said}`;
  const isJudgement = name !== undefined && status >= 400 && status < 500 && status !== 429;
  if (isJudgement && forUser && !ABOUT_THE_GATEWAY.has(name)) {
    const detail = 'There is no token for you: sign in again, or ask the operator of the server for access.';
    return { error: new GatewayError('UPSTREAM_AUTH', { upstream, detail, logged }), everybodys: false };
  }
  const wait = retryAfter(headerOf(headers, 'retry-after'), Date.now());
  const error = new GatewayError('UPSTREAM_TOKEN', {
    upstream,
    detail: isJudgement ? 'Its authorization server refuses the gateway.' : UNUSABLE,
    logged,
    ...(wait === undefined ? {} : { data: { retryAfterMs: wait } }),
  });
  // A server error may be about the one token that was to be exchanged: nobody else has to wait for that.
  return { error, everybodys: !forUser || isJudgement || BUSY.has(status) };
}

const BUSY: ReadonlySet<number> = new Set([429, 503]);

const UNUSABLE = 'Its authorization server does not answer as it should.';

/** Anything else that came in the way of a token: no connection, no time left, an answer that is none. */
export function tokenFault(thrown: unknown, upstream: string): TokenFault {
  if (
    thrown instanceof GatewayError &&
    (thrown.code === 'UPSTREAM_TOKEN' || thrown.code === 'UPSTREAM_AUTH')
  ) {
    return { error: thrown, everybodys: false };
  }
  const answered = codeOf(thrown).startsWith('OAUTH_');
  const detail = answered ? UNUSABLE : 'Its authorization server cannot be reached.';
  return {
    error: new GatewayError('UPSTREAM_TOKEN', { upstream, detail, cause: thrown }),
    everybodys: !answered,
  };
}

function oauthError(body: string): { error?: string; description?: string } {
  try {
    const value: unknown = JSON.parse(body);
    const { error, error_description: description } = value as Record<string, unknown>;
    return {
      ...(typeof error === 'string' ? { error } : {}),
      ...(typeof description === 'string' ? { description } : {}),
    };
  } catch {
    // A page in the place of an OAuth error: the status has to do.
    return {};
  }
}
