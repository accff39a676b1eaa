/** Server-Sent Events towards clients (WHATWG HTML, 9.2). Reading them is the upstream room's task. */

/** Nothing but a comment: keeps intermediaries and clients from closing a quiet stream. */
export const KEEP_ALIVE = ': keep-alive\n\n';

/**
 * One JSON text as an event. JSON from `JSON.stringify` holds no raw line break, so one data line is enough. `id` is what
 * a client that lost the connection names to go on after this event (2025-11-25: basic/transports, Resumability).
 */
export function messageEvent(json: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${onOneLine(json)}\n\n`;
}

/**
 * Some readers end a line at U+0085, U+2028 and U+2029 too, as Python's `splitlines` does, on which clients were built. JSON
 * allows them in strings as they are: they go as escapes, which mean the same.
 */
function onOneLine(json: string): string {
  return json.replace(
    /[\u0085\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * An event without data: from now on the client can come back, `retryMs` after the connection broke (2025-11-25:
 * basic/transports, Sending Messages to the Server).
 */
export function primingEvent(id: string, retryMs: number): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;
}

/** The event that names the address to post messages to, a URI reference (2024-11-05: basic/transports, HTTP with SSE). */
export function endpointEvent(address: string): string {
  return `event: endpoint\ndata: ${address}\n\n`;
}

export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  // Reverse proxies would hold events back (spec 2026-07-28: transports/streamable-http, Receiving Messages).
  'x-accel-buffering': 'no',
} as const;
