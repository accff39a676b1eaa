import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { whole } from '../base/long-text.ts';
import type { Entry } from '../catalog/snapshot.ts';
import { declaredHeaders, type ParamHeader, paramHeaders, paramMismatch } from '../protocol/param-headers.ts';
import type { RequestContext } from './context.ts';

/** What each definition marks, found out once. */
const marksOf = new WeakMap<object, readonly ParamHeader[]>();

/**
 * The `Mcp-Param-*` headers of a call towards its upstream, after the client's own were found to match the arguments (spec
 * 2026-07-28: transports/streamable-http). Throws HEADER_MISMATCH.
 */
export function checkedHeaders(
  { item }: Pick<Entry, 'item'>,
  params: JsonObject | undefined,
  { headers }: Pick<RequestContext, 'headers'>,
): Record<string, string> {
  let marks = marksOf.get(item);
  if (marks === undefined) {
    const declared = declaredHeaders(item['inputSchema']);
    marks = declared.valid ? declared.headers : [];
    marksOf.set(item, marks);
  }
  const args = marks.length === 0 ? undefined : whole(params?.['arguments']);
  const fault = headers === undefined ? undefined : paramMismatch(marks, args, headers);
  if (fault !== undefined) {
    throw new GatewayError('HEADER_MISMATCH', { detail: fault });
  }
  return paramHeaders(marks, args);
}
