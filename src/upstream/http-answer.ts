import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { excerpt } from '../base/ration.ts';
import { type HeaderMap, headerOf } from '../protocol/headers.ts';
import { classify, type RpcFailure, type RpcId } from '../protocol/json-rpc.ts';
import { readJson } from '../protocol/json-text.ts';

/** What the status and content type of an answer to a POST announce. Pure judgement; reading the body is done elsewhere. */
export type Announced =
  /** A JSON body, or an unnamed one that has to prove to be one. */
  | 'json'
  | 'events'
  /** Accepted, with nothing to follow. */
  | 'nothing'
  | 'refusal'
  /** Some other kind of content: a web page, a login form. */
  | 'foreign';

export function announced(status: number, headers: HeaderMap): Announced {
  if (status >= 300) {
    return 'refusal';
  }
  if (status === 202 || status === 204) {
    return 'nothing';
  }
  const type = mediaType(headers);
  if (type === undefined || type === 'application/json') {
    return 'json';
  }
  return type === 'text/event-stream' ? 'events' : 'foreign';
}

/** The media type without parameters, in lower case; undefined where the header is missing. */
function mediaType(headers: HeaderMap): string | undefined {
  const sent = headerOf(headers, 'content-type');
  if (sent === undefined || sent === 'application/json') {
    return sent;
  }
  const type = sent.split(';')[0]?.trim().toLowerCase();
  return type === '' ? undefined : type;
}

export interface Refusal {
  readonly upstream: string;
  readonly status: number;
  readonly headers: HeaderMap;
  /** The start of the body. */
  readonly body: string;
  /** The refused request; undefined for a notification or a response. */
  readonly id: RpcId | undefined;
  readonly sentSession: boolean;
  /** What can be done about a refusal to sign in. */
  readonly advice?: string;
}

/**
 * What a status of 300 and above means for the request: a JSON-RPC error to hand on as its answer, or a failure.
 *
 * The status comes first where it speaks of sign-in, load or the session, whatever the body says: such a refusal is no
 * answer of the method asked for, and no statement about the protocol version either. A server error whose body names
 * no request is a framework's page rather than an answer.
 */
export function judgeRefusal(refusal: Refusal & { readonly id: undefined }): GatewayError;
export function judgeRefusal(refusal: Refusal): RpcFailure | GatewayError;
export function judgeRefusal(refusal: Refusal): RpcFailure | GatewayError {
  const { status, id, sentSession } = refusal;
  const rpc = rpcError(refusal.body);
  const own = rpc !== undefined && id !== undefined && rpc.id === id;
  if (status === 401 || status === 403) {
    return failure(refusal, 'UPSTREAM_AUTH');
  }
  if (status === 429) {
    return failure(refusal, 'UPSTREAM_RATE_LIMITED');
  }
  if (sentSession && sessionEnded(refusal, rpc, own)) {
    return failure(refusal, 'UPSTREAM_SESSION');
  }
  const nobodys = rpc !== undefined && (rpc.id === undefined || rpc.id === null);
  if (rpc !== undefined && id !== undefined && (own || (nobodys && status < 500))) {
    return { jsonrpc: '2.0', id, error: rpc.error };
  }
  // Before a server error something may have been done: design, Outcome unknown.
  return failure(refusal, status >= 500 ? 'UPSTREAM_FAILED' : 'UPSTREAM_STATUS');
}

/** Unknown method, with which modern servers answer 404 too. */
const METHOD_NOT_FOUND = -32601;

/** 404 ends a session (2025-11-25 transports, Session Management); some servers say 400 and name the session (C-039). */
function sessionEnded(refusal: Refusal, rpc: FoundError | undefined, own: boolean): boolean {
  if (refusal.status === 404) {
    return !(own && rpc?.error.code === METHOD_NOT_FOUND);
  }
  return refusal.status === 400 && !own && /session/i.test(refusal.body);
}

interface FoundError {
  /** null, absent, or anything else a peer puts there. */
  readonly id: unknown;
  readonly error: RpcFailure['error'];
}

function rpcError(body: string): FoundError | undefined {
  // Refusals come as pages and plain texts too.
  const read = readJson(body, body.length);
  if (read.kind !== 'value') {
    return undefined;
  }
  const { value } = read;
  const found = classify(value);
  return found.kind === 'response' && 'error' in found.message && isObject(value)
    ? { id: value['id'], error: found.message.error }
    : undefined;
}

function failure(refusal: Refusal, code: ErrorCode): GatewayError {
  const { status, headers, upstream } = refusal;
  const wait = retryAfter(headerOf(headers, 'retry-after'), Date.now());
  const { advice } = refusal;
  return new GatewayError(code, {
    upstream,
    ...(code === 'UPSTREAM_AUTH' && advice !== undefined ? { detail: advice } : {}),
    data: { status, ...(wait === undefined ? {} : { retryAfterMs: wait }) },
    logged: describeAnswer(status, headers, refusal.body),
  });
}

/** For the log: status, content type, challenge and the start of the body. */
export function describeAnswer(status: number, headers: HeaderMap, body: string): string {
  const challenge = headerOf(headers, 'www-authenticate');
  return [
    `status ${status}`,
    headerOf(headers, 'content-type') ?? 'no content type',
    ...(challenge === undefined ? [] : [`challenge: ${excerpt(challenge)}`]),
    ...(body === '' ? [] : [`body: ${excerpt(body)}`]),
  ].join('; ');
}

/** Retry-After in ms from `now` (RFC 9110, 10.2.3: seconds or a date); undefined where it says nothing usable. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) {
    return undefined;
  }
  if (/^\d{1,9}$/.test(header)) {
    return Number(header) * 1_000;
  }
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(at - now, 0);
}
