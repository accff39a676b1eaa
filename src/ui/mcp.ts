import { isObject, type JsonObject, objectAt } from '../base/json.ts';
import { META } from '../protocol/meta.ts';
import { declaredHeaders } from '../protocol/param-headers.ts';
import { LATEST_MODERN } from '../protocol/versions.ts';
import { type Api, refusalOf } from './api.ts';
import { eventsOf } from './event-stream.ts';

/** One request to the endpoint of clients: the page is a client like any other. */
export interface Request {
  /** Path of the endpoint, such as `/mcp/slim`. */
  readonly endpoint: string;
  readonly method: 'tools/call' | 'prompts/get' | 'resources/read';
  readonly params: JsonObject;
  /** Schema of the arguments, where one is known: some are mirrored in headers. */
  readonly schema?: unknown;
  readonly signal: AbortSignal;
  /** What is said before the answer. */
  readonly heard: (notice: JsonObject) => void;
}

/** A JSON-RPC response as it came. */
export type Answer = { readonly result: JsonObject } | { readonly error: JsonObject };

const CLIENT = { name: 'patchbay-page', title: 'Patchbay operator page', version: '1' };
/** What the page can ask its user for. */
const CAPABILITIES = { elicitation: { form: {}, url: {} } };

let lastId = 0;

/**
 * Sends it and waits for its answer. Throws an ApiError where it is refused, and what its signal says where that aborts:
 * the stream closes, which cancels the call (2026-07-28: transports/streamable-http, Cancellation).
 */
export async function request(
  api: Api,
  { endpoint, method, params, schema, signal, heard }: Request,
): Promise<Answer> {
  lastId += 1;
  const id = lastId;
  const meta = {
    [META.version]: LATEST_MODERN,
    [META.clientInfo]: CLIENT,
    [META.clientCapabilities]: CAPABILITIES,
    [META.logLevel]: 'info',
    [META.progressToken]: id,
  };
  const response = await api.send(endpoint.slice(1), {
    method: 'POST',
    signal,
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': LATEST_MODERN,
      'mcp-method': method,
      'mcp-name': headerValue(String(params['name'] ?? params['uri'])),
      ...mirrored(schema, params['arguments']),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } }),
  });
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    // A refusal of HTTP may have an error of JSON-RPC in it; what has no id is about the request as a whole.
    const message: unknown = response.ok
      ? await response.json()
      : await response
          .clone()
          .json()
          .catch(() => undefined);
    const answer = isObject(message) && message['id'] === id ? answerIn(message) : undefined;
    if (answer === undefined) {
      throw await refusalOf(response);
    }
    return answer;
  }
  for await (const data of eventsOf(response)) {
    const message: unknown = data === '' ? undefined : JSON.parse(data);
    const answer = isObject(message) && message['id'] === id ? answerIn(message) : undefined;
    if (answer !== undefined) {
      return answer;
    }
    if (isObject(message)) {
      heard(message);
    }
  }
  throw new Error('The stream ended before the answer.');
}

function answerIn(message: JsonObject): Answer | undefined {
  const [result, error] = [objectAt(message, 'result'), objectAt(message, 'error')];
  return result === undefined ? error && { error } : { result };
}

/** Arguments that the schema wants in headers as well. */
function mirrored(schema: unknown, args: unknown): Record<string, string> {
  const declared = declaredHeaders(schema);
  const headers: Record<string, string> = {};
  for (const { name, path } of declared.valid ? declared.headers : []) {
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), args);
    if (value !== undefined && value !== null) {
      headers[`mcp-param-${name}`] = headerValue(String(value));
    }
  }
  return headers;
}

/** Plain where that is safe, else in base64 (2026-07-28: transports/streamable-http, Value Encoding). */
function headerValue(value: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value)) {
    return value;
  }
  const bytes = new TextEncoder().encode(value);
  return value === ''
    ? ''
    : `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}?=`;
}
