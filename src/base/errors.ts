import { ERRORS, type ErrorCode, type ErrorRow } from './error-table.ts';
import { withoutCredentials } from './secrets.ts';

export interface ErrorDetail {
  /** Added to the row's text for the caller: must hold no path, host, stack or secret. */
  readonly detail?: string;
  /** Id of the upstream that failed. */
  readonly upstream?: string;
  /** Members for the wire error's `data`, where the specification names some. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Scopes that the request needs, for the challenge of a refusal with 401 or 403. */
  readonly scopes?: readonly string[];
  /** For the log only, never for the caller. */
  readonly logged?: string;
  readonly cause?: unknown;
}

/** The only error type that rooms throw on purpose; everything about it is looked up in {@link ERRORS}. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly upstream: string | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly scopes: readonly string[];
  readonly logged: string | undefined;

  constructor(code: ErrorCode, about: ErrorDetail = {}) {
    const { detail, cause } = about;
    const { says } = ERRORS[code];
    super(detail === undefined ? says : withoutCredentials(`${says} ${detail}`), { cause });
    this.name = 'GatewayError';
    this.code = code;
    this.upstream = about.upstream;
    this.data = about.data;
    this.scopes = about.scopes ?? [];
    this.logged = about.logged;
  }

  get row(): ErrorRow {
    return ERRORS[this.code];
  }
}

/** An error object that an upstream answered with: passed on to the caller, never reinterpreted. */
export class UpstreamRpcError extends Error {
  readonly upstream: string;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** From a server of the `initialize` era, to which numbers mean nothing that got their meaning later. */
  readonly legacy: boolean;

  constructor(
    upstream: string,
    error: { code: number; message: string; data?: unknown },
    { legacy = false }: { readonly legacy?: boolean } = {},
  ) {
    super(error.message);
    this.name = 'UpstreamRpcError';
    this.upstream = upstream;
    this.error = error;
    this.legacy = legacy;
  }
}

/** A client's error answer to a question of an upstream: passed back as it is. */
export class RpcRefusal extends Error {
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };

  constructor(error: { code: number; message: string; data?: unknown }) {
    super(error.message);
    this.name = 'RpcRefusal';
    this.error = error;
  }
}

/** Any thrown value as a GatewayError; what is not one already becomes INTERNAL with the value as cause. */
export function toGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : new GatewayError('INTERNAL', { cause: thrown });
}
