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
import { readJson } from '../protocol/json-text.ts';
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

/** The JSON value of a body or a line; throws PARSE_FAILED, and BODY_TOO_LARGE for one that would cost too much. */
export function parseJson(text: string | Bytes, mostBytes: number): unknown {
  const read = typeof text === 'string' ? readJson(text, mostBytes) : readJsonBytes(text, mostBytes);
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
  const params = 'params' in message ? message.params : undefined;
  const claimed = metaOf(params)[META.version];
  if (typeof claimed === 'string' && !(sessionId !== undefined && isLegacy(claimed)) && kind !== 'response') {
    return kind === 'request'
      ? sortModern(message, claimed, headers)
      : { kind: 'modern-notification', message };
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

/** The session decides about the version, but a header that names one unknown is an error (2025-11-25 transports). */
function inSession(id: RpcId | undefined, headers: HeaderMap, inbound: Inbound): Inbound {
  const version = headerOf(headers, HEADERS.version);
  return version === undefined || isLegacy(version) || isModern(version)
    ? inbound
    : refused(id, unsupported(version));
}

function sortModern(message: RpcRequest, version: string, headers: HeaderMap): Inbound {
  const mismatch = headerMismatch(headers, message);
  const fault =
    mismatch === undefined
      ? envelopeFault(message, version)
      : new GatewayError('HEADER_MISMATCH', { detail: mismatch });
  return fault === undefined ? { kind: 'modern-request', message, version } : refused(message.id, fault);
}

/** What is wrong with the envelope of a modern request that claims this version (spec: basic/index, `_meta`). */
export function envelopeFault(message: RpcRequest, version: string): GatewayError | undefined {
  if (!isModern(version)) {
    return unsupported(version);
  }
  return isObject(metaOf(message.params)[META.clientCapabilities])
    ? undefined
    : new GatewayError('META_MISSING', { detail: `(${META.clientCapabilities})` });
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
