import type { ServerResponse } from 'node:http';
import type { Log } from '../base/log.ts';
import { KEEP_ALIVE, SSE_HEADERS, sseEvent } from '../protocol/sse.ts';

export interface SseOptions {
  readonly response: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  /** ms between comments on a quiet stream. */
  readonly keepAliveMs: number;
  /** Bytes that may wait for a slow reader; more, and it is cut. */
  readonly bufferBytes: number;
  readonly log: Log;
}

/** One Server-Sent-Events response. Headers go out at once; a reader too slow for its stream is cut, not buffered. */
export class SseStream {
  readonly #response: ServerResponse;
  readonly #options: SseOptions;
  readonly #timer: NodeJS.Timeout;
  #open = true;

  constructor(options: SseOptions) {
    this.#options = options;
    this.#response = options.response;
    this.#response.writeHead(200, { ...options.headers, ...SSE_HEADERS });
    this.#response.flushHeaders();
    this.#timer = setInterval(() => this.#write(KEEP_ALIVE), options.keepAliveMs);
    this.#timer.unref();
    this.#response.on('close', () => this.#closed());
    // A reset by the client is its way of leaving; 'close' follows.
    this.#response.on('error', (error) => options.log.debug({ err: error }, 'a stream broke'));
  }

  get open(): boolean {
    return this.#open;
  }

  /** One message as JSON text. Dropped when the stream has ended: whoever waited for it is gone. */
  send(json: string): void {
    this.#write(sseEvent(json));
  }

  /** Ends the response after what was written. Idempotent. */
  end(): void {
    if (this.#open) {
      this.#closed();
      this.#response.end();
    }
  }

  #write(text: string): void {
    if (!this.#open) {
      return;
    }
    this.#response.write(text);
    if (this.#response.writableLength > this.#options.bufferBytes) {
      this.#options.log.warn(
        { waiting: this.#response.writableLength },
        'a reader was too slow for its stream and was cut',
      );
      this.#closed();
      this.#response.destroy();
    }
  }

  #closed(): void {
    this.#open = false;
    clearInterval(this.#timer);
  }
}
