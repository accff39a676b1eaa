import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { after } from '../base/time.ts';
import type { HttpUpstream } from '../config/settings.ts';
import { headerOf } from '../protocol/headers.ts';
import type { RpcId, RpcMessage } from '../protocol/json-rpc.ts';
import { announced, judgeRefusal } from './http-answer.ts';
import { decodedBody, drain, ENCODINGS, readStart, readText } from './http-body.ts';
import { createEndpoint, type Endpoint, type HttpTransportOptions } from './http-endpoint.ts';
import type { Answer } from './http-exchange.ts';
import { foreign } from './http-reply.ts';
import { Inbox } from './inbox.ts';
import { readEvents } from './sse-reader.ts';
import type { Transport, TransportSink } from './transport.ts';

/**
 * The HTTP+SSE pair of 2024-11-05: one GET stream that brings every message, and an endpoint named on it that takes
 * them. The stream is the session: when it ends, everything has ended (C-048).
 */
export function createSseTransport(about: HttpTransportOptions): Transport {
  return new SseTransport(about);
}

const REFUSAL_BYTES = 65_536;

class SseTransport implements Transport {
  readonly streams = false;
  readonly #upstream: HttpUpstream;
  readonly #log: Log;
  readonly #endpoint: Endpoint;
  readonly #life = new AbortController();
  #inbox: Inbox | undefined;
  /** Where messages go; unknown until the stream names it. */
  #target: URL | undefined;
  #ended: Promise<void> | undefined;

  constructor(about: HttpTransportOptions) {
    this.#upstream = about.upstream;
    this.#log = about.log;
    this.#endpoint = createEndpoint(about);
  }

  /** Resolves when the stream has named its endpoint, within `timeouts.connect`. */
  async open(sink: TransportSink): Promise<void> {
    const upstream = this.#upstream.id;
    const inbox = new Inbox({
      upstream,
      maxMessageBytes: this.#upstream.limits.maxMessageBytes,
      sink,
      log: this.#log,
    });
    const late = after(this.#upstream.timeouts.connect, () =>
      this.#life.abort(
        new GatewayError('UPSTREAM_DOWN', { upstream, detail: 'It named no endpoint in time.' }),
      ),
    );
    try {
      const answer = await this.#openStream();
      await new Promise<void>((resolve, reject) => {
        this.#read(answer, inbox, resolve).then(
          () => reject(this.#lost('its event stream ended')),
          (thrown: unknown) => reject(toGatewayError(thrown)),
        );
      });
    } catch (thrown) {
      this.#ended ??= this.#endpoint.destroy();
      await this.#ended;
      throw thrown;
    } finally {
      late();
    }
  }

  send(message: RpcMessage): Promise<void> {
    const inbox = this.#inbox;
    const url = this.#target;
    if (inbox === undefined || url === undefined || this.#ended !== undefined) {
      return Promise.reject(new GatewayError('UPSTREAM_DOWN', { upstream: this.#upstream.id }));
    }
    const id = 'method' in message && 'id' in message ? message.id : undefined;
    if (id !== undefined) {
      inbox.expect(id);
    }
    return new Promise((resolve, reject) => {
      let written = false;
      const onSent = () => {
        written = true;
        resolve();
      };
      this.#post(url, message, onSent)
        .then((answer) => this.#noteAnswer(answer, id, inbox))
        .catch((thrown: unknown) => {
          const error = toGatewayError(thrown);
          if (!written) {
            reject(error);
          }
          if (id === undefined) {
            this.#log.debug({ err: error }, 'a message that asks for no answer was not taken');
          } else if (written) {
            inbox.fail(id, error);
          } else {
            inbox.forget(id);
          }
        });
    });
  }

  abandon(id: RpcId): void {
    this.#inbox?.forget(id);
  }

  /** There is nothing to say goodbye with: the end of the stream is the end. */
  close(): Promise<void> {
    return this.#end(this.#lost('ended by the gateway'));
  }

  async #openStream(): Promise<Answer> {
    const upstream = this.#upstream.id;
    const headers = { accept: 'text/event-stream' };
    const answer = await this.#endpoint.ask({ method: 'GET', headers, signal: this.#life.signal });
    const kind = announced(answer.status, answer.headers);
    if (kind === 'events') {
      return answer;
    }
    if (kind !== 'refusal') {
      throw await foreign(answer, upstream);
    }
    const { status, headers: got } = answer;
    const body = await readStart(decodedBody(answer, upstream), REFUSAL_BYTES);
    throw judgeRefusal({ upstream, status, headers: got, body, id: undefined, sentSession: false });
  }

  /** Reads the stream to its end. `named` is called when the endpoint is known; from then on the end is reported. */
  async #read(answer: Answer, inbox: Inbox, named: () => void): Promise<void> {
    const upstream = this.#upstream.id;
    let reason = this.#lost('its event stream ended');
    try {
      await readEvents(decodedBody(answer, upstream), {
        upstream,
        maxEventBytes: this.#upstream.limits.maxMessageBytes,
        position: {},
        event: ({ type, data }) => {
          if (type === 'endpoint' && this.#target === undefined) {
            this.#target = this.#resolveTarget(data, answer.url);
            this.#inbox = inbox;
            named();
          } else if (type === 'message' && data !== '') {
            inbox.receive(data);
          }
          return false;
        },
      });
    } catch (thrown) {
      reason = toGatewayError(thrown);
    }
    if (this.#inbox === undefined) {
      throw reason;
    }
    await this.#end(reason);
  }

  /** Relative to the stream's URL, with the query exactly as named; never another origin, which would get our headers. */
  #resolveTarget(named: string, base: URL): URL {
    const upstream = this.#upstream.id;
    const target = URL.canParse(named, base.href) ? new URL(named, base.href) : undefined;
    if (target === undefined || target.origin !== base.origin) {
      throw new GatewayError('UPSTREAM_REDIRECT', {
        upstream,
        detail: 'The endpoint it names is of another origin.',
        logged: `endpoint: ${named.slice(0, 200)}`,
      });
    }
    return target;
  }

  #post(url: URL, message: RpcMessage, onSent: () => void): Promise<Answer> {
    const headers = {
      accept: 'application/json, text/event-stream',
      'accept-encoding': ENCODINGS,
      'content-type': 'application/json',
    };
    const body = JSON.stringify(message);
    return this.#endpoint.ask({ url, method: 'POST', headers, body, signal: this.#life.signal, onSent });
  }

  /** Any success will do: the answer itself comes on the stream, or in the body here, where some servers put it. */
  async #noteAnswer(answer: Answer, id: RpcId | undefined, inbox: Inbox): Promise<void> {
    const upstream = this.#upstream.id;
    const { status, headers } = answer;
    if (status < 300) {
      const isJson = announced(status, headers) === 'json' && headerOf(headers, 'content-type') !== undefined;
      if (id === undefined || !isJson) {
        drain(answer.body);
        return;
      }
      const { maxMessageBytes } = this.#upstream.limits;
      const text = await readText(decodedBody(answer, upstream), maxMessageBytes, upstream);
      if (text.trim() !== '') {
        inbox.receive(text, id);
      }
      return;
    }
    const body = await readStart(decodedBody(answer, upstream), REFUSAL_BYTES);
    const judged = judgeRefusal({ upstream, status, headers, body, id, sentSession: false });
    if (judged instanceof GatewayError) {
      throw judged;
    }
    inbox.receive(JSON.stringify(judged));
  }

  #end(reason: GatewayError): Promise<void> {
    this.#ended ??= (async () => {
      this.#inbox?.close(reason);
      this.#life.abort(reason);
      await this.#endpoint.destroy();
    })();
    return this.#ended;
  }

  #lost(logged: string): GatewayError {
    return new GatewayError('UPSTREAM_LOST', { upstream: this.#upstream.id, logged });
  }
}
