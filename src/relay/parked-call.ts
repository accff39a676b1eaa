import { randomUUID } from 'node:crypto';
import { Ender, type EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { after } from '../base/time.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import { asModernQuestion, missingFor } from '../protocol/questions.ts';
import type { Question } from '../upstream/call.ts';

/** Questions that come within this time of each other are asked together, in ms. */
const GATHER_MS = 10;

/** What a call towards a legacy upstream gets from its parking place. */
export interface ParkedHooks {
  readonly signal: EndSignal;
  readonly onQuestion: (question: Question) => Promise<JsonObject>;
  readonly onNotice: (notice: RpcNotification) => void;
}

export type RunParked = (hooks: ParkedHooks) => Promise<JsonObject>;

/** Whoever listens to the call right now, as far as the call has to know. */
export interface Listener {
  /** Key of the principal whose call it is. */
  readonly principal: string;
  /** What its client may be asked. */
  readonly capabilities: JsonObject;
  readonly signal: EndSignal;
  readonly onNotice: (notice: RpcNotification) => void;
}

interface Waiting {
  readonly question: Question;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (reason: GatewayError) => void;
}

/** One live call: its open questions, and whoever listens to it at the moment. */
export class ParkedCall {
  readonly id = randomUUID();
  principal = '';
  round = 0;
  readonly #ender = new Ender();
  readonly #outcome: Promise<JsonObject>;
  readonly #questions = new Map<string, Waiting>();
  #listener: Listener | undefined;
  /** Of the client's latest request: what it may be asked, also while the call waits for its next one. */
  #capabilities: JsonObject = {};
  #wake = () => {};
  #asked = 0;
  #cancelTtl = () => {};

  constructor(run: RunParked) {
    this.#outcome = run({
      signal: this.#ender,
      onQuestion: (question) => this.#ask(question),
      onNotice: (notice) => this.#listener?.onNotice(notice),
    });
    // Its failure is told to whoever asks for the outcome next; until then it must not count as unhandled.
    this.#outcome.catch(() => {});
  }

  /** The result, or `asked` once there are questions. While a client listens, its leaving cancels the call. */
  async next(listener: Listener): Promise<JsonObject | 'asked'> {
    const { signal } = listener;
    const gone = () => this.end();
    signal.addEventListener('abort', gone);
    this.#listener = listener;
    this.#capabilities = listener.capabilities;
    this.#refuseUndeclared();
    if (signal.aborted) {
      gone();
    }
    try {
      return await Promise.race([this.#outcome, this.#untilAsked()]);
    } finally {
      this.#listener = undefined;
      signal.removeEventListener('abort', gone);
    }
  }

  /** The client has its questions: waits for `ttlMs`, then is cancelled. Resolves nothing; returns the questions. */
  park(principal: string, ttlMs: number, lapsed: () => void): JsonObject {
    this.principal = principal;
    this.round += 1;
    this.#cancelTtl = after(ttlMs, () => {
      lapsed();
      this.end();
    });
    return Object.fromEntries(
      [...this.#questions].map(([key, { question }]) => [key, asModernQuestion(question)]),
    );
  }

  /** Hands the answers over. Questions without one stay and are asked again; answers to nothing are ignored. */
  answer(responses: JsonObject): void {
    this.#cancelTtl();
    for (const [key, { resolve }] of [...this.#questions]) {
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
      if (isObject(response)) {
        this.#questions.delete(key);
        resolve(response);
      }
    }
  }

  /** Cancels the call upstream, and settles its questions, so that the upstream is not left waiting for them. */
  end(): void {
    this.#cancelTtl();
    this.#ender.abort();
    for (const { reject } of this.#questions.values()) {
      reject(new GatewayError('CANCELLED'));
    }
    this.#questions.clear();
  }

  #ask(question: Question): Promise<JsonObject> {
    if (this.#ender.aborted) {
      return Promise.reject(new GatewayError('CANCELLED'));
    }
    if (missingFor(question, this.#capabilities) !== undefined) {
      return Promise.reject(new GatewayError('CAPABILITY_MISSING'));
    }
    this.#asked += 1;
    const key = `${question.method.replace(/[^a-z]/gi, '_')}_${this.#asked}`;
    return new Promise((resolve, reject) => {
      this.#questions.set(key, { question, resolve, reject });
      question.signal.addEventListener('abort', () => {
        this.#questions.delete(key);
        reject(new GatewayError('CANCELLED'));
      });
      after(GATHER_MS, () => this.#wake());
    });
  }

  /** Open questions that the client's latest request declares no capability for any more. */
  #refuseUndeclared(): void {
    for (const [key, { question, reject }] of [...this.#questions]) {
      if (missingFor(question, this.#capabilities) !== undefined) {
        this.#questions.delete(key);
        reject(new GatewayError('CAPABILITY_MISSING'));
      }
    }
  }

  #untilAsked(): Promise<'asked'> {
    return new Promise((resolve) => {
      this.#wake = () => {
        if (this.#questions.size > 0) {
          resolve('asked');
        }
      };
      this.#wake();
    });
  }
}
