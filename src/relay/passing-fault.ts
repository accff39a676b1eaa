import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError } from '../base/errors.ts';

/** Faults of the way to the server, or of its load. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'UPSTREAM_BUSY',
  'UPSTREAM_DOWN',
  'UPSTREAM_FAILED',
  'UPSTREAM_LOST',
  'UPSTREAM_RATE_LIMITED',
]);
/** In a row. */
const MOST_FAILURES = 5;

/**
 * Whether a request about a task may be made once more: it only asks, and a failure on its way says nothing of the task,
 * which goes on. `before`: how many in a row have failed before this one.
 */
export function isPassing(thrown: unknown, before: number): boolean {
  return before < MOST_FAILURES && thrown instanceof GatewayError && PASSING.has(thrown.code);
}
