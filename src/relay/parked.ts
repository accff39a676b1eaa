import { randomUUID } from 'node:crypto';
import { Ender, type EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { after } from '../base/time.ts';
import type { Settings } from '../config/settings.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import { asModernQuestion, missingFor } from '../protocol/questions.ts';
import type { Question } from '../upstream/call.ts';
import type { RequestContext } from './context.ts';
import type { RequestStates, StateSubject } from './request-state.ts';

/** Questions that come within this time of each other are asked together, in ms. */
const GATHER_MS = 10;

/** What a call towards a legacy upstream gets from its parking place. */
export interface ParkedHooks {
  readonly signal: EndSignal;
  readonly onQuestion: (question: Question) => Promise<JsonObject>;
  readonly onNotice: (notice: RpcNotification) => void;
}

/** How far a call got: to its final result, or to questions that the client has to answer first. */
export interface Outcome {
  readonly kind: 'done' | 'asked';
  readonly result: JsonObject;
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

/** The request whose stream the call is on. */
export interface Attached {
  readonly context: RequestContext;
  readonly subject: StateSubject;
  readonly onNotice: (notice: RpcNotification) => void;
}

/** How far a call got, before anything of it is sealed for its client. */
export type Turn =
  | { readonly kind: 'done'; readonly result: JsonObject }
  | {
      readonly kind: 'asked';
      readonly inputRequests: JsonObject;
      readonly id: string;
      readonly round: number;
    };

/** Answers to the questions of a call. */
export interface Resumption {
  readonly id: string;
  readonly round: number;
  readonly responses: unknown;
}

/** Calls that wait at other replicas. */
export interface ParkedElsewhere {
  /** Name of this replica. */
  readonly home: string;
  /** Goes on with a call there. Rejects with STATE_INVALID where it is gone. */
  resume(home: string, answers: Resumption, listener: Listener): Promise<Turn>;
}

/**
 * Live calls towards legacy upstreams, made for modern clients: a question of the upstream becomes `input_required`,
 * the call stays, and the client's retry resumes it. It is never made twice. Bounded per principal and in time.
 */
export class ParkedCalls {
  readonly #states: RequestStates;
  readonly #settings: () => Settings['questions'];
  readonly #elsewhere: ParkedElsewhere | undefined;
  readonly #calls = new Map<string, ParkedCall>();

  constructor(
    states: RequestStates,
    settings: () => Settings['questions'],
    elsewhere?: ParkedElsewhere | undefined,
  ) {
    this.#states = states;
    this.#settings = settings;
    this.#elsewhere = elsewhere;
  }

  /** Calls that wait for answers now. */
  get size(): number {
    return this.#calls.size;
  }

  /** Makes the call; resolves with its result, or with `input_required` when the upstream asks first. */
  async begin(attached: Attached, run: RunParked): Promise<Outcome> {
    const turn = await this.#follow(new ParkedCall(run), listenerOf(attached));
    return this.#told(turn, attached, this.#elsewhere?.home);
  }

  /**
   * Goes on with a call whose questions the client has answered, at the replica that has it (`home`). Throws STATE_INVALID
   * where it is gone.
   */
  async resume(answers: Resumption, attached: Attached, home?: string): Promise<Outcome> {
    const here = this.#elsewhere;
    const listener = listenerOf(attached);
    const turn =
      here === undefined || home === undefined || home === here.home
        ? await this.resumeHere(answers, listener)
        : await here.resume(home, answers, listener);
    return this.#told(turn, attached, home);
  }

  /** The same with a call that waits in this process. */
  async resumeHere({ id, round, responses }: Resumption, listener: Listener): Promise<Turn> {
    const call = this.#calls.get(id);
    if (call === undefined || call.principal !== listener.principal || call.round !== round) {
      throw new GatewayError('STATE_INVALID');
    }
    this.#calls.delete(id);
    call.answer(isObject(responses) ? responses : {});
    return this.#follow(call, listener);
  }

  /** Cancels everything that waits. */
  close(): void {
    for (const call of this.#calls.values()) {
      call.end();
    }
    this.#calls.clear();
  }

  async #follow(call: ParkedCall, listener: Listener): Promise<Turn> {
    let parked = false;
    try {
      const result = await call.next(listener);
      parked = result === 'asked';
      return result === 'asked' ? this.#park(call, listener.principal) : { kind: 'done', result };
    } finally {
      // The call is over, however it ended: a question that is open still gets no answer here, and its server must not wait.
      if (!parked) {
        call.end();
      }
    }
  }

  #park(call: ParkedCall, principal: string): Turn {
    const { ttl, perPrincipal, rounds } = this.#settings();
    const mine = [...this.#calls.values()].filter((other) => other.principal === principal);
    if (mine.length >= perPrincipal || call.round >= rounds) {
      call.end();
      throw new GatewayError(mine.length >= perPrincipal ? 'QUESTION_LIMIT' : 'QUESTION_ROUNDS');
    }
    const inputRequests = call.park(principal, ttl, () => this.#calls.delete(call.id));
    this.#calls.set(call.id, call);
    return { kind: 'asked', inputRequests, id: call.id, round: call.round };
  }

  /** As the client gets it. */
  #told(turn: Turn, { context, subject }: Attached, home: string | undefined): Outcome {
    if (turn.kind === 'done') {
      return turn;
    }
    const { id, round, inputRequests } = turn;
    const content = { kind: 'parked', id, round, ...(home === undefined ? {} : { home }) } as const;
    const requestState = this.#states.seal(content, subject, context);
    return { kind: 'asked', result: { resultType: 'input_required', inputRequests, requestState } };
  }
}

function listenerOf({ context, onNotice }: Attached): Listener {
  const { principal, client, signal } = context;
  return { principal: principal.key, capabilities: client.capabilities, signal, onNotice };
}

interface Waiting {
  readonly question: Question;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (reason: GatewayError) => void;
}

class ParkedCall {
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
