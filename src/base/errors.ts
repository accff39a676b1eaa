/**
 * The one table of errors. A row says what goes on the wire (`rpc`: JSON-RPC code, `http`: status where the failure is
 * one of the transport), how loudly it is logged, and a text fit to be read by a stranger's model: no path, host, stack
 * or secret. `result: true` marks failures of a tool call that a model can act on; they become results with `isError`.
 * docs/errors.md is proven equal to this table by a test.
 */
export interface ErrorRow {
  readonly rpc: number;
  readonly http: number;
  readonly log: 'debug' | 'info' | 'warn' | 'error';
  readonly says: string;
  readonly result?: true;
}

export const ERRORS = {
  PARSE_FAILED: { rpc: -32700, http: 400, log: 'info', says: 'The body is not valid JSON.' },
  REQUEST_INVALID: { rpc: -32600, http: 400, log: 'info', says: 'This is not a valid JSON-RPC message.' },
  METHOD_UNKNOWN: { rpc: -32601, http: 404, log: 'info', says: 'Method not found.' },
  PARAMS_INVALID: { rpc: -32602, http: 200, log: 'info', says: 'The parameters are not valid.' },
  META_MISSING: { rpc: -32602, http: 400, log: 'info', says: 'A required _meta member is missing.' },
  NAME_UNKNOWN: { rpc: -32602, http: 200, log: 'info', says: 'There is no such name here; list again.' },
  URI_UNKNOWN: { rpc: -32602, http: 200, log: 'info', says: 'Resource not found.' },
  CURSOR_INVALID: {
    rpc: -32602,
    http: 200,
    log: 'info',
    says: 'The cursor is not valid here; start again without one.',
  },
  HEADER_MISMATCH: { rpc: -32020, http: 400, log: 'info', says: 'Header mismatch.' },
  CAPABILITY_MISSING: {
    rpc: -32021,
    http: 400,
    log: 'info',
    says: 'The request needs a client capability that was not declared.',
  },
  VERSION_UNSUPPORTED: { rpc: -32022, http: 400, log: 'info', says: 'Unsupported protocol version.' },
  SESSION_REQUIRED: {
    rpc: -32600,
    http: 400,
    log: 'info',
    says: 'This request needs a session: send initialize first, or a modern request.',
  },
  SESSION_UNKNOWN: {
    rpc: -32600,
    http: 404,
    log: 'info',
    says: 'The session is unknown or has ended; send initialize again.',
  },
  HOST_REFUSED: { rpc: -32600, http: 403, log: 'warn', says: 'This host name is not served here.' },
  ORIGIN_REFUSED: { rpc: -32600, http: 403, log: 'warn', says: 'This origin is not allowed here.' },
  TOKEN_MISSING: { rpc: -32600, http: 401, log: 'info', says: 'A token or a key is needed here.' },
  TOKEN_INVALID: { rpc: -32600, http: 401, log: 'info', says: 'The token or key is not valid here.' },
  CREDENTIALS_AMBIGUOUS: { rpc: -32600, http: 400, log: 'info', says: 'Send one token or key, not two.' },
  SCOPE_INSUFFICIENT: { rpc: -32600, http: 403, log: 'info', says: 'The token lacks a scope for this.' },
  AUTH_UNAVAILABLE: { rpc: -32603, http: 503, log: 'warn', says: 'Tokens cannot be checked now; try later.' },
  ACCEPT_REFUSED: {
    rpc: -32600,
    http: 406,
    log: 'info',
    says: 'Accept must allow application/json and text/event-stream.',
  },
  TYPE_REFUSED: { rpc: -32600, http: 415, log: 'info', says: 'The content type must be application/json.' },
  BODY_TOO_LARGE: {
    rpc: -32600,
    http: 413,
    log: 'info',
    says: 'The message is larger than this gateway accepts.',
  },
  HTTP_METHOD_REFUSED: { rpc: -32600, http: 405, log: 'info', says: 'This HTTP method is not offered here.' },
  ENDPOINT_UNKNOWN: { rpc: -32600, http: 404, log: 'info', says: 'There is no such endpoint.' },
  RATE_LIMITED: {
    rpc: -32603,
    http: 429,
    log: 'info',
    says: 'You ask more than you may at once; wait, then try again.',
  },
  STREAMS_FULL: {
    rpc: -32603,
    http: 503,
    log: 'warn',
    says: 'This gateway holds as many streams open as it may; close one, or try again later.',
  },
  UPSTREAM_DOWN: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The server is not reachable now; try again later.',
    result: true,
  },
  UPSTREAM_LOST: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The connection to the server was lost during the call; whether it took effect is unknown. Check before you repeat it.',
    result: true,
  },
  UPSTREAM_TIMEOUT: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The server did not answer in time and the call was cancelled; whether it took effect is unknown.',
    result: true,
  },
  UPSTREAM_BUSY: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'Too many calls are waiting for this server; try again later.',
    result: true,
  },
  UPSTREAM_CONNECTIONS: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'This server has as many connections of its own for single users as it may; try again later.',
    result: true,
  },
  QUESTION_LIMIT: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'Too many calls are waiting for your answers; answer or drop some first.',
    result: true,
  },
  QUESTION_ROUNDS: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The server asked more often than this gateway allows within one call.',
    result: true,
  },
  STATE_INVALID: {
    rpc: -32602,
    http: 200,
    log: 'info',
    says: 'The requestState is not valid here, was answered already or has lapsed; make the call again without it.',
  },
  UPSTREAM_TOO_LARGE: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The answer of the server is larger than this gateway accepts; ask for less.',
    result: true,
  },
  UPSTREAM_NOT_MCP: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The server answered with something that is not MCP.',
    result: true,
  },
  UPSTREAM_STATUS: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The server refused the request.',
    result: true,
  },
  UPSTREAM_AUTH: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The server refuses access.',
    result: true,
  },
  UPSTREAM_TOKEN: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'There is no token to call the server with now; try again later.',
    result: true,
  },
  UPSTREAM_RATE_LIMITED: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The server asks to slow down; try again later.',
    result: true,
  },
  UPSTREAM_REDIRECT: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The server redirects somewhere this gateway does not follow.',
    result: true,
  },
  UPSTREAM_COMMAND: {
    rpc: -32603,
    http: 200,
    log: 'error',
    says: 'The command of the server could not be started.',
    result: true,
  },
  UPSTREAM_VERSION: {
    rpc: -32603,
    http: 200,
    log: 'error',
    says: 'The server speaks no protocol version that this gateway speaks.',
    result: true,
  },
  UPSTREAM_SESSION: {
    rpc: -32603,
    http: 200,
    log: 'info',
    says: 'The server has ended its session.',
    result: true,
  },
  UPSTREAM_CAPABILITY: { rpc: -32601, http: 404, log: 'info', says: 'No server here offers this.' },
  LIST_UNREADABLE: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The list of the server could not be read to its end.',
  },
  CANCELLED: { rpc: -32603, http: 200, log: 'debug', says: 'The request was cancelled.' },
  SHUTTING_DOWN: { rpc: -32603, http: 503, log: 'info', says: 'The gateway is shutting down; try again.' },
  INTERNAL: { rpc: -32603, http: 500, log: 'error', says: 'The gateway failed; its log has the reason.' },
  CONFIG_INVALID: { rpc: -32603, http: 500, log: 'error', says: 'The configuration is not valid.' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

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
    super(detail === undefined ? ERRORS[code].says : `${ERRORS[code].says} ${detail}`, { cause });
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

  constructor(upstream: string, error: { code: number; message: string; data?: unknown }) {
    super(error.message);
    this.name = 'UpstreamRpcError';
    this.upstream = upstream;
    this.error = error;
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
