import { GatewayError } from '../base/errors.ts';
import { codeOf } from './foreign-errors.ts';

/** Which calls may be made once more (design, Failure). All others may have taken effect: they are never repeated. */

/** The server refused before it acted, because its session had ended: once more, on a new one (case C-039). */
export function isRefusedSession(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === 'UPSTREAM_SESSION';
}

/** Codes of a connection that was refused, or closed before anything was written to it. */
const REFUSED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET']);

/** No connection came about, and that was known at once: a server that is being replaced may take the next one. */
export function isRefusedConnection(thrown: unknown): boolean {
  return (
    thrown instanceof GatewayError && thrown.code === 'UPSTREAM_DOWN' && REFUSED.has(codeOf(thrown.cause))
  );
}

/** The connection was lost with the call on it. */
export function isLost(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === 'UPSTREAM_LOST';
}
