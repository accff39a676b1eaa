import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import type { RpcErrorObject } from '../protocol/json-rpc.ts';
import type { Era } from '../protocol/model.ts';
import { eraOf, isLegacy, mutualModern } from '../protocol/versions.ts';

/** What came back for the probe, a modern `server/discover`. */
export type ProbeAnswer =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly error: RpcErrorObject }
  | { readonly kind: 'silence' }
  | { readonly kind: 'failed'; readonly error: GatewayError };

/**
 * What the answer says about the upstream's era.
 * `modern` without `discovered`: it has to be asked once more, in that version.
 * `respawn`: the process died of the probe, so the handshake needs a new one.
 * `undecided`: a statement about sign-in, load or a wrong address, not about the era; ask again later.
 */
export type Verdict =
  | { readonly kind: 'modern'; readonly version: string; readonly discovered: JsonObject | undefined }
  | { readonly kind: 'legacy'; readonly respawn: boolean }
  | { readonly kind: 'no-version' }
  | { readonly kind: 'undecided'; readonly error: GatewayError };

/** Codes that only a modern server sends (spec 2026-07-28: basic/index, Error Codes). */
const VERSION_UNSUPPORTED = -32022;
/** With which the SDKs' legacy servers refuse what comes outside a session. */
const SDK_REFUSAL = -32000;
const MODERN_CODES: ReadonlySet<number> = new Set([-32020, -32021, VERSION_UNSUPPORTED]);

/** Statuses with which legacy HTTP servers refuse a modern request (spec: streamable-http, Backward Compatibility). */
const LEGACY_STATUSES: ReadonlySet<unknown> = new Set([400, 404, 405, 406, 415]);

/**
 * Judges one probe answer (spec 2026-07-28: transports/stdio and streamable-http, Backward Compatibility; cases C-098
 * and C-099). The fallback is not keyed to one error code: any error that is not a recognised modern one means legacy.
 */
export function judge(answer: ProbeAnswer, asked: string): Verdict {
  switch (answer.kind) {
    case 'result':
      return judgeDiscovery(answer.result, asked);
    case 'error':
      return judgeError(answer.error, asked);
    case 'silence':
      return { kind: 'legacy', respawn: false };
    case 'failed':
      return judgeFailure(answer.error);
  }
}

function judgeDiscovery(result: JsonObject, asked: string): Verdict {
  const supported = result['supportedVersions'];
  if (!Array.isArray(supported)) {
    // A legacy server that answers anything with a result has not understood the question.
    return isObject(result['capabilities'])
      ? { kind: 'modern', version: asked, discovered: result }
      : { kind: 'legacy', respawn: false };
  }
  const version = mutualModern(supported);
  if (version !== undefined) {
    return { kind: 'modern', version, discovered: result };
  }
  return supported.some(isLegacy) ? { kind: 'legacy', respawn: false } : { kind: 'no-version' };
}

function judgeError(error: RpcErrorObject, asked: string): Verdict {
  if (!MODERN_CODES.has(error.code)) {
    return { kind: 'legacy', respawn: false };
  }
  if (error.code !== VERSION_UNSUPPORTED) {
    return { kind: 'modern', version: asked, discovered: undefined };
  }
  const supported =
    isObject(error.data) && Array.isArray(error.data['supported']) ? error.data['supported'] : [];
  const version = mutualModern(supported);
  if (version !== undefined) {
    return { kind: 'modern', version, discovered: undefined };
  }
  return supported.some(isLegacy) ? { kind: 'legacy', respawn: false } : { kind: 'no-version' };
}

function judgeFailure(error: GatewayError): Verdict {
  if (error.code === 'UPSTREAM_LOST') {
    return { kind: 'legacy', respawn: true };
  }
  // Some 2024-11-05 servers take the POST for the opening of their stream (case C-048).
  if (error.code === 'UPSTREAM_SESSION' || error.data?.['endpointEvent'] === true) {
    return { kind: 'legacy', respawn: false };
  }
  if (error.code === 'UPSTREAM_STATUS' && LEGACY_STATUSES.has(error.data?.['status'])) {
    return { kind: 'legacy', respawn: false };
  }
  return { kind: 'undecided', error };
}

/** The version a configuration forces, or undefined for `auto`. */
export function forcedEra(protocol: string): 'modern' | 'legacy' | undefined {
  return protocol === 'auto' ? undefined : eraOf(protocol);
}

/**
 * Whether a failed request shows that the server no longer speaks the era that was settled (case C-098): a modern error
 * on a legacy connection, or a refusal on a modern one that asks for a handshake or a session.
 */
export function contradicts(era: Era, thrown: unknown): boolean {
  if (era === 'legacy') {
    return thrown instanceof UpstreamRpcError && MODERN_CODES.has(thrown.error.code);
  }
  return isRefusal(thrown);
}

/**
 * Whether a failed request may show that what a handshake settled holds no longer: the server speaks another era, knows
 * nothing of it, or has moved. Perhaps it is of that one request, as a firewall between refuses some: asking it tells.
 */
export function unsettles(era: Era, thrown: unknown): boolean {
  return contradicts(era, thrown) || isRefusal(thrown);
}

/** A refusal by one that wants a handshake first, or is no such endpoint. */
function isRefusal(thrown: unknown): boolean {
  if (thrown instanceof UpstreamRpcError) {
    return thrown.error.code === SDK_REFUSAL && /session|initiali[sz]e/i.test(thrown.error.message);
  }
  const refused = thrown instanceof GatewayError && thrown.code === 'UPSTREAM_STATUS';
  return refused && LEGACY_STATUSES.has(thrown.data?.['status']);
}
