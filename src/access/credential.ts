import { GatewayError } from '../base/errors.ts';
import { sentValues } from '../protocol/headers.ts';

/** Every value of the headers that hold credentials, as it was sent: nothing is joined and nothing dropped. */
export interface SentHeaders {
  readonly authorization?: readonly string[];
  readonly 'x-api-key'?: readonly string[];
}

/** Those of a request. `raw`: names and values in turn, as Node has them. */
export function sentCredentials(raw: readonly string[]): SentHeaders {
  return new RawCredentials(raw);
}

/** Looked for when they are asked for: where nobody signs in, nobody does. A class, since V8 keeps literals with getters. */
class RawCredentials implements SentHeaders {
  readonly #raw: readonly string[];

  constructor(raw: readonly string[]) {
    this.#raw = raw;
  }

  get authorization(): readonly string[] {
    return sentValues(this.#raw, 'authorization');
  }

  get 'x-api-key'(): readonly string[] {
    return sentValues(this.#raw, 'x-api-key');
  }
}

export interface Credential {
  readonly kind: 'bearer' | 'key';
  readonly text: string;
}

/** Longest credential that is looked at, in bytes; what is longer is refused before anything is computed of it. */
const LONGEST = 16_384;
const AUTHORIZATION = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(.*))?$/;

/**
 * The one credential of a request: `Authorization: Bearer …` (RFC 6750, 2.1) or `X-API-Key`. Throws TOKEN_MISSING where
 * there is none of either kind, TOKEN_INVALID for one that cannot be any, and CREDENTIALS_AMBIGUOUS for several: a
 * proxy before the gateway may have judged another one than the gateway would.
 */
export function credentialOf(headers: SentHeaders): Credential {
  const authorization = present(headers['authorization']);
  const keys = present(headers['x-api-key']);
  if (authorization.length + keys.length > 1) {
    throw new GatewayError('CREDENTIALS_AMBIGUOUS');
  }
  const [key] = keys;
  if (key !== undefined) {
    return { kind: 'key', text: bounded(key) };
  }
  const [value] = authorization;
  const [, scheme, text = ''] = AUTHORIZATION.exec(value ?? '') ?? [];
  if (value !== undefined && scheme === undefined) {
    throw new GatewayError('TOKEN_INVALID', { logged: 'malformed header' });
  }
  if (scheme?.toLowerCase() !== 'bearer' || text === '') {
    throw new GatewayError('TOKEN_MISSING', scheme === undefined ? {} : { logged: 'no Bearer token' });
  }
  if (/\s/.test(text)) {
    throw new GatewayError('TOKEN_INVALID', { logged: 'malformed header' });
  }
  return { kind: 'bearer', text: bounded(text) };
}

function present(values: readonly string[] | undefined): readonly string[] {
  return (values ?? []).filter((value) => value !== '');
}

function bounded(text: string): string {
  if (text.length > LONGEST) {
    throw new GatewayError('TOKEN_INVALID', { logged: `longer than ${LONGEST} bytes` });
  }
  return text;
}
