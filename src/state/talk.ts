import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { packFailure } from '../base/packed-failure.ts';

/** Messages that wait for somebody to listen. */
const MOST_UNHEARD = 1_000;

export type Heard = (message: JsonObject) => void;

export interface TalkOptions {
  readonly peer: string;
  /** Sends a message about it to the other side. */
  readonly send: (message: JsonObject) => Promise<number>;
  readonly heard?: Heard | undefined;
  /** It is over. */
  readonly over: () => void;
}

/** One request of a replica to another, as either side has it: both may say things until it is over. */
export class Talk {
  /** The replica on the other side. */
  readonly peer: string;
  /** The answer, for the side that asked. */
  readonly answer: Promise<JsonObject>;
  /** The other side has heard the request. */
  confirmed = false;
  readonly #options: TalkOptions;
  readonly #over = new AbortController();
  /** What was said before somebody listened. */
  #unheard: JsonObject[] = [];
  #heard: Heard | undefined;
  #resolve: (answer: JsonObject) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(options: TalkOptions) {
    this.#options = options;
    this.peer = options.peer;
    this.#heard = options.heard;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever serves a request does not wait for its answer.
    this.answer.catch(() => {});
  }

  /** Aborts when it is over, for whatever reason. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Says something to the other side, while it is not over. */
  say(body: JsonObject): void {
    this.#send({ kind: 'say', body });
  }

  /** From now on this is told what the other side says, and first what it has said already. */
  listen(heard: Heard): void {
    this.#heard = heard;
    for (const message of this.#unheard.splice(0)) {
      heard(message);
    }
  }

  /** The side that asked does not wait any more. */
  hangUp(reason: GatewayError): void {
    this.#send({ kind: 'cut' });
    this.fail(reason);
  }

  /** Says that the request was heard. */
  confirm(): void {
    this.#send({ kind: 'heard' });
  }

  /** The answer, from the side that was asked. */
  finish(body: JsonObject): void {
    if (this.#end()) {
      this.#options.send({ kind: 'done', body }).catch((thrown: unknown) => {
        // Too large to be said, or nobody is there to hear it: then they know that by themselves.
        this.#options.send({ kind: 'failed', failure: packFailure(thrown) }).catch(() => {});
      });
    }
  }

  refuse(failure: JsonObject): void {
    if (this.#end()) {
      this.#options.send({ kind: 'failed', failure }).catch(() => {});
    }
  }

  hear(message: JsonObject): void {
    if (this.#heard === undefined && this.#unheard.length >= MOST_UNHEARD) {
      this.fail(new GatewayError('PEER_LOST', { logged: 'too much was said before anybody listened' }));
    } else if (this.#heard === undefined) {
      this.#unheard.push(message);
    } else {
      this.#heard(message);
    }
  }

  succeed(answer: JsonObject): void {
    if (this.#end()) {
      this.#resolve(answer);
    }
  }

  fail(reason: unknown): void {
    if (this.#end()) {
      this.#reject(reason);
    }
  }

  #send(message: JsonObject): void {
    if (!this.signal.aborted) {
      this.#options.send(message).catch((thrown: unknown) => this.fail(thrown));
    }
  }

  #end(): boolean {
    if (this.signal.aborted) {
      return false;
    }
    this.#over.abort(new GatewayError('CANCELLED'));
    this.#options.over();
    return true;
  }
}
