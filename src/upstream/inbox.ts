import { GatewayError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { KEPT } from '../base/line-reader.ts';
import type { Log } from '../base/log.ts';
import { type Bytes, inPieces, Pieces } from '../base/pieces.ts';
import { createRation, excerpt } from '../base/ration.ts';
import { readJsonBytes } from '../protocol/json-bytes.ts';
import { classify, type RpcId, type RpcMessage } from '../protocol/json-rpc.ts';
import { readJson } from '../protocol/json-text.ts';
import { peekResponseId } from './peek-id.ts';
import type { TransportSink } from './transport.ts';

export interface InboxOptions {
  readonly upstream: string;
  readonly maxMessageBytes: number;
  readonly sink: TransportSink;
  readonly log: Log;
}

const BYTE_ORDER_MARK = 0xfeff;
const MARK_BYTES = 3;
/** Log lines a minute about what is no message. */
const REPORTS_PER_MINUTE = 10;
/** Most messages of one batch: more is a flood, whatever its length. */
const MOST_IN_BATCH = 1_000;

/**
 * What a transport has received, on its way to the sink. Keeps the promise that every open request ends exactly once:
 * with its answer, with one `failed`, or with `closed`. Peers write all sorts of things where messages belong (C-028);
 * what is none is skipped and reported now and then, and never becomes an answer.
 */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #reports = createRation(REPORTS_PER_MINUTE);
  readonly #open = new Set<RpcId>();
  #closed = false;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** From now on `id` is an open request. Call it before the request is sent: its answer may come first. */
  expect(id: RpcId): void {
    this.#open.add(id);
  }

  /** Nobody wants to hear of `id` any more. */
  forget(id: RpcId): void {
    this.#open.delete(id);
  }

  waitsFor(id: RpcId): boolean {
    return this.#open.has(id);
  }

  /**
   * Takes one JSON text, in UTF-8 where it is bytes: a message, or a batch of them (2025-03-26). With `origin`, the id of the request on whose own
   * stream the text came, only that request can be answered, and an error without id is its answer.
   * Returns whether the text held a message.
   */
  receive(message: string | Bytes, origin?: RpcId): boolean {
    const { maxMessageBytes } = this.#options;
    const read =
      typeof message === 'string'
        ? readJson(message.charCodeAt(0) === BYTE_ORDER_MARK ? message.slice(1) : message, maxMessageBytes)
        : readJsonBytes(withoutMark(message), maxMessageBytes);
    if (read.kind === 'excessive') {
      this.#refuse(message.toString(), origin, read.excess);
      return false;
    }
    if (read.kind === 'not-json') {
      const text = message.toString();
      this.#report(text, 'not JSON');
      this.#failDamaged(text, origin);
      return false;
    }
    if (!Array.isArray(read.value)) {
      return this.#take(read.value, origin);
    }
    const members: readonly unknown[] = read.value;
    if (members.length > MOST_IN_BATCH) {
      this.#refuse(message.toString(), origin, `a batch of more than ${MOST_IN_BATCH} messages`);
      return false;
    }
    return members.filter((member) => this.#take(member, origin)).length > 0;
  }

  /**
   * A message too large to be taken: the request it answers fails at once when its id can be read from the message's
   * head or tail. `tail` is undefined while the message still runs.
   */
  tooLarge(head: string, tail: string | undefined): void {
    this.#failTooLarge(peekResponseId(head, tail ?? ''));
    if (tail !== undefined) {
      this.#report(head, 'larger than maxMessageBytes');
    }
  }

  /** Ends one open request without an answer; does nothing when it has ended already. */
  fail(id: RpcId, error: GatewayError): void {
    if (!this.#closed && this.#open.delete(id)) {
      this.#options.sink.failed(id, error);
    }
  }

  /** The last thing the sink hears. */
  close(reason: GatewayError): void {
    if (this.#closed) {
      return;
    }
    this.#closed = true;
    this.#open.clear();
    this.#options.sink.closed(reason);
  }

  #take(value: unknown, origin: RpcId | undefined): boolean {
    const found = classify(value);
    switch (found.kind) {
      case 'response': {
        // The type says RpcId or absent; the wire also says null.
        const id: unknown = found.message.id;
        this.#answer(found.message, id === null || id === undefined ? origin : (id as RpcId), origin);
        return true;
      }
      case 'request':
      case 'notification':
        this.#deliver(found.message, origin);
        return true;
      case 'invalid': {
        this.#report(value, found.reason);
        const ours = found.id !== undefined && isObject(value) && !Object.hasOwn(value, 'method');
        if (ours && found.id !== undefined && (origin === undefined || origin === found.id)) {
          this.fail(found.id, this.#notMcp(found.reason));
        }
        return false;
      }
    }
  }

  #answer(message: RpcMessage, id: RpcId | undefined, origin: RpcId | undefined): void {
    if (id === undefined) {
      // An error of nobody in particular, on a shared channel.
      this.#deliver(message, origin);
    } else if (origin !== undefined && id !== origin) {
      this.#report(message, 'not the id of the request it came for');
    } else if (this.#open.delete(id)) {
      this.#deliver(
        'id' in message && message.id === id ? message : ({ ...message, id } as RpcMessage),
        origin,
      );
    }
    // Else it was answered, failed or abandoned before: late answers are ordinary and go nowhere.
  }

  #deliver(message: RpcMessage, origin: RpcId | undefined): void {
    if (!this.#closed) {
      this.#options.sink.message(message, origin);
    }
  }

  /** A response that is cut short, or glued to a log line or to half of another one, fails its request: it would wait in vain. */
  #failDamaged(text: string, origin: RpcId | undefined): void {
    const first = text.indexOf('{"');
    if (first === -1 || !text.includes('"jsonrpc"')) {
      return;
    }
    const last = text.lastIndexOf('{"jsonrpc"');
    const isGlued =
      last > first && readJson(text.slice(last), this.#options.maxMessageBytes).kind === 'value';
    for (const start of isGlued ? [first, last] : [first]) {
      const id = peekResponseId(text.slice(start, start + KEPT), text.slice(-KEPT));
      if (id !== undefined && (origin === undefined || origin === id)) {
        this.fail(id, this.#notMcp('its answer was damaged'));
      }
    }
  }

  /** A text that fits into a message, and whose value would cost far more than its length tells. */
  #refuse(text: string, origin: RpcId | undefined, excess: string): void {
    this.#report(text, excess);
    this.#failTooLarge(origin ?? peekResponseId(text.slice(0, KEPT), text.slice(-KEPT)), excess);
  }

  #failTooLarge(id: RpcId | undefined, logged?: string): void {
    if (id !== undefined) {
      const about = { upstream: this.#options.upstream, ...(logged === undefined ? {} : { logged }) };
      this.fail(id, new GatewayError('UPSTREAM_TOO_LARGE', about));
    }
  }

  #notMcp(logged: string): GatewayError {
    return new GatewayError('UPSTREAM_NOT_MCP', { upstream: this.#options.upstream, logged });
  }

  #report(what: unknown, reason: string): void {
    const withheld = this.#reports.take();
    if (withheld !== undefined) {
      const text = excerpt(typeof what === 'string' ? what : JSON.stringify(what));
      this.#options.log.info({ text, reason, withheld }, 'skipped what is no MCP message');
    }
  }
}

function withoutMark(bytes: Bytes): Bytes {
  const start = bytes instanceof Pieces ? bytes.between(0, MARK_BYTES).joined() : bytes;
  return start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf
    ? inPieces(bytes).between(MARK_BYTES, bytes.length)
    : bytes;
}
