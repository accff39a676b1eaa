import { GatewayError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Bytes } from '../base/pieces.ts';
import { HEADERS, type HeaderMap, headerMismatch, headerOf } from '../protocol/headers.ts';
import { readJsonBytes } from '../protocol/json-bytes.ts';
import {
  classify,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
} from '../protocol/json-rpc.ts';
import { type ReadJson, readJson } from '../protocol/json-text.ts';
import { isLogLevel } from '../protocol/log-level.ts';
import { META, metaOf } from '../protocol/meta.ts';
import { isLegacy, isModern, VERSIONS } from '../protocol/versions.ts';

/** What one POST turned out to be. Each is judged by itself: both eras share one URL and one connection (case C-100). */
export type Inbound =
  | { readonly kind: 'modern-request'; readonly message: RpcRequest; readonly version: string }
  | { readonly kind: 'modern-notification'; readonly message: RpcNotification }
  | { readonly kind: 'initialize'; readonly message: RpcRequest }
  | { readonly kind: 'legacy'; readonly message: RpcMessage; readonly sessionId: string }
  | { readonly kind: 'batch'; readonly values: readonly unknown[]; readonly sessionId: string }
  | { readonly kind: 'refused'; readonly id: RpcId | undefined; readonly error: GatewayError };

const BYTE_ORDER_MARK = '\ufeff';

/**
 * The JSON value of a body or a line; throws PARSE_FAILED, and BODY_TOO_LARGE for one that would cost too much. A byte
 * order mark, with which .NET begins what it writes to a pipe, is passed over (RFC 8259, 8.1).
 */
export function parseJson(given: string | Bytes, mostBytes: number): unknown {
  const read = typeof given === 'string' ? readJson(given, mostBytes) : readJsonBytes(given, mostBytes);
  const text = read.kind === 'not-json' ? given.toString() : '';
  return text.startsWith(BYTE_ORDER_MARK)
    ? requireValue(readJson(text.slice(BYTE_ORDER_MARK.length), mostBytes))
    : requireValue(read);
}

function requireValue(read: ReadJson): unknown {
  switch (read.kind) {
    case 'value':
      return read.value;
    case 'not-json':
      throw new GatewayError('PARSE_FAILED', { cause: read.cause });
    case 'excessive':
      throw new GatewayError('BODY_TOO_LARGE', { detail: `It is ${read.excess}.` });
  }
}

/**
 * Sorts one parsed body by era. Only the version tells the era: `Mcp-Method` is sent by legacy bridges too, and a
 * session header on a modern request is ignored (spec 2026-07-28: streamable-http, Earlier Revisions; case C-040).
 */
export function sortInbound(body: unknown, headers: HeaderMap): Inbound {
  const sessionId = headerOf(headers, HEADERS.session);
  if (Array.isArray(body)) {
    return sessionId === undefined
      ? refused(undefined, noBatches())
      : inSession(undefined, headers, { kind: 'batch', values: body, sessionId });
  }
  const classified = classify(body);
  if (classified.kind === 'invalid') {
    return refused(classified.id, new GatewayError('REQUEST_INVALID', { detail: `(${classified.reason})` }));
  }
  const { kind, message } = classified;
  if (kind !== 'response') {
    const claimed = claimedVersion(message, sessionId !== undefined);
    if (claimed !== undefined) {
      return kind === 'request'
        ? sortModern(message, claimed, headers)
        : { kind: 'modern-notification', message };
    }
  }
  if (kind === 'request' && message.method === 'initialize') {
    return { kind: 'initialize', message };
  }
  const id = 'id' in message ? message.id : undefined;
  if (sessionId !== undefined) {
    return inSession(id, headers, { kind: 'legacy', message, sessionId });
  }
  if (isModern(headerOf(headers, HEADERS.version))) {
    // The reserved members are required of requests; some clients cancel with a notification that has none.
    if (kind === 'notification') {
      return { kind: 'modern-notification', message };
    }
    return refused(id, new GatewayError('META_MISSING', { detail: `(${META.version})` }));
  }
  return refused(id, new GatewayError('SESSION_REQUIRED'));
}

/**
 * The version by which a message asks to be served as a modern one, spoken here or not. What names a legacy version
 * belongs to a session: to that of its client, or to the one that it opens (spec 2026-07-28: basic/versioning).
 */
export function claimedVersion(
  { method, params }: RpcRequest | RpcNotification,
  hasSession: boolean,
): string | undefined {
  const claimed = metaOf(params)[META.version];
  const legacy = isLegacy(claimed) && (hasSession || method === 'initialize');
  return typeof claimed === 'string' && !legacy ? claimed : undefined;
}

/**
 * The session decides about the version, but a header that names one unknown is an error, whatever the HTTP method
 * (2025-11-25 transports, Protocol Version Header).
 */
export function versionFault(headers: HeaderMap): GatewayError | undefined {
  const version = headerOf(headers, HEADERS.version);
  return version === undefined || isLegacy(version) || isModern(version) ? undefined : unsupported(version);
}

function inSession(id: RpcId | undefined, headers: HeaderMap, inbound: Inbound): Inbound {
  const fault = versionFault(headers);
  return fault === undefined ? inbound : refused(id, fault);
}

function sortModern(message: RpcRequest, version: string, headers: HeaderMap): Inbound {
  const mismatch = headerMismatch(headers, message);
  const fault =
    mismatch === undefined
      ? envelopeFault(message, version)
      : new GatewayError('HEADER_MISMATCH', { detail: mismatch });
  return fault === undefined ? { kind: 'modern-request', message, version } : refused(message.id, fault);
}

/**
 * What is wrong with the envelope of a modern request that claims this version (spec: basic/index, `_meta`; for the log
 * level server/utilities/logging, Error Handling: a server that many share must not be told one that means nothing).
 */
export function envelopeFault(message: RpcRequest, version: string): GatewayError | undefined {
  if (!isModern(version)) {
    return unsupported(version);
  }
  const meta = metaOf(message.params);
  if (!isObject(meta[META.clientCapabilities])) {
    return new GatewayError('META_MISSING', { detail: `(${META.clientCapabilities})` });
  }
  const level = meta[META.logLevel] ?? undefined;
  return level === undefined || isLogLevel(level)
    ? undefined
    : new GatewayError('PARAMS_INVALID', { detail: `${META.logLevel} is no log level.` });
}

/** The refusal of a JSON array where one message has to be. */
export function noBatches(): GatewayError {
  return new GatewayError('REQUEST_INVALID', { detail: 'Batches are not part of the version spoken here.' });
}

function unsupported(requested: string): GatewayError {
  return new GatewayError('VERSION_UNSUPPORTED', { data: { supported: VERSIONS, requested } });
}

function refused(id: RpcId | undefined, error: GatewayError): Inbound {
  return { kind: 'refused', id, error };
}
