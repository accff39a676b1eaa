import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import type { Settings } from '../config/settings.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { RequestContext } from './context.ts';
import { type Listener, ParkedCall, type RunParked } from './parked-call.ts';
import type { RequestStates, StateSubject } from './request-state.ts';

/** How far a call got: to its final result, or to questions that the client has to answer first. */
export interface Outcome {
  readonly kind: 'done' | 'asked';
  readonly result: JsonObject;
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
