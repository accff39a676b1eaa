import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { isObject, type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import { isRpcId } from '../../src/protocol/json-rpc.ts';
import {
  ERROR,
  ERROR_DATA,
  INPUT_REQUIRED,
  LEGACY_RESULTS,
  MODERN_RESULTS,
  NOTICES,
  type Shape,
} from './wire-rules.ts';

const FIRST_MODERN = '2026-07-28';
/** The only requests that may be answered with `input_required` (basic/patterns/mrtr, Supported Requests). */
const MAY_ASK = new Set(['tools/call', 'prompts/get', 'resources/read']);
/** Codes that are of one era only (spec 2026-07-28: basic/index, Error Codes). */
const NOT_MODERN = new Set([-32002, -32042]);
const NOT_LEGACY = new Set([-32020, -32021, -32022]);
const SERVER_REQUESTS = new Set(['ping', 'roots/list', 'sampling/createMessage', 'elicitation/create']);
const UNSTAMPED = new Set(['notifications/progress', 'notifications/message']);

const ajv = new Ajv2020({ strict: false, allErrors: true });
const compiled = new Map<Shape, ValidateFunction>();

function faults(shape: Shape, value: unknown, what: string): string[] {
  const validate = compiled.get(shape) ?? ajv.compile(shape);
  compiled.set(shape, validate);
  if (validate(value)) {
    return [];
  }
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${what}${instancePath} ${message ?? 'is wrong'} ${JSON.stringify(params)}`,
  );
}

/** What is wrong with the result of a method in that protocol version; empty when nothing is. */
export function checkResult(version: string, method: string, result: unknown): string[] {
  const modern = version >= FIRST_MODERN;
  if (modern && isObject(result) && result['resultType'] === 'input_required') {
    const allowed = MAY_ASK.has(method) ? [] : [`${method} must not be answered with input_required`];
    return [...allowed, ...faults(INPUT_REQUIRED, result, method)];
  }
  const shape = (modern ? MODERN_RESULTS : LEGACY_RESULTS)[method];
  return shape ? faults(shape, result, method) : [`${method} has no result in ${version}`];
}

/** What is wrong with an error object in that version. */
export function checkError(version: string, error: unknown): string[] {
  const code = isObject(error) && typeof error['code'] === 'number' ? error['code'] : 0;
  const foreign = (version >= FIRST_MODERN ? NOT_MODERN : NOT_LEGACY).has(code);
  const data = ERROR_DATA[code];
  return [
    ...faults(ERROR, error, 'error'),
    ...(foreign ? [`error code ${code} does not belong to ${version}`] : []),
    ...(data ? faults(data, isObject(error) ? error['data'] : undefined, 'error/data') : []),
  ];
}

/**
 * What is wrong with one message that a server sent. `method` is that of the request, for a response; with `listening`
 * the message came on a listen stream, where everything carries the id of the subscription.
 */
export function checkMessage(
  version: string,
  message: unknown,
  about: { readonly method?: string; readonly listening?: boolean } = {},
): string[] {
  if (!isObject(message) || message['jsonrpc'] !== '2.0') {
    return ['not a JSON-RPC 2.0 message'];
  }
  const method = stringAt(message, 'method');
  if (method === undefined) {
    return checkResponse(version, message, about.method);
  }
  if ('id' in message) {
    const asking = version < FIRST_MODERN && SERVER_REQUESTS.has(method) && isRpcId(message['id']);
    return asking ? [] : [`a server of ${version} must not send the request ${method}`];
  }
  const shape = NOTICES[method];
  if (!shape) {
    return [`unknown notification ${method}`];
  }
  const params = objectAt(message, 'params') ?? {};
  const stamp = objectAt(params, '_meta')?.['io.modelcontextprotocol/subscriptionId'];
  const misplaced =
    about.listening && UNSTAMPED.has(method) ? [`${method} does not belong on a listen stream`] : [];
  const unstamped =
    about.listening && !isRpcId(stamp) ? [`${method} on a listen stream carries no subscription id`] : [];
  return [...faults(shape, params, method), ...misplaced, ...unstamped];
}

function checkResponse(version: string, message: JsonObject, method: string | undefined): string[] {
  if ('error' in message) {
    const both = 'result' in message ? ['a response has either a result or an error'] : [];
    return [...both, ...checkError(version, message['error'])];
  }
  const id = isRpcId(message['id']) ? [] : ['a result needs the id of its request'];
  const result = message['result'];
  if (method === undefined) {
    return [...id, ...(isObject(result) ? [] : ['a result is an object'])];
  }
  return [...id, ...checkResult(version, method, result)];
}
