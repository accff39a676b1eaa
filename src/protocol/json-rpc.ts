import { isObject, type JsonObject, without } from '../base/json.ts';

/** JSON-RPC 2.0 as MCP narrows it: ids are strings or integers, never null (spec: basic/index, Messages). */
export type RpcId = string | number;

export interface RpcRequest {
  readonly jsonrpc: '2.0';
  readonly id: RpcId;
  readonly method: string;
  readonly params?: JsonObject;
}
export interface RpcNotification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: JsonObject;
}
export interface RpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}
export interface RpcResult {
  readonly jsonrpc: '2.0';
  readonly id: RpcId;
  readonly result: JsonObject;
}
export interface RpcFailure {
  readonly jsonrpc: '2.0';
  readonly id?: RpcId;
  readonly error: RpcErrorObject;
}
export type RpcResponse = RpcResult | RpcFailure;
export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

/** What one parsed JSON value turned out to be. Unknown extra members are kept: a proxy carries what it does not know. */
export type Classified =
  | { readonly kind: 'request'; readonly message: RpcRequest }
  | { readonly kind: 'notification'; readonly message: RpcNotification }
  | { readonly kind: 'response'; readonly message: RpcResponse }
  | { readonly kind: 'invalid'; readonly reason: string; readonly id?: RpcId };

/** Longest id, in UTF-16 units: each is a key in tables and comes back in every message about its request. */
const LONGEST_ID = 1_024;

/** 0 and '' are legal ids, and 0 is the first id many clients send: compare with undefined, never by truth. */
export function isRpcId(value: unknown): value is RpcId {
  return (
    (typeof value === 'string' && value.length <= LONGEST_ID) ||
    (typeof value === 'number' && Number.isSafeInteger(value))
  );
}

/** Error codes are integers (spec: basic/index, Error Responses): strict peers cannot read a message with another one. */
function isRpcError(value: unknown): value is RpcErrorObject {
  return isObject(value) && Number.isSafeInteger(value['code']) && typeof value['message'] === 'string';
}

/**
 * Sorts one parsed JSON value. Members that are null count as absent where their type has no null, since some peers write
 * every member that they know: `params`, `method`, and of `result` and `error` the one that is not meant.
 */
export function classify(value: unknown): Classified {
  if (!isObject(value)) {
    return { kind: 'invalid', reason: 'not a JSON object' };
  }
  const id = value['id'];
  const known = isRpcId(id) ? { id } : {};
  if (value['jsonrpc'] !== '2.0') {
    return { kind: 'invalid', reason: 'jsonrpc must be "2.0"', ...known };
  }
  if (Object.hasOwn(value, 'method') && value['method'] !== null) {
    return classifyCall(value, known);
  }
  // Readers tell a result from an error by which of the two members is there.
  // The casts below: every member that the type names was looked at; the compiler does not follow single members.
  if (isRpcError(value['error'])) {
    return { kind: 'response', message: without(value, 'method', 'result') as unknown as RpcFailure };
  }
  if (isObject(value['result'])) {
    return isRpcId(id)
      ? { kind: 'response', message: without(value, 'method', 'error') as unknown as RpcResult }
      : { kind: 'invalid', reason: 'a result needs the id of its request' };
  }
  return { kind: 'invalid', reason: 'neither a request, a notification, a result nor an error', ...known };
}

function classifyCall(value: JsonObject, known: { id?: RpcId }): Classified {
  const { method, params, id } = value;
  if (typeof method !== 'string' || method === '') {
    return { kind: 'invalid', reason: 'method must be a string', ...known };
  }
  if (params !== undefined && params !== null && !isObject(params)) {
    return { kind: 'invalid', reason: 'params must be an object', ...known };
  }
  // Cast below as a whole: method, params and id were looked at one by one.
  const message = params === null ? { ...value, params: {} } : value;
  if (!Object.hasOwn(value, 'id')) {
    return { kind: 'notification', message: message as unknown as RpcNotification };
  }
  return isRpcId(id)
    ? { kind: 'request', message: message as unknown as RpcRequest }
    : {
        kind: 'invalid',
        reason: `id must be a string of at most ${LONGEST_ID} characters or a safe integer`,
      };
}

export function request(id: RpcId, method: string, params?: JsonObject): RpcRequest {
  return params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params };
}

export function notification(method: string, params?: JsonObject): RpcNotification {
  return params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}

export function result(id: RpcId, content: JsonObject): RpcResult {
  return { jsonrpc: '2.0', id, result: content };
}

/** A failure without id is allowed only where the id could not be read. */
export function failure(id: RpcId | undefined, error: RpcErrorObject): RpcFailure {
  return id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error };
}
