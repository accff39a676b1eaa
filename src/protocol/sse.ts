/** Server-Sent Events towards clients (WHATWG HTML, 9.2). Reading them is the upstream room's task. */

/** Nothing but a comment: keeps intermediaries and clients from closing a quiet stream. */
export const KEEP_ALIVE = ': keep-alive\n\n';

/** One JSON text as an event. JSON from `JSON.stringify` holds no raw line break, so one data line is enough. */
export function sseEvent(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}

export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  // Reverse proxies would hold events back (spec 2026-07-28: transports/streamable-http, Receiving Messages).
  'x-accel-buffering': 'no',
} as const;
