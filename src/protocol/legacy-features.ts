/** What the legacy versions differ in on the wire, besides their methods. */

/** The only version with JSON-RPC batches: the next one took them away again (2025-06-18 changelog). */
const BATCHES = '2025-03-26';
/** The version that brought events without data; SDKs of earlier ones fail on them (2025-11-25: basic/transports). */
const PRIMING_SINCE = '2025-11-25';

/** True when a session of this version may send and get several messages as one JSON array. */
export function takesBatches(version: string): boolean {
  return version === BATCHES;
}

/** True when an event stream for this version begins with an event that has an id and no data. */
export function takesPriming(version: string): boolean {
  return version >= PRIMING_SINCE;
}
