import type { JsonObject } from '../base/json.ts';
import type { RpcErrorObject } from './json-rpc.ts';
import type { CacheHints, Era, Implementation, Item, Kind } from './model.ts';

/** What the gateway says about its client on one request towards an upstream. */
export interface Envelope {
  readonly clientInfo: Implementation;
  /** Only capabilities that the gateway can carry back to the very client that asked. */
  readonly clientCapabilities: JsonObject;
  readonly logLevel?: string;
}

/** What the gateway adds to a result towards a client. */
export interface ResultExtras {
  readonly serverInfo: Implementation;
  /** For cacheable results; hints not given count as stale at once and private. */
  readonly hints?: CacheHints;
}

/**
 * One protocol version as pure functions. A method that an era does not have is unknown by its absence from `methods`,
 * not by an `if` elsewhere.
 */
export interface EraCodec {
  readonly version: string;
  readonly era: Era;
  /** Requests that a client of this version may send. */
  readonly methods: ReadonlySet<string>;

  /** Towards a client: one item of a list in the form this era can stand. The same object when nothing changes. */
  encodeItem(kind: Kind, item: Item): Item;
  /** Towards a client: a result as this era wants it; unknown members stay. */
  encodeResult(method: string, result: JsonObject, extras: ResultExtras): JsonObject;
  /** Towards a client: an error; `uri` is the resource's name as the client knows it, where the request had one. */
  encodeError(error: RpcErrorObject, uri?: string): RpcErrorObject;

  /** Towards an upstream: the params of a request with this hop's `_meta`; the caller adds the progress token. */
  encodeParams(
    params: JsonObject | undefined,
    envelope: Envelope,
    progressToken?: number,
  ): JsonObject | undefined;
}
