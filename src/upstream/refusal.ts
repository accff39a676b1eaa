import { GatewayError, RpcRefusal } from '../base/errors.ts';
import type { RpcErrorObject } from '../protocol/json-rpc.ts';

/** What a question gets that nobody can answer (2025-11-25: an undeclared capability must not be used). */
export const REFUSED: RpcErrorObject = { code: -32601, message: 'This client declared no such capability.' };

/** Why a question was not answered, as the upstream may hear it. */
export function refusalOf(thrown: unknown): RpcErrorObject {
  if (thrown instanceof RpcRefusal) {
    return thrown.error;
  }
  return thrown instanceof GatewayError && thrown.code === 'CANCELLED'
    ? { code: -32603, message: 'The client did not answer.' }
    : REFUSED;
}
