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

/** A tool call that came to nothing: the model may do something about it. */
const failedCall = (log: ErrorRow['log'], says: string): ErrorRow => ({
  rpc: -32603,
  http: 200,
  log,
  says,
  result: true,
});

export const ERRORS = {
  PARSE_FAILED: {
    rpc: -32700,
    http: 400,
    log: 'info',
    says: 'The body is not valid JSON; correct it before you send it again.',
  },
  REQUEST_INVALID: {
    rpc: -32600,
    http: 400,
    log: 'info',
    says: 'This is not a valid JSON-RPC message; correct it before you send it again.',
  },
  METHOD_UNKNOWN: { rpc: -32601, http: 404, log: 'info', says: 'Method not found.' },
  PARAMS_INVALID: {
    rpc: -32602,
    http: 200,
    log: 'info',
    says: 'The parameters are not valid; correct them before you call again.',
  },
  META_MISSING: { rpc: -32602, http: 400, log: 'info', says: 'A required _meta member is missing.' },
  NAME_UNKNOWN: { rpc: -32602, http: 200, log: 'info', says: 'There is no such name here; list again.' },
  URI_UNKNOWN: { rpc: -32602, http: 200, log: 'info', says: 'Resource not found; list again.' },
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
    says: 'The request needs a client capability that was not declared; declare it, if you have it.',
  },
  VERSION_UNSUPPORTED: {
    rpc: -32022,
    http: 400,
    log: 'info',
    says: 'Unsupported protocol version; use one that is named in the data.',
  },
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
  HOST_REFUSED: {
    rpc: -32600,
    http: 403,
    log: 'warn',
    says: 'This host name is not served here; use the URL that the operator of this gateway gave you.',
  },
  ORIGIN_REFUSED: {
    rpc: -32600,
    http: 403,
    log: 'warn',
    says: 'This origin is not allowed here; the operator of this gateway has to allow it.',
  },
  OPERATORS_ONLY: {
    rpc: -32600,
    http: 403,
    log: 'info',
    says: 'This is for operators of this gateway alone.',
  },
  QUERY_INVALID: { rpc: -32600, http: 400, log: 'info', says: 'This cannot be asked so.' },
  TOKEN_MISSING: { rpc: -32600, http: 401, log: 'info', says: 'A token or a key is needed here.' },
  TOKEN_INVALID: {
    rpc: -32600,
    http: 401,
    log: 'info',
    says: 'The token or key is not valid here; get a new one.',
  },
  CREDENTIALS_AMBIGUOUS: { rpc: -32600, http: 400, log: 'info', says: 'Send one token or key, not two.' },
  SCOPE_INSUFFICIENT: {
    rpc: -32600,
    http: 403,
    log: 'info',
    says: 'The token lacks a scope for this; sign in again and ask for it.',
  },
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
    says: 'The message is larger than this gateway accepts; send less at once.',
  },
  BODIES_FULL: {
    rpc: -32603,
    http: 503,
    log: 'warn',
    says: 'This gateway works on as many large requests as it can hold; try again later.',
  },
  HTTP_INVALID: { rpc: -32600, http: 400, log: 'debug', says: 'This is not a valid HTTP request.' },
  HEADERS_TOO_LARGE: {
    rpc: -32600,
    http: 431,
    log: 'info',
    says: 'The header fields are larger than this gateway accepts; send fewer or shorter ones.',
  },
  REQUEST_SLOW: {
    rpc: -32600,
    http: 408,
    log: 'info',
    says: 'The request did not arrive in time; send it again, faster.',
  },
  HTTP_METHOD_REFUSED: {
    rpc: -32600,
    http: 405,
    log: 'info',
    says: 'This HTTP method is not offered here; send messages with POST.',
  },
  ENDPOINT_UNKNOWN: {
    rpc: -32600,
    http: 404,
    log: 'info',
    says: 'There is no such endpoint; MCP is served at /mcp.',
  },
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
  AUDIT_FAILED: failedCall(
    'warn',
    'The gateway cannot keep its audit log now, and is told to do nothing unseen; try again later.',
  ),
  UNAPPROVED: failedCall(
    'info',
    'This waits for approval: its server has added it, or changed what it says of it, and nobody has looked at that yet. Do not try again now; tell the user.',
  ),
  TOOL_GONE: failedCall(
    'info',
    'This tool is not offered under this name any more: your list of tools is out of date. List again.',
  ),
  UPSTREAM_DOWN: failedCall('warn', 'The server is not reachable now; try again later.'),
  UPSTREAM_LOST: failedCall(
    'warn',
    'The connection to the server was lost during the call; whether it took effect is unknown. Check before you repeat it.',
  ),
  UPSTREAM_TIMEOUT: failedCall(
    'warn',
    'The server did not answer in time and the call was cancelled; whether it took effect is unknown. Check before you repeat it.',
  ),
  UPSTREAM_REMOVED: failedCall(
    'warn',
    'The server was taken out of the configuration, or changed in it, while the call was running; whether it took effect is unknown. Check before you repeat it.',
  ),
  UPSTREAM_BUSY: failedCall('warn', 'Too many calls are waiting for this server; try again later.'),
  UPSTREAM_CONNECTIONS: failedCall(
    'warn',
    'This server has as many connections of its own for single users as it may; try again later.',
  ),
  QUESTION_REFUSED: {
    rpc: -32601,
    http: 200,
    log: 'debug',
    says: 'This client declared no such capability; go on without asking it.',
  },
  QUESTION_UNANSWERED: {
    rpc: -32603,
    http: 200,
    log: 'debug',
    says: 'The client did not answer; go on without.',
  },
  QUESTION_FAILED: failedCall(
    'info',
    'The server needs an answer of the client to go on with this call, and got none; the call has ended.',
  ),
  QUESTION_LIMIT: failedCall(
    'warn',
    'Too many calls are waiting for your answers; answer or drop some first.',
  ),
  QUESTION_ROUNDS: failedCall(
    'warn',
    'The server asked more often than this gateway allows within one call; repeating the call will not help.',
  ),
  STATE_INVALID: {
    rpc: -32602,
    http: 200,
    log: 'info',
    says: 'The requestState is not valid here, was answered already or has lapsed; make the call again without it.',
  },
  UPSTREAM_TOO_LARGE: failedCall(
    'warn',
    'The answer of the server is larger than this gateway accepts; ask for less.',
  ),
  UPSTREAM_NOT_MCP: failedCall(
    'warn',
    'The server answered with something that is not MCP; whoever runs it has to see to it.',
  ),
  UPSTREAM_STATUS: failedCall(
    'warn',
    'The server refused the request; repeating it as it is will hardly help.',
  ),
  UPSTREAM_FAILED: failedCall(
    'warn',
    'The server failed, or cannot be reached behind its proxy; whether the call took effect is unknown. Check before you repeat it.',
  ),
  UPSTREAM_AUTH: failedCall('warn', 'The server refuses access; repeating the call will not help.'),
  UPSTREAM_TOKEN: failedCall('warn', 'There is no token to call the server with now; try again later.'),
  UPSTREAM_RATE_LIMITED: failedCall('warn', 'The server asks to slow down; try again later.'),
  UPSTREAM_REDIRECT: failedCall(
    'warn',
    'The server redirects somewhere this gateway does not follow; the operator of this gateway has to correct its URL.',
  ),
  UPSTREAM_COMMAND: failedCall(
    'error',
    'The command of the server could not be started; the operator of this gateway has to see to it.',
  ),
  UPSTREAM_VERSION: failedCall(
    'error',
    'The server speaks no protocol version that this gateway speaks; the operator of this gateway has to replace one of them.',
  ),
  UPSTREAM_SESSION: failedCall('info', 'The server has ended its session; make the call again.'),
  UPSTREAM_CAPABILITY: { rpc: -32601, http: 404, log: 'info', says: 'No server here offers this.' },
  LIST_UNREADABLE: {
    rpc: -32603,
    http: 200,
    log: 'warn',
    says: 'The list of the server could not be read to its end; list again later.',
  },
  STATE_DOWN: failedCall(
    'warn',
    'What the replicas of this gateway share cannot be reached now; try again later.',
  ),
  PEER_ABSENT: failedCall(
    'info',
    'The replica of this gateway that held this is not there any more, and nothing was done; begin anew.',
  ),
  PEER_LOST: failedCall(
    'warn',
    'The replica of this gateway that held this was lost during the call; whether it took effect is unknown. Check before you repeat it.',
  ),
  CANCELLED: { rpc: -32603, http: 200, log: 'debug', says: 'The request was cancelled.' },
  SHUTTING_DOWN: { rpc: -32603, http: 503, log: 'info', says: 'The gateway is shutting down; try again.' },
  INTERNAL: { rpc: -32603, http: 500, log: 'error', says: 'The gateway failed; its log has the reason.' },
  CONFIG_INVALID: { rpc: -32603, http: 500, log: 'error', says: 'The configuration is not valid.' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
