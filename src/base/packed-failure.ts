import { ERRORS, type ErrorCode } from './error-table.ts';
import { GatewayError, RpcRefusal, toGatewayError, UpstreamRpcError } from './errors.ts';
import { isObject, type JsonObject, stringAt } from './json.ts';

/** What was thrown, as another replica of this gateway can throw it again. Causes stay in the log of the one it happened in. */
export function packFailure(thrown: unknown): JsonObject {
  if (thrown instanceof UpstreamRpcError) {
    return { upstream: thrown.upstream, answered: thrown.error, legacy: thrown.legacy };
  }
  if (thrown instanceof RpcRefusal) {
    return { answered: thrown.error };
  }
  const { code, message, upstream, data, scopes } = toGatewayError(thrown);
  const detail = message.slice(ERRORS[code].says.length + 1);
  return { code, upstream, data, scopes, ...(detail === '' ? {} : { detail }) };
}

export function unpackFailure(packed: unknown): Error {
  const { code, data, scopes, answered, legacy } = isObject(packed) ? packed : {};
  const upstream = stringAt(packed, 'upstream');
  const detail = stringAt(packed, 'detail');
  if (isObject(answered)) {
    // Packed above, from an error that has this shape.
    const error = answered as unknown as RpcRefusal['error'];
    return upstream === undefined
      ? new RpcRefusal(error)
      : new UpstreamRpcError(upstream, error, { legacy: legacy === true });
  }
  return new GatewayError(typeof code === 'string' && isCode(code) ? code : 'INTERNAL', {
    logged: 'on another replica',
    ...(upstream === undefined ? {} : { upstream }),
    ...(detail === undefined ? {} : { detail }),
    ...(isObject(data) ? { data } : {}),
    ...(Array.isArray(scopes) ? { scopes: scopes.map(String) } : {}),
  });
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
