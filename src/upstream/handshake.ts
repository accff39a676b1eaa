import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import { pause } from '../base/time.ts';
import { takeCapabilities } from '../protocol/capabilities.ts';
import { codecFor } from '../protocol/codec.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import { HEADERS, standardHeaders } from '../protocol/headers.ts';
import type { RpcResponse } from '../protocol/json-rpc.ts';
import { META } from '../protocol/meta.ts';
import { isLegacy, LATEST_LEGACY } from '../protocol/versions.ts';
import type { Connection, Terms } from './connection.ts';
import type { ProbeAnswer } from './negotiate.ts';

/** Wire steps of a handshake. Each is one question; what its answer means is judged in negotiate.ts. */

/** Asks `server/discover` in a modern version. Never rejects: every outcome is an answer to judge. */
export async function probe(
  connection: Connection,
  version: string,
  envelope: Envelope,
  timeoutMs: number,
): Promise<ProbeAnswer> {
  const codec = codecFor(version);
  const headers = { ...standardHeaders('server/discover', undefined), [HEADERS.version]: version };
  const options = { envelope, timeoutMs, totalMs: timeoutMs };
  try {
    const response = await connection.exchange('server/discover', options, headers, () =>
      codec.encodeParams({}, envelope),
    );
    return 'error' in response
      ? { kind: 'error', error: response.error }
      : { kind: 'result', result: response.result };
  } catch (thrown) {
    const error = thrown instanceof GatewayError ? thrown : new GatewayError('INTERNAL', { cause: thrown });
    return error.code === 'UPSTREAM_TIMEOUT' ? { kind: 'silence' } : { kind: 'failed', error };
  }
}

/** The terms of a modern upstream, from what it said of itself. */
export function modernTerms(version: string, discovered: JsonObject): Terms {
  const supported = discovered['supportedVersions'];
  const info = objectAt(objectAt(discovered, '_meta'), META.serverInfo) ?? objectAt(discovered, 'serverInfo');
  return {
    version,
    era: 'modern',
    capabilities: takeCapabilities(discovered['capabilities']),
    instructions: stringAt(discovered, 'instructions'),
    label: labelOf(info),
    alsoLegacy: Array.isArray(supported) && supported.some(isLegacy),
  };
}

/**
 * `initialize` and `notifications/initialized`. `capabilities` are those of whoever the connection is for: none on a
 * shared one. Rejects with a GatewayError; a refusal in JSON-RPC is UPSTREAM_VERSION with the server's text logged.
 */
export async function initialize(
  connection: Connection,
  about: { upstream: string; envelope: Envelope; asked: string; timeoutMs: number },
): Promise<Terms> {
  const { upstream, envelope, timeoutMs } = about;
  const asked = isLegacy(about.asked) ? about.asked : LATEST_LEGACY;
  const params = {
    protocolVersion: asked,
    capabilities: envelope.clientCapabilities,
    clientInfo: envelope.clientInfo,
  };
  const response = await connection.exchange(
    'initialize',
    { envelope, timeoutMs, totalMs: timeoutMs },
    {},
    () => params,
  );
  const terms = legacyTerms(upstream, response);
  connection.agree(terms);
  // One that does not read is found out by the first call.
  await Promise.race([connection.notify('notifications/initialized'), pause(timeoutMs)]);
  return terms;
}

function legacyTerms(upstream: string, response: RpcResponse): Terms {
  if ('error' in response) {
    throw new GatewayError('UPSTREAM_VERSION', {
      upstream,
      logged: `initialize was refused: ${response.error.code} ${response.error.message.slice(0, 200)}`,
    });
  }
  const { result } = response;
  const version = result['protocolVersion'];
  if (!isLegacy(version) || typeof version !== 'string') {
    throw new GatewayError('UPSTREAM_VERSION', {
      upstream,
      logged: 'initialize was answered with an unknown version',
    });
  }
  return {
    version,
    era: 'legacy',
    capabilities: takeCapabilities(result['capabilities']),
    instructions: stringAt(result, 'instructions'),
    label: labelOf(result['serverInfo']),
    alsoLegacy: true,
  };
}

function labelOf(info: unknown): string {
  const name = isObject(info) ? stringAt(info, 'name') : undefined;
  const version = isObject(info) ? stringAt(info, 'version') : undefined;
  return [name ?? 'unnamed', version]
    .filter((part) => part !== undefined)
    .join(' ')
    .slice(0, 120);
}
