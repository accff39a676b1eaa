import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../base/time.ts';
import { declares } from '../protocol/capabilities.ts';
import { codecFor } from '../protocol/codec.ts';
import type { EraCodec } from '../protocol/era-codec.ts';
import { standardHeaders } from '../protocol/headers.ts';
import {
  isRpcId,
  notification,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  request,
} from '../protocol/json-rpc.ts';
import { talksMore } from '../protocol/log-level.ts';
import type { Era } from '../protocol/model.ts';
import type { Call, CallOptions, Question } from './call.ts';
import { Calls } from './calls.ts';
import { fromNetwork } from './foreign-errors.ts';
import { Inquiries } from './inquiries.ts';
import { scrubbed } from './scrubbed.ts';
import type { Transport } from './transport.ts';

/** What the handshake settled. */
export interface Terms {
  readonly version: string;
  readonly era: Era;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  /** Self-reported: a label for logs and status. */
  readonly label: string;
  /** A modern server that speaks `initialize` as well. */
  readonly alsoLegacy: boolean;
}

/** What a connection tells its owner. */
export interface ConnectionEvents {
  /** A notice that belongs to no call: list changes, resource updates, log messages on a shared channel. */
  notice(notice: RpcNotification): void;
  /** The transport ended; every pending call has been settled. */
  closed(reason: GatewayError): void;
  /** A question while no call is under way. Absent on a shared connection, which has nobody to ask. */
  readonly question?: ((question: Question) => Promise<JsonObject>) | undefined;
}

/**
 * One conversation with one upstream: ids and progress tokens of its own, deadlines, cancellation, and the question
 * whose notice is whose. A client's ids and tokens never get here (cases C-059, C-061).
 */
export class Connection {
  readonly #upstream: string;
  readonly #transport: Transport;
  readonly #log: Log;
  readonly #events: ConnectionEvents;
  readonly #calls: Calls;
  readonly #inquiries: Inquiries;
  #logLevel: string | undefined;
  #codec: EraCodec | undefined;
  #terms: Terms | undefined;
  #ended: GatewayError | undefined;
  #heardAt = Date.now();

  constructor(about: { upstream: string; transport: Transport; log: Log; events: ConnectionEvents }) {
    this.#upstream = about.upstream;
    this.#transport = about.transport;
    this.#log = about.log;
    this.#events = about.events;
    this.#calls = new Calls(about.upstream, (call, why) => this.#cancel(call, why));
    this.#inquiries = new Inquiries((reply) => this.#reply(reply), about.log);
  }

  /** Rejects with a GatewayError when the process does not start or the stream does not open. */
  open(): Promise<void> {
    return this.#transport.open({
      message: (message, origin) => this.#receive(scrubbed(message), origin),
      failed: (id, error) => this.#calls.get(id)?.reject(error),
      closed: (reason) => this.#end(reason),
    });
  }

  get ended(): GatewayError | undefined {
    return this.#ended;
  }

  /** When the upstream said something last, in ms since the epoch. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Whether the upstream has requests to work on. */
  get busy(): boolean {
    return this.#calls.working;
  }

  /** Throws UPSTREAM_DOWN before the handshake. */
  get terms(): Terms {
    if (this.#terms === undefined) {
      throw new GatewayError('UPSTREAM_DOWN', { upstream: this.#upstream });
    }
    return this.#terms;
  }

  /** From here on requests are written in the agreed version. */
  agree(terms: Terms): void {
    this.#terms = terms;
    this.#codec = codecFor(terms.version);
    this.#transport.agreed?.({ version: terms.version, era: terms.era });
  }

  /**
   * Before a call whose client wants to hear log messages: a legacy server is told the level, and never made quieter
   * again, since others may share the connection; what a client did not ask for is filtered on its way back.
   */
  async wantLogs(level: string, options: CallOptions): Promise<void> {
    const { era, capabilities } = this.terms;
    if (era === 'legacy' && declares(capabilities, 'logging') && talksMore(level, this.#logLevel)) {
      const before = this.#logLevel;
      this.#logLevel = level;
      await this.request('logging/setLevel', { level }, options).catch((thrown: unknown) => {
        this.#log.debug({ err: thrown, level }, 'the log level was not taken');
        const onItsWay = !(thrown instanceof UpstreamRpcError) && this.#logLevel === level;
        this.#logLevel = onItsWay ? before : this.#logLevel; // the next call asks for it again
      });
    }
  }

  /**
   * Opens the channel for notices that belong to no call, where the transport has one of its own. `missed` is called
   * whenever notices may have gone unheard, and at once on a channel that carries them from the start.
   */
  listen(missed: () => void): void {
    if (this.#transport.listen === undefined) {
      missed();
    } else {
      this.#transport.listen(missed);
    }
  }

  /**
   * Sends a request and resolves with the result object as the upstream sent it.
   * Rejects with UpstreamRpcError for an error answer, else with a GatewayError naming the upstream.
   */
  request(method: string, params: JsonObject | undefined, options: CallOptions): Promise<JsonObject> {
    const codec = this.#codec;
    if (codec === undefined) {
      return Promise.reject(new GatewayError('UPSTREAM_DOWN', { upstream: this.#upstream }));
    }
    const { envelope, progress, headers } = options;
    const sent = codec.era === 'modern' ? { ...standardHeaders(method, params), ...headers } : {};
    const paramsFor = (id: number) =>
      codec.encodeParams(params, envelope, progress === true ? id : undefined);
    return this.exchange(method, options, sent, paramsFor).then((response) => {
      if ('error' in response) {
        throw new UpstreamRpcError(this.#upstream, response.error, { legacy: codec.era === 'legacy' });
      }
      return response.result;
    });
  }

  /** One request and its response, whichever it is. For the handshake, before there are terms to write it in. */
  exchange(
    method: string,
    options: CallOptions,
    headers: Readonly<Record<string, string>>,
    paramsFor: (id: number) => JsonObject | undefined,
  ): Promise<RpcResponse> {
    if (this.#ended !== undefined) {
      return Promise.reject(this.#ended);
    }
    const call = this.#calls.open(method, options);
    const { id, answer } = call;
    if (this.#calls.get(id) === undefined) {
      return answer; // cancelled before anything was sent
    }
    this.#transport.send(request(id, method, paramsFor(id)), { headers }).catch((thrown: unknown) => {
      call.reject(fromNetwork(thrown, { upstream: this.#upstream, sent: false }));
    });
    return answer;
  }

  /** A failure is logged: nobody waits for a notification. */
  async notify(method: string, params?: JsonObject): Promise<void> {
    try {
      await this.#transport.send(notification(method, params));
    } catch (thrown) {
      this.#log.debug({ err: thrown, method }, 'a notification could not be sent');
    }
  }

  /** Lets the calls under way end by themselves, each within its own limits, `ms` at the latest, and closes then. */
  async retire(ms: number, graceMs: number): Promise<void> {
    await Promise.race([this.#calls.untilIdle(), pause(ms)]);
    await this.close(graceMs);
  }

  close(graceMs: number): Promise<void> {
    return this.#transport.close(graceMs);
  }

  /**
   * Tells the upstream that nobody waits any more: on modern HTTP the closed stream says so, on every other channel a
   * notification does (spec 2026-07-28: patterns/cancellation). `initialize` must never be cancelled (2025-11-25).
   */
  #cancel({ id, method }: Call, reason: string): void {
    this.#transport.abandon(id);
    const closedStreamSaysSo = this.#terms?.era === 'modern' && this.#transport.streams;
    if (method !== 'initialize' && this.#ended === undefined && !closedStreamSaysSo) {
      void this.notify('notifications/cancelled', { requestId: id, ...(reason === '' ? {} : { reason }) });
    }
  }

  #receive(message: RpcMessage, origin: RpcId | undefined): void {
    this.#heardAt = Date.now();
    if ('method' in message) {
      if ('id' in message) {
        this.#answer(message, origin);
      } else {
        this.#notice(message, origin);
      }
      return;
    }
    const call = this.#calls.get(message.id);
    if (call !== undefined) {
      call.resolve(message);
      return;
    }
    this.#calls.late(message.id);
    this.#log.debug({ id: message.id }, 'an answer that nobody waits for was dropped');
  }

  /** To the call on whose stream the question came, else to the likeliest, else to the client at large. */
  #answer(message: RpcRequest, origin: RpcId | undefined): void {
    const known = this.#calls.get(origin);
    const call = known ?? this.#calls.askable();
    const guessed = known === undefined && call !== undefined;
    const ask = guessed ? this.#calls.asking(call) : call?.options.onQuestion;
    this.#inquiries.answer(message, ask ?? this.#events.question, call);
  }

  #reply(reply: RpcResponse): Promise<void> {
    return this.#transport.send(reply).catch((thrown: unknown) => {
      this.#log.debug({ err: thrown }, 'an answer could not be sent');
    });
  }

  #notice(message: RpcNotification, origin: RpcId | undefined): void {
    if (message.method === 'notifications/progress') {
      this.#progress(message);
      return;
    }
    if (message.method === 'notifications/cancelled') {
      this.#withdrawn(message.params?.['requestId']);
      return;
    }
    const isolated = this.#events.question !== undefined;
    const owner = this.#calls.ownerOf(message, origin, { isolated, modern: this.#terms?.era === 'modern' });
    if (owner?.options.onNotice === undefined) {
      this.#events.notice(message);
    } else {
      owner.options.onNotice(message);
    }
  }

  /**
   * The upstream takes one of its questions back, or ends a stream that we listen on: the one thing a modern server may
   * cancel (spec 2026-07-28: patterns/cancellation).
   */
  #withdrawn(id: unknown): void {
    this.#inquiries.withdraw(id);
    const call = isRpcId(id) ? this.#calls.get(id) : undefined;
    if (call?.method === 'subscriptions/listen') {
      call.reject(new GatewayError('CANCELLED', { upstream: this.#upstream }));
    }
  }

  /** Foreign, unasked or decreasing progress is dropped (case C-060); our token is the id of the request. */
  #progress(message: RpcNotification): void {
    const { progressToken, progress } = message.params ?? {};
    const owner = typeof progressToken === 'number' ? this.#calls.get(progressToken) : undefined;
    if (owner === undefined || typeof progress !== 'number' || !owner.advance(progress)) {
      this.#log.debug('progress without an owner, or that does not increase, was dropped');
      return;
    }
    owner.options.onNotice?.(message);
  }

  #end(reason: GatewayError): void {
    if (this.#ended !== undefined) {
      return;
    }
    this.#ended = reason;
    this.#calls.endAll(reason);
    this.#inquiries.withdrawAll();
    this.#events.closed(reason);
  }
}
