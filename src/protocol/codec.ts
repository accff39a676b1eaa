import { ERRORS } from '../base/error-table.ts';
import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { era2025, MODERN_CODES } from './era-2025.ts';
import { era2026 } from './era-2026.ts';
import type { EraCodec } from './era-codec.ts';
import type { RpcErrorObject } from './json-rpc.ts';
import { eraOf } from './versions.ts';

const codecs = new Map<string, EraCodec>();

/** The codec of a version that this gateway speaks (see versions.ts). */
export function codecFor(version: string): EraCodec {
  let codec = codecs.get(version);
  if (codec === undefined) {
    codec = eraOf(version) === 'modern' ? era2026(version) : era2025(version);
    codecs.set(version, codec);
  }
  return codec;
}

/**
 * Any thrown value as a JSON-RPC error object, not yet in an era's form. An upstream's own error passes as it is, but what
 * a legacy one says with a number of the modern era is not what a modern client would read in it.
 */
export function wireError(thrown: unknown): RpcErrorObject {
  if (thrown instanceof UpstreamRpcError) {
    const { error, legacy } = thrown;
    return legacy && MODERN_CODES.has(error.code) ? { ...error, code: ERRORS.INTERNAL.rpc } : error;
  }
  if (!(thrown instanceof GatewayError)) {
    return { code: ERRORS.INTERNAL.rpc, message: ERRORS.INTERNAL.says, data: { code: 'INTERNAL' } };
  }
  const upstream = thrown.upstream === undefined ? {} : { upstream: thrown.upstream };
  return {
    code: thrown.row.rpc,
    message: thrown.message,
    data: { code: thrown.code, ...upstream, ...thrown.data },
  };
}
