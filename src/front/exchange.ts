import type { FastifyReply } from 'fastify';
import type { Log } from '../base/log.ts';
import type { Settings } from '../config/settings.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Reply } from '../relay/relay.ts';
import { SseStream } from './sse-stream.ts';

export interface ExchangeOptions {
  readonly reply: FastifyReply;
  readonly accepts: { readonly json: boolean; readonly sse: boolean };
  readonly headers: Readonly<Record<string, string>>;
  readonly streams: Settings['streams'];
  readonly log: Log;
}

/** The answer to one POST: JSON, unless something has to be said before the result; then an event stream. */
export class Exchange {
  readonly #options: ExchangeOptions;
  #stream: SseStream | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Something before the result, as JSON text. False where it cannot be heard: no event stream, or the client is gone. */
  say(json: string): boolean {
    const { accepts, reply } = this.#options;
    if (!accepts.sse || reply.raw.writableEnded || reply.raw.destroyed) {
      return false;
    }
    this.#stream ??= this.#begin();
    this.#stream.send(json);
    return this.#stream.open;
  }

  notify(notice: RpcNotification): void {
    this.say(JSON.stringify(notice));
  }

  /** The result. Nothing follows it. */
  finish(answer: Reply): void {
    const { reply, accepts, headers } = this.#options;
    if (this.#stream === undefined && accepts.json) {
      void reply
        .code(answer.status)
        .headers({ ...headers, 'content-type': 'application/json' })
        .send(answer.json);
      return;
    }
    this.#stream ??= this.#begin();
    this.#stream.send(answer.json);
    this.#stream.end();
  }

  #begin(): SseStream {
    const { reply, headers, streams, log } = this.#options;
    return openStream(reply, headers, streams, log);
  }
}

/** Takes the response out of the framework's hands and turns it into an event stream. */
export function openStream(
  reply: FastifyReply,
  headers: Readonly<Record<string, string>>,
  streams: Settings['streams'],
  log: Log,
): SseStream {
  reply.hijack();
  const { keepAlive, bufferBytes } = streams;
  return new SseStream({ response: reply.raw, headers, keepAliveMs: keepAlive, bufferBytes, log });
}
