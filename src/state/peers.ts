import { randomUUID } from 'node:crypto';
import type { EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { packFailure, unpackFailure } from '../base/packed-failure.ts';
import type { Sealer } from '../base/sealed.ts';
import { after } from '../base/time.ts';
import { Messages, type Refused } from './messages.ts';
import type { State } from './state.ts';
import { type Heard, Talk } from './talk.ts';

const EVERYBODY = 'to-all';
/** How long the other side has to say that it has heard, in ms. */
const HEARD_MS = 3_000;
/** How often a side says that it is there while there is something between the two, in ms. */
const BEAT_MS = 2_000;
/** After so much silence the other side is given up, in ms. */
const SILENCE_MS = 7_000;
/** Most requests of other replicas that are served at once. */
const MOST_SERVED = 10_000;

/** Serves a request of another replica; what it throws is thrown there. `talk.signal` aborts when nobody waits any more. */
export type Serve = (asked: JsonObject, talk: Talk) => Promise<JsonObject>;

export interface AskOptions {
  readonly signal?: EndSignal | undefined;
  /** What the other side says before its answer. */
  readonly heard?: Heard;
}

/**
 * What replicas say to each other: to one, with an answer, and to all. At most once: nothing is said again by itself.
 * Messages are sealed, so that whoever reads or writes the shared state learns, forges and repeats nothing; what they ask
 * for is checked again by whoever serves it.
 */
export class Peers {
  readonly #state: State;
  readonly #messages: Messages;
  readonly #log: Log;
  readonly #serves = new Map<string, Serve>();
  readonly #told = new Map<string, (body: JsonObject) => void>();
  /** Requests of mine, and those of others that are served here, by their ids. */
  readonly #asked = new Map<string, Talk>();
  readonly #served = new Map<string, Talk>();
  /** When each replica was heard last, among those there is something with. */
  readonly #heardAt = new Map<string, number>();
  #beatAt = 0;
  #cancelBeat: (() => void) | undefined;

  constructor(state: State, sealer: Sealer, log: Log) {
    this.#state = state;
    this.#messages = new Messages(state.replica, sealer, log);
    this.#log = log;
    if (state.shared) {
      state.hear(`to-${state.replica}`, (text) => this.#heard(text, state.replica));
      state.hear(EVERYBODY, (text) => this.#heard(text, EVERYBODY));
      state.onReach((reached) => {
        if (!reached) {
          // What was said meanwhile is lost, so nobody can know where they stand.
          this.#giveUp(() => true);
        }
      });
    }
  }

  /** The name of this replica. */
  get name(): string {
    return this.#state.replica;
  }

  /** What was heard in the shared state and counts as unsaid. */
  get refused(): Refused {
    return this.#messages.refused;
  }

  /** Whether there can be others. */
  get shared(): boolean {
    return this.#state.shared;
  }

  /** Whether a name is that of another replica, as far as can be told from it. */
  isOther(name: string | undefined): name is string {
    return this.shared && name !== undefined && name !== this.name;
  }

  serve(topic: string, serve: Serve): void {
    this.#serves.set(topic, serve);
  }

  onTold(topic: string, run: (body: JsonObject) => void): void {
    this.#told.set(topic, run);
  }

  /** To all others, without an answer; lost where the shared state cannot be reached. */
  tell(topic: string, body: JsonObject): void {
    if (this.shared) {
      this.#send(EVERYBODY, { kind: 'tell', topic, body }).catch((thrown: unknown) =>
        this.#log.debug({ err: thrown, topic }, 'the other replicas were not told'),
      );
    }
  }

  /**
   * Asks one replica. Rejects with what it throws; with PEER_ABSENT where it is not there, so that nothing has happened,
   * with PEER_LOST where that is unknown, with STATE_DOWN, or with CANCELLED when `signal` aborts.
   */
  ask(to: string, topic: string, body: JsonObject, { signal, heard }: AskOptions = {}): Talk {
    const id = randomUUID();
    const talk = new Talk({
      peer: to,
      send: (message) => this.#send(to, { ...message, id, side: 'served' }),
      heard,
      over: () => {
        cancelHeard();
        signal?.removeEventListener('abort', hangUp);
        this.#asked.delete(id);
      },
    });
    const cancelHeard = after(HEARD_MS, () => {
      if (!talk.confirmed) {
        talk.hangUp(new GatewayError('PEER_LOST', { logged: 'it did not say that it had heard' }));
      }
    });
    const hangUp = () => talk.hangUp(new GatewayError('CANCELLED'));
    signal?.addEventListener('abort', hangUp, { once: true });
    this.#asked.set(id, talk);
    this.#watch(to);
    if (signal?.aborted) {
      hangUp();
      return talk;
    }
    this.#send(to, { kind: 'ask', id, topic, body }).then(
      (listeners) => {
        if (listeners === 0) {
          talk.fail(new GatewayError('PEER_ABSENT'));
        }
      },
      (thrown: unknown) => talk.fail(thrown),
    );
    return talk;
  }

  /** Ends everything between this replica and others. */
  close(): void {
    this.#giveUp(() => true);
    this.#cancelBeat?.();
  }

  async #send(to: string, message: JsonObject): Promise<number> {
    return this.#state.publish(to === EVERYBODY ? to : `to-${to}`, this.#messages.seal(to, message));
  }

  #heard(text: string, to: string): void {
    const heard = this.#messages.open(text, to);
    if (heard === undefined) {
      return;
    }
    const { from, message } = heard;
    if (this.#heardAt.has(from)) {
      this.#heardAt.set(from, Date.now());
    }
    const body = isObject(message['body']) ? message['body'] : {};
    const id = stringAt(message, 'id') ?? '';
    const topic = stringAt(message, 'topic') ?? '';
    switch (message['kind']) {
      case 'tell':
        this.#told.get(topic)?.(body);
        break;
      case 'ask':
        this.#answer(from, id, topic, body);
        break;
      case 'beat':
        break;
      default:
        this.#continue(message, from, id);
    }
  }

  #answer(from: string, id: string, topic: string, body: JsonObject): void {
    if (this.#served.has(id)) {
      return;
    }
    const serve = this.#serves.get(topic);
    const talk = new Talk({
      peer: from,
      send: (message) => this.#send(from, { ...message, id, side: 'asked' }),
      over: () => this.#served.delete(id),
    });
    talk.confirm();
    if (serve === undefined || this.#served.size >= MOST_SERVED) {
      talk.refuse(packFailure(new GatewayError(serve === undefined ? 'PEER_ABSENT' : 'UPSTREAM_BUSY')));
      return;
    }
    this.#served.set(id, talk);
    this.#watch(from);
    serve(body, talk).then(
      (result) => talk.finish(result),
      (thrown: unknown) => talk.refuse(packFailure(thrown)),
    );
  }

  /** Something about a request that is under way; what is over, or never was, is nobody's concern any more. */
  #continue(message: JsonObject, from: string, id: string): void {
    const talk = (message['side'] === 'asked' ? this.#asked : this.#served).get(id);
    if (talk === undefined || talk.peer !== from) {
      return;
    }
    const { kind, body, failure } = message;
    switch (kind) {
      case 'heard':
        talk.confirmed = true;
        break;
      case 'say':
        talk.hear(isObject(body) ? body : {});
        break;
      case 'done':
        talk.succeed(isObject(body) ? body : {});
        break;
      case 'failed':
        talk.fail(unpackFailure(failure));
        break;
      case 'cut':
        talk.fail(new GatewayError('CANCELLED'));
        break;
    }
  }

  #watch(peer: string): void {
    this.#heardAt.set(peer, this.#heardAt.get(peer) ?? Date.now());
    if (this.#cancelBeat === undefined) {
      this.#beatAt = Date.now();
      this.#cancelBeat = after(BEAT_MS, () => this.#beat());
    }
  }

  /** Tells those there is something with that this replica is there, and gives up those that do not say so. */
  #beat(): void {
    const concerned = new Set([...this.#asked.values(), ...this.#served.values()].map(({ peer }) => peer));
    // A process that was busy for so long has not heard what was said meanwhile: it is too early to judge.
    const wasBusy = Date.now() - this.#beatAt > 2 * BEAT_MS;
    this.#beatAt = Date.now();
    const silent = wasBusy ? 0 : Date.now() - SILENCE_MS;
    for (const [peer, at] of [...this.#heardAt]) {
      if (!concerned.has(peer)) {
        this.#heardAt.delete(peer);
      } else if (at < silent) {
        this.#giveUp((talk) => talk.peer === peer);
        this.#heardAt.delete(peer);
      } else {
        this.#send(peer, { kind: 'beat' }).then(
          (listeners) => listeners === 0 && this.#giveUp((talk) => talk.peer === peer),
          (thrown: unknown) =>
            this.#log.debug({ err: thrown }, 'another replica was not told that this one is there'),
        );
      }
    }
    this.#cancelBeat = this.#heardAt.size === 0 ? undefined : after(BEAT_MS, () => this.#beat());
  }

  #giveUp(concerns: (talk: Talk) => boolean): void {
    for (const talk of [...this.#asked.values(), ...this.#served.values()].filter(concerns)) {
      talk.fail(new GatewayError('PEER_LOST'));
    }
  }
}
