import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import type { Finding, ListPart } from '../catalog/part.ts';
import { shapeTools } from '../catalog/shape.ts';
import { walkList } from '../catalog/walk.ts';
import { declares } from '../protocol/capabilities.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import { type Item, KIND_FACTS, type Kind } from '../protocol/model.ts';
import { declaredHeaders } from '../protocol/param-headers.ts';
import type { Fleet } from '../upstream/fleet.ts';
import type { Party } from '../upstream/party.ts';

const METHOD_NOT_FOUND = -32601;

/** Longest walk of one list, all pages together, in ms: one deadline, not one for each page (case C-016). */
const WALK_MS = 60_000;

/** What is read, and on whose behalf where it is not for everybody. */
export interface ListRequest {
  readonly upstream: string;
  readonly kind: Kind;
  readonly signal: AbortSignal;
  readonly party: Party | undefined;
  /** The same list as it was read before: what says the same still is not judged again. */
  readonly before?: ListPart | undefined;
}

/**
 * Reads one list of one upstream to its end. `undefined` where it does not declare the capability: then it is not
 * asked at all. Declared, but answered with -32601, is an empty list of that kind only (case C-091). A user's own
 * connection is opened first where there is none: what the server declares to that user is not known before.
 */
export async function readList(
  fleet: Pick<Fleet, 'termsFor' | 'reach' | 'settings' | 'request'>,
  envelope: Envelope,
  { upstream, kind, signal, party, before }: ListRequest,
): Promise<ListPart | undefined> {
  const { list, capability } = KIND_FACTS[kind];
  const terms = await fleet.termsFor(upstream, party);
  if (terms === undefined && (party === undefined || !fleet.reach(upstream).own)) {
    throw new GatewayError('UPSTREAM_DOWN', { upstream });
  }
  if (terms !== undefined && !declares(terms.capabilities, capability)) {
    return undefined;
  }
  const timeoutMs = fleet.settings(upstream).timeouts.call;
  const fetchPage = async (cursor: string | undefined, pageSignal: AbortSignal): Promise<JsonObject> => {
    const params = cursor === undefined ? {} : { cursor };
    const options = { envelope, signal: pageSignal, timeoutMs, totalMs: timeoutMs };
    try {
      return await fleet.request(upstream, list, params, options, party);
    } catch (thrown) {
      if (
        cursor === undefined &&
        thrown instanceof UpstreamRpcError &&
        thrown.error.code === METHOD_NOT_FOUND
      ) {
        return { [KIND_FACTS[kind].member]: [] };
      }
      throw thrown;
    }
  };
  const known = (before?.unshaped ?? before)?.items;
  const walked = await walkList(kind, fetchPage, { totalMs: WALK_MS }, signal, known);
  const part = { ...walked, readAt: Date.now() };
  if (kind !== 'tools') {
    return part;
  }
  const { kind: transport, tools } = fleet.settings(upstream);
  const leaveOut = terms?.era === 'modern' && transport === 'http';
  return shapeTools(withoutBadMarks(part, leaveOut), tools);
}

/** Tools whose marks were looked at and are valid. */
const wellMarked = new WeakSet<Item>();

/**
 * Invalid `x-mcp-header` marks. From a modern HTTP server the specification wants the tool left out; from any other
 * the marks mean nothing, but would make our HTTP clients leave the tool out: they are removed (case C-103).
 */
function withoutBadMarks(part: ListPart, leaveOut: boolean): ListPart {
  const findings: Finding[] = [...part.findings];
  const items: Item[] = [];
  for (const item of part.items) {
    if (wellMarked.has(item)) {
      items.push(item);
      continue;
    }
    const declared = declaredHeaders(item['inputSchema']);
    if (declared.valid) {
      wellMarked.add(item);
      items.push(item);
      continue;
    }
    findings.push({
      id: 'tool.bad-header-mark',
      severity: 'warning',
      kind: 'tools',
      item: String(item['name']),
      reason: `Its x-mcp-header annotation is invalid: ${declared.reason}.`,
      advice: leaveOut
        ? 'The tool is left out; correct its schema.'
        : 'The annotation was removed; correct its schema.',
    });
    if (!leaveOut) {
      items.push({ ...item, inputSchema: unmarked(item['inputSchema'], 0) });
    }
  }
  return { ...part, items, findings };
}

function unmarked(node: unknown, depth: number): unknown {
  if (depth > 256) {
    return node;
  }
  if (Array.isArray(node)) {
    return node.map((member) => unmarked(member, depth + 1));
  }
  if (!isObject(node)) {
    return node;
  }
  const members = Object.entries(node).filter(([key, value]) => key !== 'x-mcp-header' || isObject(value));
  return Object.fromEntries(members.map(([key, value]) => [key, unmarked(value, depth + 1)]));
}
