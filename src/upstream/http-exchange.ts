import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { Gathered } from '../base/gathered.ts';
import { JsonParts } from '../base/long-text.ts';
import { type Bytes, bytesOf } from '../base/pieces.ts';
import type { HeaderMap } from '../protocol/headers.ts';
import { fromNetwork } from './foreign-errors.ts';

export interface Ask {
  readonly upstream: string;
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | JsonParts;
  /** Ends the exchange at any stage. Its reason, a GatewayError, is what the exchange then fails with. */
  readonly signal: EndSignal;
  /** Called once, when the whole request has been written to a connection. */
  readonly onSent?: () => void;
}

export interface Answer {
  readonly url: URL;
  readonly status: number;
  readonly headers: HeaderMap;
  /**
   * The body as it came, still encoded, to be read as a stream. It fails with a GatewayError; destroying it ends the
   * exchange. Somebody has to read or destroy it, or take {@link bytes} instead, or its connection is never free again.
   */
  readonly body: Readable;
  /**
   * The whole body as it came, without the detour of a stream. Rejects with a GatewayError: UPSTREAM_TOO_LARGE for more
   * than `most` bytes, which ends the exchange. Either this or {@link body}, once.
   */
  bytes(most: number): Promise<Bytes>;
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
    const { url, method, headers, body } = ask;
    const flight = new Flight(ask, resolve, reject);
    if (flight.live) {
      const path = url.pathname + url.search;
      pool.dispatch({ path, method, headers, body: written(body) }, flight);
    }
  });
}

/** A body in parts that is no longer is put together: each part costs more than to copy it. */
const AT_ONCE = 131_072;

/** Parts of a long body go out as they are; all are there from the beginning, so undici tells the server their length. */
function written(body: Ask['body']): string | Buffer | Readable | null {
  if (!(body instanceof JsonParts)) {
    return body ?? null;
  }
  if (body.byteLength <= AT_ONCE) {
    return body.toBuffer();
  }
  const stream = new Readable({ read() {} });
  // It fails with its exchange, which says so itself.
  stream.on('error', () => {});
  for (const part of body) {
    stream.push(part);
  }
  stream.push(null);
  return stream;
}

/** So much of a body is taken before anybody reads it. */
const UNREAD_BYTES = 65_536;

interface Whole {
  readonly most: number;
  readonly resolve: (bytes: Bytes) => void;
  readonly reject: (error: GatewayError) => void;
}

class Flight implements Dispatcher.DispatchHandler, Answer {
  readonly #ask: Ask;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: GatewayError) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #sent = false;
  /** It has ended, or has failed with `#error`. */
  #over = false;
  #error: GatewayError | undefined;
  /** 0 until the answer has begun. */
  status = 0;
  headers: HeaderMap = {};
  /** What has come and was not handed to `#body`. */
  readonly #chunks = new Gathered();
  #length = 0;
  #body: Readable | undefined;
  #whole: Whole | undefined;

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

  get url(): URL {
    return this.#ask.url;
  }

  get body(): Readable {
    this.#body ??= this.#stream();
    return this.#body;
  }

  bytes(most: number): Promise<Bytes> {
    return new Promise((resolve, reject) => {
      this.#whole = { most, resolve, reject };
      this.#settle();
      this.#controller?.resume();
    });
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

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: HeaderMap): void {
    if (status < 200) {
      return; // 100 and 103 only announce the answer
    }
    this.status = status;
    this.headers = headers;
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body !== undefined) {
      if (!this.#body.push(chunk)) {
        controller.pause();
      }
      return;
    }
    this.#chunks.add(chunk);
    this.#length += chunk.length;
    if (this.#whole === undefined && this.#length >= UNREAD_BYTES) {
      controller.pause();
    }
    this.#settle();
  }

  onResponseEnd(): void {
    this.#finish();
    this.#body?.push(null);
    this.#settle();
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
    this.#error = error;
    this.#chunks.take();
    if (this.status === 0) {
      this.#reject(error);
    }
    this.#body?.destroy(error);
    this.#settle();
  }

  /** Settles whoever waits for the whole body, once it is known what comes of it. */
  #settle(): void {
    const whole = this.#whole;
    if (whole === undefined) {
      return;
    }
    if (this.#error !== undefined) {
      whole.reject(this.#error);
    } else if (this.#length > whole.most) {
      const error = new GatewayError('UPSTREAM_TOO_LARGE', { upstream: this.#ask.upstream });
      whole.reject(error);
      this.#fail(error);
      this.#controller?.abort(error);
    } else if (this.#over) {
      whole.resolve(this.#taken());
    }
  }

  #finish(): void {
    this.#over = true;
    this.#ask.signal.removeEventListener('abort', this.#aborted);
  }

  #taken(): Bytes {
    return bytesOf(this.#chunks.take());
  }

  #stream(): Readable {
    const body = new Readable({
      read: () => this.#controller?.resume(),
      destroy: (error, done) => {
        if (!this.#over) {
          this.#finish();
          this.#controller?.abort(error ?? new Error('closed by its reader'));
        }
        done(error);
      },
    });
    // Whoever reads learns of errors by reading; a body that nobody reads any more must not end the process.
    body.on('error', () => {});
    if (this.#error !== undefined) {
      body.destroy(this.#error);
      return body;
    }
    for (const chunk of this.#chunks.take()) {
      body.push(chunk);
    }
    if (this.#over) {
      body.push(null);
    }
    return body;
  }
}
