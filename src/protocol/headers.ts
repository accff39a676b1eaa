import type { JsonObject } from '../base/json.ts';
import { own, stringAt } from '../base/json.ts';
import type { RpcRequest } from './json-rpc.ts';
import { META, metaOf } from './meta.ts';

/** Header mirroring of Streamable HTTP (spec 2026-07-28: transports/streamable-http, Request Metadata). */
export const HEADERS = {
  version: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
  session: 'mcp-session-id',
  lastEvent: 'last-event-id',
} as const;

/** Which member of `params` the header `Mcp-Name` mirrors. */
const NAME_SOURCE: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

const SENTINEL = /^=\?base64\?(.*)\?=$/;
/** Visible ASCII, space and tab, with no blank at either end (RFC 9110, field values). */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
/** Padded base64 exactly as RFC 4648 section 4 writes it. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A value as a header may carry it: plain where that is safe, in the base64 sentinel form elsewhere. */
export function encodeHeaderValue(value: string): string {
  if (PLAIN.test(value) && !SENTINEL.test(value)) {
    return value;
  }
  return value === '' ? '' : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

/** The value a header carries, or undefined where it is damaged. */
export function decodeHeaderValue(header: string): string | undefined {
  const coded = SENTINEL.exec(header)?.[1];
  if (coded === undefined) {
    return header === '' || PLAIN.test(header) ? header : undefined;
  }
  return BASE64.test(coded) ? Buffer.from(coded, 'base64').toString('utf8') : undefined;
}

/** The standard headers of a modern request, built from its body; their names in lower case. */
export function standardHeaders(method: string, params: JsonObject | undefined): Record<string, string> {
  const source = own(NAME_SOURCE, method);
  const name = source === undefined ? undefined : stringAt(params, source);
  return name === undefined
    ? { [HEADERS.method]: method }
    : { [HEADERS.method]: method, [HEADERS.name]: encodeHeaderValue(name) };
}

/** Headers by lower-case name, as Node gives them. */
export type HeaderMap = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Every value of one header as it was sent, none joined and none dropped. `raw`: names and values in turn, as Node has
 * them; `name` in lower case.
 */
export function sentValues(raw: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const sent = raw[at];
    if (sent?.length === name.length && sent.toLowerCase() === name) {
      values.push(raw[at + 1] ?? '');
    }
  }
  return values;
}

/** One header's value. A header sent several times has no single value, and none is picked. */
export function headerOf(headers: HeaderMap, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Checks a modern request's headers against its body. Returns what is wrong, for a -32020 answer, or undefined.
 * (spec: transports/streamable-http, Server Validation)
 */
export function headerMismatch(headers: HeaderMap, message: RpcRequest): string | undefined {
  const version = headerOf(headers, HEADERS.version);
  if (version === undefined) {
    return 'MCP-Protocol-Version is missing.';
  }
  if (version !== metaOf(message.params)[META.version]) {
    return 'MCP-Protocol-Version does not match the version in _meta.';
  }
  const method = headerOf(headers, HEADERS.method);
  if (method !== message.method) {
    return method === undefined
      ? 'Mcp-Method is missing.'
      : 'Mcp-Method does not match the method of the body.';
  }
  return nameMismatch(headers, message);
}

function nameMismatch(headers: HeaderMap, message: RpcRequest): string | undefined {
  const source = own(NAME_SOURCE, message.method);
  const name = source === undefined ? undefined : stringAt(message.params, source);
  const header = headerOf(headers, HEADERS.name);
  if (source === undefined || (name === undefined && header === undefined)) {
    return undefined;
  }
  if (header === undefined) {
    return 'Mcp-Name is missing.';
  }
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) {
    return 'Mcp-Name holds invalid characters.';
  }
  return decoded === name ? undefined : `Mcp-Name does not match params.${source}.`;
}
