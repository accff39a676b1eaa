import { Ender, type EndSignal } from '../base/ender.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { Linked } from '../base/linked.ts';
import type { Log } from '../base/log.ts';
import { writeJson } from '../base/long-text.ts';
import { after } from '../base/time.ts';
import type { HttpUpstream } from '../config/settings.ts';
import { HEADERS } from '../protocol/headers.ts';
import type { RpcId, RpcMessage, RpcRequest } from '../protocol/json-rpc.ts';
import { announced, judgeRefusal } from './http-answer.ts';
import { decodedBody, drain, ENCODINGS, readStart } from './http-body.ts';
import { createEndpoint, type Endpoint, type HttpTransportOptions } from './http-endpoint.ts';
import type { Answer } from './http-exchange.ts';
import { keepListening } from './http-listen.ts';
import { readReply } from './http-reply.ts';
import { type Agreed, HttpSession } from './http-session.ts';
import { Inbox } from './inbox.ts';
import type { SendOptions, Transport, TransportSink } from './transport.ts';

/**
 * Streamable HTTP, both eras: one POST a message (spec 2026-07-28: transports/streamable-http; 2025-11-25: transports).
 *
 * Sent are the configured headers and those made here or given with `send`; there is no way for a header of the
 * gateway's own client to get here (C-050). What carries notifications and responses waits for the server's 202, so that
 * `notifications/initialized` is there before what follows it on another connection.
 */
export function createHttpTransport(about: HttpTransportOptions): Transport {
  return new HttpTransport(about);
}

/** The only method the transport has to know: its answer brings the session id (2025-11-25 transports). */
const INITIALIZE = 'initialize';
const NOTE_BYTES = 4_096;
const POSTED = {
  accept: 'application/json, text/event-stream',
  'accept-encoding': ENCODINGS,
  'content-type': 'application/json',
};
/** Most messages that ask for no answer and wait for the server to take them. */
const MOST_TOLD = 256;

class HttpTransport implements Transport {
  readonly streams = true;
  readonly #upstream: HttpUpstream;
  readonly #log: Log;
  readonly #endpoint: Endpoint;
  /** One for each POST under way; requests with their id. */
  readonly #underWay = new Linked<{ readonly id: RpcId | undefined; readonly control: Ender }>();
  readonly #session = new HttpSession();
  #telling = 0;
  #inbox: Inbox | undefined;
  #listening: AbortController | undefined;
  #ended: Promise<void> | undefined;

  constructor(about: HttpTransportOptions) {
    this.#upstream = about.upstream;
    this.#log = about.log;
    this.#endpoint = createEndpoint(about);
  }

  /** Nothing is connected before the first message. */
  async open(sink: TransportSink): Promise<void> {
    this.#inbox = new Inbox({
      upstream: this.#upstream.id,
      maxMessageBytes: this.#upstream.limits.maxMessageBytes,
      sink,
      log: this.#log,
    });
  }

  send(message: RpcMessage, options: SendOptions = {}): Promise<void> {
    const inbox = this.#inbox;
    if (inbox === undefined || this.#ended !== undefined) {
      return Promise.reject(this.#closed('UPSTREAM_DOWN'));
    }
    return 'method' in message && 'id' in message
      ? this.#call(message, options, inbox)
      : this.#tell(message, options);
  }

  abandon(id: RpcId): void {
    this.#inbox?.forget(id);
    const reason = new GatewayError('CANCELLED', { upstream: this.#upstream.id });
    this.#underWay
      .values()
      .find((each) => each.id === id)
      ?.control.abort(reason);
  }

  agreed(terms: Agreed): void {
    this.#session.agree(terms);
  }

  listen(missed: () => void): void {
    const inbox = this.#inbox;
    if (inbox === undefined || this.#ended !== undefined) {
      return;
    }
    this.#listening?.abort();
    const listening = new AbortController();
    this.#listening = listening;
    void keepListening({
      upstream: this.#upstream.id,
      maxMessageBytes: this.#upstream.limits.maxMessageBytes,
      restart: this.#upstream.restart,
      signal: listening.signal,
      missed,
      gone: () => inbox.close(new GatewayError('UPSTREAM_SESSION', { upstream: this.#upstream.id })),
      log: this.#log,
      open: (lastEventId) => this.#get(lastEventId, listening.signal),
      receive: (text) => {
        inbox.receive(text);
        this.#dropSettled(inbox);
      },
    });
  }

  close(graceMs: number): Promise<void> {
    this.#ended ??= this.#end(graceMs);
    return this.#ended;
  }

  /** Resolves when the request was written; whatever comes of it later goes to the inbox. */
  #call(message: RpcRequest, options: SendOptions, inbox: Inbox): Promise<void> {
    const { id } = message;
    inbox.expect(id);
    return new Promise((resolve, reject) => {
      let written = false;
      const onSent = () => {
        written = true;
        resolve();
      };
      this.#exchange(message, options, inbox, onSent).catch((thrown: unknown) => {
        const error = toGatewayError(thrown);
        if (written) {
          inbox.fail(id, error);
        } else {
          inbox.forget(id);
          reject(error);
        }
      });
    });
  }

  async #exchange(
    message: RpcRequest,
    options: SendOptions,
    inbox: Inbox,
    onSent: () => void,
  ): Promise<void> {
    const initializing = message.method === INITIALIZE;
    if (initializing) {
      this.#session.restart();
    }
    const session = this.#session.id;
    const control = new Ender();
    const place = this.#underWay.add({ id: message.id, control });
    try {
      const answer = await this.#post(message, options, control, onSent);
      if (initializing) {
        this.#session.begin(answer.status, answer.headers);
      }
      await readReply(answer, {
        upstream: this.#upstream.id,
        maxMessageBytes: this.#upstream.limits.maxMessageBytes,
        id: message.id,
        inbox,
        signal: control,
        sentSession: session !== undefined,
        resume: this.#session.resumable ? (lastEventId) => this.#get(lastEventId, control) : undefined,
      });
    } catch (thrown) {
      this.#noteFailure(thrown, session);
      throw thrown;
    } finally {
      this.#underWay.remove(place);
    }
  }

  /**
   * A notification or a response. Resolves when the server has taken it, but waits for that no longer than for a
   * connection: some servers never answer one. What it refuses is logged, since nobody waits for it.
   */
  #tell(message: RpcMessage, options: SendOptions): Promise<void> {
    if (this.#telling >= MOST_TOLD) {
      return Promise.reject(new GatewayError('UPSTREAM_BUSY', { upstream: this.#upstream.id }));
    }
    this.#telling += 1;
    const control = new Ender();
    const place = this.#underWay.add({ id: undefined, control });
    return new Promise((resolve, reject) => {
      let written = false;
      let late = () => {};
      const onSent = () => {
        written = true;
        late = after(this.#upstream.timeouts.connect, () => control.abort(this.#closed('UPSTREAM_TIMEOUT')));
      };
      const session = this.#session.id;
      this.#post(message, options, control, onSent)
        .then((answer) => this.#noteAnswer(answer, session))
        .catch((thrown: unknown) => {
          if (!written) {
            reject(toGatewayError(thrown));
          }
          this.#noteFailure(thrown, session);
          this.#log.debug({ err: thrown }, 'a message that asks for no answer was not taken');
        })
        .finally(() => {
          late();
          this.#telling -= 1;
          this.#underWay.remove(place);
          resolve();
        });
    });
  }

  async #noteAnswer(answer: Answer, session: string | undefined): Promise<void> {
    const { status, headers } = answer;
    if (announced(status, headers) !== 'refusal') {
      drain(answer.body);
      return;
    }
    const upstream = this.#upstream.id;
    const body = await readStart(decodedBody(answer, upstream), NOTE_BYTES);
    throw judgeRefusal({
      upstream,
      status,
      headers,
      body,
      id: undefined,
      sentSession: session !== undefined,
    });
  }

  #post(message: RpcMessage, options: SendOptions, signal: EndSignal, onSent: () => void): Promise<Answer> {
    const headers = { ...this.#session.headers, ...options.headers, ...POSTED };
    const body = writeJson(message);
    return this.#endpoint.ask({ method: 'POST', headers, body, signal, onSent });
  }

  /** An event stream: uncompressed, since proxies that compress tend to hold small events back. */
  #get(lastEventId: string | undefined, signal: EndSignal): Promise<Answer> {
    const headers = {
      ...this.#session.headers,
      ...(lastEventId === undefined ? {} : { [HEADERS.lastEvent]: lastEventId }),
      accept: 'text/event-stream',
    };
    return this.#endpoint.ask({ method: 'GET', headers, signal });
  }

  #noteFailure(thrown: unknown, session: string | undefined): void {
    if (this.#session.endedBy(thrown, session)) {
      this.#listening?.abort();
    }
  }

  async #end(graceMs: number): Promise<void> {
    const reason = this.#closed('UPSTREAM_LOST');
    this.#listening?.abort(reason);
    for (const { control } of this.#underWay.values()) {
      control.abort(reason);
    }
    await this.#sayGoodbye(graceMs);
    await this.#endpoint.destroy();
    this.#inbox?.close(reason);
  }

  /** Servers keep a session until they are told (C-049). 405 means that they do not want to be. */
  async #sayGoodbye(graceMs: number): Promise<void> {
    if (this.#session.id === undefined || graceMs <= 0) {
      return;
    }
    try {
      const signal = AbortSignal.timeout(graceMs);
      const answer = await this.#endpoint.ask({ method: 'DELETE', headers: this.#session.headers, signal });
      answer.body.destroy();
      this.#log.debug({ status: answer.status }, 'session ended');
    } catch (thrown) {
      this.#log.debug({ err: thrown }, 'the session could not be ended');
    }
  }

  /** Some servers answer on the stream of notices; the request's own connection would stay open for nothing. */
  #dropSettled(inbox: Inbox): void {
    for (const { id, control } of this.#underWay.values()) {
      if (id !== undefined && !inbox.waitsFor(id)) {
        control.abort(this.#closed('UPSTREAM_LOST'));
      }
    }
  }

  #closed(code: 'UPSTREAM_DOWN' | 'UPSTREAM_LOST' | 'UPSTREAM_TIMEOUT'): GatewayError {
    return new GatewayError(code, { upstream: this.#upstream.id, logged: 'ended by the gateway' });
  }
}
