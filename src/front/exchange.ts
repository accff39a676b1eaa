import type { Log } from '../base/log.ts';
import { type Wait, Waits } from '../base/waits.ts';
import type { Reply } from '../relay/relay.ts';
import type { FrontOptions } from './front.ts';
import type { HttpReply } from './http.ts';
import type { Outlet } from './outlet.ts';
import { refusalHeaders } from './refusal.ts';
import { SseStream } from './sse-stream.ts';
import type { Unread } from './unread.ts';
import { answerWhole } from './whole-answer.ts';

export interface ExchangeOptions {
  readonly reply: HttpReply;
  readonly unread: Unread;
  readonly accepts: { readonly json: boolean; readonly sse: boolean };
  /** Turns the response into an event stream. */
  readonly stream: () => Outlet;
  /** ms after which an answer that is still to come begins as an event stream. */
  readonly openAfter: number;
  /** How many answers there will be, for a batch: they go back as one array. Undefined: one, as it is. */
  readonly batch?: number;
}

const NONE: Readonly<Record<string, string>> = {};
/** For all exchanges of the process. */
const waits = new Waits<Exchange>((exchange) => exchange.open());

/** The answer to one POST: JSON, unless something has to be said before the result; then an event stream. */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #answers: Reply[] = [];
  #wait: Wait<Exchange> | undefined;
  #stream: Outlet | undefined;
  #left: number;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#left = options.batch ?? 1;
    if (options.accepts.sse) {
      this.#wait = waits.add(this, options.openAfter);
    }
  }

  /**
   * Something before the last result, as JSON text. False where it cannot be heard: the client takes no event stream, or
   * is gone and cannot come back, or all is said.
   */
  say(json: string): boolean {
    if (this.#left > 0 && this.#options.accepts.sse) {
      this.open();
    }
    return this.#stream?.send(json) === true;
  }

  /** One result. Nothing follows the last one. */
  finish(answer: Reply): void {
    this.#left -= 1;
    this.#answers.push(answer);
    // A refusal for the lack of a scope has to have its own status, whatever the client would rather read.
    if (this.#left === 0 && !this.#options.accepts.json && answer.refused === undefined) {
      this.open();
    }
    if (this.#stream !== undefined) {
      this.#sendAnswers(this.#stream);
    } else if (this.#left === 0) {
      this.#stopWaiting();
      this.#sendJson();
    }
  }

  /** The answer is an event stream from here on, where it is nothing yet. Idempotent. */
  open(): void {
    const { raw } = this.#options.reply;
    if (this.#stream === undefined && !raw.writableEnded && !raw.destroyed) {
      this.#stopWaiting();
      this.#stream = this.#options.stream();
      this.#sendAnswers(this.#stream);
    }
  }

  #stopWaiting(): void {
    if (this.#wait !== undefined) {
      waits.remove(this.#wait);
    }
  }

  #sendAnswers(stream: Outlet): void {
    for (const { json } of this.#answers.splice(0)) {
      stream.send(json);
    }
    if (this.#left === 0) {
      stream.end();
    }
  }

  #sendJson(): void {
    const { reply, batch, unread } = this.#options;
    const [first] = this.#answers;
    if (batch === undefined && first !== undefined) {
      const { status, refused, parts } = first;
      const headers = refused === undefined ? NONE : refusalHeaders(reply.request, refused);
      answerWhole({ reply, status, headers, json: parts ?? first.json, unread });
    } else {
      const json = `[${this.#answers.map((answer) => answer.json).join(',')}]`;
      answerWhole({ reply, status: 200, headers: NONE, json, unread });
    }
  }
}

/** Takes the response out of the framework's hands and turns it into an event stream. */
export function openStream(
  reply: HttpReply,
  headers: Readonly<Record<string, string>>,
  { regime, streams }: Pick<FrontOptions, 'regime' | 'streams'>,
  log: Log,
): SseStream {
  reply.hijack();
  const { keepAlive: keepAliveMs, bufferBytes } = regime().settings.streams;
  const { unread } = streams;
  return new SseStream({ response: reply.raw, headers, keepAliveMs, bufferBytes, unread, log });
}
