import type { ServerResponse } from 'node:http';
import type { Log } from '../base/log.ts';
import { endpointEvent, KEEP_ALIVE, messageEvent, primingEvent, SSE_HEADERS } from '../protocol/sse.ts';
import { Backlog } from './backlog.ts';
import type { Outlet } from './outlet.ts';
import type { Unread } from './unread.ts';

export interface SseOptions {
  readonly response: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  /** ms between comments on a quiet stream. */
  readonly keepAliveMs: number;
  /** Bytes that may wait for a slow reader; more, and it is cut. */
  readonly bufferBytes: number;
  /** Where what waits is counted together with what waits for others. */
  readonly unread: Unread;
  readonly log: Log;
}

/** One Server-Sent-Events response. Headers go out at once; a reader too slow for its stream is cut, not buffered. */
export class SseStream implements Outlet {
  readonly #response: ServerResponse;
  readonly #backlog: Backlog;
  readonly #unread: Unread;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  #open = true;

  constructor({ response, headers, keepAliveMs, bufferBytes, unread, log }: SseOptions) {
    this.#response = response;
    this.#unread = unread;
    this.#log = log;
    response.writeHead(200, { ...headers, ...SSE_HEADERS });
    response.flushHeaders();
    const cut = (waiting: number) => {
      log.warn({ waiting }, 'a reader was too slow for its stream and was cut');
      this.#closed();
      response.destroy();
    };
    this.#backlog = new Backlog(response, bufferBytes, cut, (bytes) => unread.waits(this, bytes, cut));
    this.#timer = setInterval(() => this.#write(KEEP_ALIVE), keepAliveMs);
    this.#timer.unref();
    this.onClose(() => this.#closed());
    // A reset by the client is its way of leaving; 'close' follows.
    response.on('error', (error) => log.debug({ err: error }, 'a stream broke'));
  }

  get connected(): boolean {
    return this.#open;
  }

  /** Runs when the connection is over, whoever ended it; soon, where it is over already. */
  onClose(run: () => void): void {
    if (this.#response.destroyed) {
      queueMicrotask(run);
    } else {
      this.#response.on('close', run);
    }
  }

  /** `id` is what a client that lost the connection names to go on after this message. */
  send(json: string, id?: string): boolean {
    this.#write(messageEvent(json, id));
    return this.#open;
  }

  /** Messages sent before, all at once: together they count as one towards a slow reader. */
  replay(events: readonly { readonly json: string; readonly id: string }[]): void {
    if (events.length > 0) {
      this.#write(events.map(({ json, id }) => messageEvent(json, id)).join(''));
    }
  }

  /** Tells the client that it can come back, and how soon, in ms. */
  prime(id: string, retryMs: number): void {
    this.#write(primingEvent(id, retryMs));
  }

  /** Tells a client of 2024-11-05 where to post its messages. */
  nameEndpoint(address: string): void {
    this.#write(endpointEvent(address));
  }

  /** Ends the response after what was written. */
  end(): void {
    if (this.#open) {
      this.#backlog.flush();
      this.#closed();
      const left = this.#response.writableLength;
      this.#response.end();
      this.#unread.answer(this.#response, left, this.#log);
    }
  }

  #write(text: string): void {
    if (this.#open) {
      this.#backlog.write(text);
    }
  }

  #closed(): void {
    this.#open = false;
    this.#backlog.drop();
    clearInterval(this.#timer);
  }
}
