import type { GatewayError } from '../base/errors.ts';
import type { RpcId, RpcMessage } from '../protocol/json-rpc.ts';

/**
 * One way to exchange JSON-RPC messages with one upstream: a child process, Streamable HTTP, or the 2024-11-05
 * HTTP+SSE pair. A transport frames and carries; it knows no method, no era beyond headers it is told to send,
 * and settles every request it was given: each gets a message with its id, or one `failed`, or the transport `closed`.
 */
export interface Transport {
  /** Each request has a stream of its own, whose closing cancels it (Streamable HTTP). */
  readonly streams: boolean;
  /** Starts the process or opens the stream. Rejects with a GatewayError when that fails; then it is already closed. */
  open(sink: TransportSink): Promise<void>;
  /**
   * Carries one message. For a request with `id`, later news of it arrives at the sink. Resolves when the message was
   * handed over completely; rejects with a GatewayError only when certainly nothing of it reached the upstream
   * (so that the caller may try again), every later failure is reported by `sink.failed`.
   */
  send(message: RpcMessage, options?: SendOptions): Promise<void>;
  /** Stops listening for an answer: Streamable HTTP closes that POST's stream, others do nothing. Unknown ids are ignored. */
  abandon(id: RpcId): void;
  /** Graceful end within `graceMs`, then by force. Idempotent; late callers join. Settles every open request. */
  close(graceMs: number): Promise<void>;
  /** Called once the handshake settled how to talk: HTTP sends the version header from then on. */
  agreed?(terms: { readonly version: string; readonly era: 'modern' | 'legacy' }): void;
  /**
   * Legacy Streamable HTTP only: opens the standalone GET stream, and keeps it open; refusals are tolerated. `missed` is
   * called whenever notices may have gone unheard before: each time the stream has opened, and once where there is none.
   */
  listen?(missed: () => void): void;
}

export interface SendOptions {
  /** Further HTTP headers of this one request, by lower-case name (`mcp-method` and so on); other transports ignore them. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where a transport delivers. It never calls back after `closed`. */
export interface TransportSink {
  /**
   * One message. `origin` is the id of the request on whose own stream it arrived (Streamable HTTP POST streams), and
   * undefined where the channel is shared (stdio, GET stream), so nothing can be told about its owner.
   */
  message(message: RpcMessage, origin: RpcId | undefined): void;
  /** One request failed without an answer; the transport itself lives on. */
  failed(id: RpcId, error: GatewayError): void;
  /** The transport ended, by `close`, by the peer or by a fault. Everything still open has failed with it. */
  closed(reason: GatewayError): void;
}
