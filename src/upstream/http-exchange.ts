import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { GatewayError } from '../base/errors.ts';
import type { HeaderMap } from '../protocol/headers.ts';
import { fromNetwork } from './foreign-errors.ts';

export interface Ask {
  readonly upstream: string;
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Ends the exchange at any stage. Its reason, a GatewayError, is what the exchange then fails with. */
  readonly signal: AbortSignal;
  /** Called once, when the whole request has been written to a connection. */
  readonly onSent?: () => void;
}

export interface Answer {
  readonly status: number;
  readonly headers: HeaderMap;
  /**
   * The body as it came, still encoded. It fails with a GatewayError; destroying it ends the exchange. Somebody has to
   * read or destroy it, or its connection is never free again.
   */
  readonly body: Readable;
}

/**
 * One HTTP request on a pool. Resolves with the final status and headers; rejects with UPSTREAM_DOWN when certainly
 * nothing was sent, with UPSTREAM_LOST once something may have been.
 *
 * This drives undici's `dispatch` itself, since nothing above it tells whether a request had left, which decides
 * whether a call may be made again (C-046). A kept connection that the server has closed meanwhile is replaced by
 * undici before anything is written; a POST that was written is never repeated.
 */
export function exchange(pool: Dispatcher, ask: Ask): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { path, method, headers, body } = ask;
    const flight = new Flight(ask, resolve, reject);
    if (flight.live) {
      pool.dispatch({ path, method, headers, body: body ?? null }, flight);
    }
  });
}

class Flight implements Dispatcher.DispatchHandler {
  readonly #ask: Ask;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: GatewayError) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #body: Readable | undefined;
  #sent = false;
  #over = false;

  constructor(ask: Ask, resolve: (answer: Answer) => void, reject: (error: GatewayError) => void) {
    this.#ask = ask;
    this.#resolve = resolve;
    this.#reject = reject;
    ask.signal.addEventListener('abort', this.#aborted, { once: true });
    if (ask.signal.aborted) {
      this.#aborted();
    }
  }

  get live(): boolean {
    return !this.#over;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) {
      // Given up while it waited for a connection: it must not be written now.
      controller.abort(new Error('given up'));
    }
  }

  onRequestSent(): void {
    if (!this.#sent) {
      this.#sent = true;
      this.#ask.onSent?.();
    }
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: HeaderMap): void {
    if (status < 200) {
      return; // 100 and 103 only announce the answer
    }
    const body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        this.#finish();
        controller.abort(error ?? new Error('closed by its reader'));
        done(error);
      },
    });
    // Whoever reads learns of errors by reading; a body that nobody reads any more must not end the process.
    body.on('error', () => {});
    this.#body = body;
    this.#resolve({ status, headers, body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) {
      controller.pause();
    }
  }

  onResponseEnd(): void {
    this.#finish();
    this.#body?.push(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, thrown: Error): void {
    this.#fail(thrown);
  }

  readonly #aborted = () => {
    const { reason } = this.#ask.signal;
    this.#fail(reason);
    this.#controller?.abort(reason instanceof Error ? reason : new Error('aborted'));
  };

  #fail(thrown: unknown): void {
    if (this.#over) {
      return;
    }
    this.#finish();
    // Writing begins right after the start, so from there on it is not known how much has left.
    const error = fromNetwork(thrown, {
      upstream: this.#ask.upstream,
      sent: this.#controller !== undefined,
    });
    if (this.#body === undefined) {
      this.#reject(error);
    } else {
      this.#body.destroy(error);
    }
  }

  #finish(): void {
    this.#over = true;
    this.#ask.signal.removeEventListener('abort', this.#aborted);
  }
}
