import { UpstreamRpcError } from '../base/errors.ts';
import { type JsonObject, stringAt } from '../base/json.ts';
import { asModernQuestion, linksOf, missingFor } from '../protocol/questions.ts';
import type { RequestContext } from './context.ts';

/** Legacy servers that want the user to visit a link before they serve a call (2025-11-25: client/elicitation). */

const URL_ELICITATION_REQUIRED = -32042;

/** The links that an upstream's error asks for, as params of `elicitation/create`; none where it is another error. */
export function requiredLinks(thrown: unknown): readonly JsonObject[] {
  const required = thrown instanceof UpstreamRpcError && thrown.error.code === URL_ELICITATION_REQUIRED;
  return required ? linksOf(thrown.error.data) : [];
}

/** Whether there are links, and this client can send its user to all of them. */
export function canVisit(links: readonly JsonObject[], context: RequestContext): boolean {
  const { capabilities } = context.client;
  return links.length > 0 && links.every((params) => missingFor(elicit(params), capabilities) === undefined);
}

/** The `inputRequests` that send a modern client to them. */
export function linkQuestions(links: readonly JsonObject[]): JsonObject {
  return Object.fromEntries(
    links.map((params, index) => [`link_${index + 1}`, asModernQuestion(elicit(params))]),
  );
}

/** For a client that cannot be sent to a link: the links in words. Throws the error again where no result can hold them. */
export function linksInWords(thrown: unknown, links: readonly JsonObject[], method: string): JsonObject {
  if (links.length === 0 || method !== 'tools/call') {
    throw thrown;
  }
  const lines = links.map(
    (link) => `${stringAt(link, 'message') ?? 'Open this link'}: ${stringAt(link, 'url')}`,
  );
  const text = ['The server needs the user to visit a link first, then call again.', ...lines].join('\n');
  const result = { content: [{ type: 'text', text }], isError: true };
  inWords.add(result);
  return result;
}

const inWords = new WeakSet<JsonObject>();

/** Whether it is one of {@link linksInWords}: a link of which a part was cut out leads nowhere. */
export function isLinksInWords(result: JsonObject): boolean {
  return inWords.has(result);
}

function elicit(params: JsonObject) {
  return { method: 'elicitation/create', params: { mode: 'url', ...params } };
}
