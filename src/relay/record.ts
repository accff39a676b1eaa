import type { ErrorCode } from '../base/error-table.ts';
import type { JsonObject } from '../base/json.ts';
import type { ListedItem } from '../catalog/view.ts';
import type { Kind } from '../protocol/model.ts';
import type { CallOptions, CallTimes } from '../upstream/call.ts';
import type { Fleet } from '../upstream/fleet.ts';
import type { Party } from '../upstream/party.ts';

/**
 * How a request ended. ok: with a final result. tool_error: with a result that says `isError`. input_required: with
 * questions to a modern client. upstream_error: with a JSON-RPC error that the upstream gave. error: with one of the
 * gateway's own table, also where the client gets it as a result. cancelled: its client no longer waits.
 */
export type Outcome = 'ok' | 'tool_error' | 'input_required' | 'upstream_error' | 'error' | 'cancelled';

/**
 * What else was found about a request, whatever its outcome. forbidden: there is such a thing, but not for this principal,
 * who is told the same as of an unknown one. quarantined: the tool waits for approval. gone: it was there once.
 * arguments_unfit: they do not fit the schema, and were passed on all the same. cached: answered from what was kept, without
 * asking the upstream.
 */
export type RequestFlag =
  | 'forbidden'
  | 'quarantined'
  | 'gone'
  | 'arguments_rejected'
  | 'arguments_unfit'
  | 'result_invalid'
  | 'credential_seen'
  | 'leak_seen'
  | 'cached';

/** One page of a list as a client got it. */
export interface OfferedPage {
  readonly kind: Kind;
  readonly revision: string;
  /** All that the client may see of this kind; the same object for all who see the same. */
  readonly listed: readonly ListedItem[];
  /** The page: from this item to before that one. */
  readonly from: number;
  readonly to: number;
}

/**
 * What becomes of one request, written on its way by whoever finds it out, and read once at its end by metrics, audit and
 * tracing. It holds no arguments and no results.
 */
export interface RequestRecord extends CallTimes {
  /** `performance.now()` when it came in. */
  readonly begun: number;
  /** Where it was routed to; for a refusal, where it would have gone. */
  upstream?: string;
  /** Tool, prompt, resource or template as its upstream knows it. */
  original?: string;
  /** What a list gave. */
  offered?: OfferedPage;
  outcome?: Outcome;
  /** Of an error of the gateway: its row in the table. */
  code?: ErrorCode;
  /** Of an error of the upstream: its JSON-RPC code. */
  rpcCode?: number;
  flags?: RequestFlag[];
  /** Where it is traced. */
  readonly trace?: RequestTrace;
}

/** The trace of one request; see observe/tracing.ts. */
export interface RequestTrace {
  /** Id of the whole trace. */
  readonly id: string;
  /** One request to an upstream as a part of it: `send` gets the params and HTTP headers that tell the upstream so. */
  call<T>(
    to: { readonly upstream: string; readonly method: string },
    params: JsonObject,
    send: (params: JsonObject, headers: Readonly<Record<string, string>>) => Promise<T>,
  ): Promise<T>;
  end(record: RequestRecord): void;
}

/** Whatever carries the record of its request, where there is one. */
interface Recorded {
  readonly record?: RequestRecord;
}

/** Adds a flag, once. */
export function flag({ record }: Recorded, found: RequestFlag): void {
  if (record !== undefined && record.flags?.includes(found) !== true) {
    record.flags = [...(record.flags ?? []), found];
  }
}

/** Where the request goes, or would have gone. */
export function routed(
  { record }: Recorded,
  to: { readonly upstream: string; readonly original: string },
): void {
  if (record !== undefined) {
    record.upstream = to.upstream;
    record.original = to.original;
  }
}

/** One request to an upstream, in the trace of the client's request where that is traced. */
export function recordedCall(
  fleet: Pick<Fleet, 'call'>,
  to: { readonly upstream: string; readonly method: string },
  params: JsonObject,
  how: { readonly options: CallOptions; readonly party: Party; readonly record: RequestRecord | undefined },
): Promise<JsonObject> {
  const { options, party, record } = how;
  const { upstream, method } = to;
  if (record !== undefined) {
    record.upstream ??= upstream;
  }
  if (record?.trace === undefined) {
    return fleet.call(upstream, method, params, options, party);
  }
  return record.trace.call(to, params, (sent, headers) => {
    const traced = { ...options, headers: { ...options.headers, ...headers } };
    return fleet.call(upstream, method, sent, traced, party);
  });
}
