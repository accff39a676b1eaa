import { createHash } from 'node:crypto';
import { errors, type JWTVerifyGetKey, type JWTVerifyResult, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import { identityOf } from './claims.ts';
import { createPrincipal, type Principal } from './principal.ts';

export type JwtSettings = NonNullable<Settings['auth']['jwt']>;

/** A token that was checked, as long as it is remembered. */
interface Verified {
  readonly principal: Principal;
  readonly audience: readonly string[];
  /** ms since the epoch. */
  readonly until: number;
}

/** Longest time a token is not checked again: so long a key that was taken back still counts. */
const REMEMBER_MS = 60_000;
const REMEMBER_MOST = 10_000;
/** Each remembered token counts with its length and this for what was read from it. */
const REMEMBER_CHARS = 16 * 1024 * 1024;
const ENTRY_CHARS = 1_024;

/** `typ` of access tokens: RFC 9068, and what issuers wrote before it. Any other is a token for something else. */
const TYPES: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt', 'jwt', 'application/jwt']);

/** From an access token to whoever it stands for. `accepted`: the audiences that are good where it was sent. */
export type JudgeToken = (token: string, accepted: readonly string[]) => Promise<Principal>;

/** `find` gives the public keys of the issuer; rejects with TOKEN_INVALID, or as `find` does with AUTH_UNAVAILABLE. */
export function createTokenJudge(jwt: JwtSettings, find: JWTVerifyGetKey, now: () => number): JudgeToken {
  const remembered = new LRUCache<string, Verified>({
    max: REMEMBER_MOST,
    maxSize: REMEMBER_CHARS,
    sizeCalculation: ({ principal }) => ENTRY_CHARS + (principal.presented?.().length ?? 0),
  });
  return async (token, accepted) => {
    const digest = createHash('sha256').update(token).digest('base64');
    let verified = remembered.get(digest);
    if (verified === undefined || verified.until <= now()) {
      verified = await verify(token, jwt, find, now());
      remembered.set(digest, verified);
    }
    if (!verified.audience.some((audience) => accepted.includes(audience))) {
      throw invalid('another audience');
    }
    return verified.principal;
  };
}

async function verify(
  token: string,
  jwt: JwtSettings,
  find: JWTVerifyGetKey,
  now: number,
): Promise<Verified> {
  const { payload, protectedHeader } = await checked(token, jwt, find, now);
  const { typ } = protectedHeader;
  if (typ !== undefined && !(typeof typ === 'string' && TYPES.has(typ.toLowerCase()))) {
    throw invalid('no access token by its typ');
  }
  const identity = identityOf(payload, jwt.claims);
  if (identity === undefined) {
    throw invalid('no id in it');
  }
  const { aud, exp = 0 } = payload;
  const principal = createPrincipal({
    key: JSON.stringify(['jwt', jwt.issuer, identity.id]),
    issuer: jwt.issuer,
    ...identity,
    expires: exp * 1_000 + jwt.clockTolerance,
    presented: () => token,
  });
  return {
    principal,
    audience: textsIn(aud),
    until: Math.min(now + REMEMBER_MS, exp * 1_000),
  };
}

/** A text, or the texts of a list; an issuer may write anything else, and means nobody by it (RFC 7519, 4.1.3). */
function textsIn(aud: unknown): readonly string[] {
  return (Array.isArray(aud) ? (aud as readonly unknown[]) : [aud]).filter(
    (each) => typeof each === 'string',
  );
}

/** Signature and registered claims. The keys of an issuer that names none are tried one by one. */
async function checked(
  token: string,
  jwt: JwtSettings,
  find: JWTVerifyGetKey,
  now: number,
): Promise<JWTVerifyResult> {
  const options = {
    issuer: jwt.issuer,
    algorithms: [...jwt.algorithms],
    clockTolerance: jwt.clockTolerance / 1_000,
    requiredClaims: ['exp', 'aud'],
    currentDate: new Date(now),
  };
  try {
    return await jwtVerify(token, find, options);
  } catch (thrown) {
    if (!(thrown instanceof errors.JWKSMultipleMatchingKeys)) {
      throw refusalOf(thrown);
    }
    for await (const key of thrown) {
      try {
        return await jwtVerify(token, key, options);
      } catch (failed) {
        if (!(failed instanceof errors.JWSSignatureVerificationFailed)) {
          throw refusalOf(failed);
        }
      }
    }
    throw invalid('ERR_JWS_SIGNATURE_VERIFICATION_FAILED');
  }
}

/**
 * Whatever a token makes go wrong is its own fault, and refusing is safe. Of the errors of `jose` only the code and the
 * name of the claim are logged: their messages may quote the token.
 */
function refusalOf(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) {
    return thrown;
  }
  if (thrown instanceof errors.JWTClaimValidationFailed || thrown instanceof errors.JWTExpired) {
    return invalid(`${thrown.code} ${jwtClaim(thrown.claim)}`);
  }
  return thrown instanceof errors.JOSEError
    ? invalid(thrown.code)
    : new GatewayError('TOKEN_INVALID', { logged: 'a key or the token could not be used', cause: thrown });
}

const REGISTERED: ReadonlySet<string> = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'sub', 'jti']);

function jwtClaim(claim: string): string {
  return REGISTERED.has(claim) ? claim : 'another claim';
}

function invalid(logged: string): GatewayError {
  return new GatewayError('TOKEN_INVALID', { logged });
}
