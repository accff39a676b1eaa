import { GatewayError } from '../base/errors.ts';
import { Linked, type Place } from '../base/linked.ts';
import { type Wait, Waits } from '../base/waits.ts';
import type { CallOptions } from './call.ts';

export interface LaneOptions {
  readonly upstream: string;
  /** Calls that run at once. */
  readonly concurrency: number;
  /** Calls that may wait. */
  readonly queue: number;
}

/** For all lanes of the process. */
const waits = new Waits<Waiting>((waiting) => waiting.late());

/** One call that waits for its turn. */
class Waiting {
  readonly owner: string;
  /** In the queue of its owner, while it is there. */
  place: Place<Waiting> | undefined;
  readonly #upstream: string;
  readonly #signal: CallOptions['signal'];
  readonly #patience: number;
  readonly #wait: Wait<Waiting> | undefined;
  readonly #unqueue: (waiting: Waiting) => void;
  /** Settles the promise of whoever waits. */
  readonly #go: (leave: () => void) => void;
  readonly #refuse: (error: GatewayError) => void;

  constructor(
    owner: string,
    upstream: string,
    { signal, timeoutMs, totalMs }: CallOptions,
    settle: {
      readonly unqueue: (waiting: Waiting) => void;
      readonly go: (leave: () => void) => void;
      readonly refuse: (error: GatewayError) => void;
    },
  ) {
    this.owner = owner;
    this.#upstream = upstream;
    this.#signal = signal;
    this.#patience = Math.min(timeoutMs, totalMs);
    this.#unqueue = settle.unqueue;
    this.#go = settle.go;
    this.#refuse = settle.refuse;
    this.#wait = Number.isFinite(this.#patience) ? waits.add(this, this.#patience) : undefined;
    signal?.addEventListener('abort', this.#cancelled, { once: true });
  }

  /** It is its turn. */
  begin(leave: () => void): void {
    this.#settle();
    this.#go(leave);
  }

  refuse(error: GatewayError): void {
    this.#settle();
    this.#refuse(error);
  }

  late(): void {
    const detail = `(no turn within ${this.#patience} ms)`;
    this.#unqueue(this);
    this.refuse(new GatewayError('UPSTREAM_BUSY', { upstream: this.#upstream, detail }));
  }

  readonly #cancelled = () => {
    this.#unqueue(this);
    this.refuse(new GatewayError('CANCELLED', { upstream: this.#upstream }));
  };

  #settle(): void {
    if (this.#wait !== undefined) {
      waits.remove(this.#wait);
    }
    this.#signal?.removeEventListener('abort', this.#cancelled);
  }
}

/**
 * The places that calls of one upstream take, shared fairly: a free one goes to whoever of those who wait holds fewest,
 * and among equals to whoever has waited longest for a turn. So the slow calls of one user delay another's first call by
 * one finished call at most, however many there are.
 */
export class Lane {
  readonly #options: LaneOptions;
  /** Places taken now, by owner; nobody with none is in it. */
  readonly #held = new Map<string, number>();
  /** In order of turns: whoever got a place last comes last. Nobody with nothing to wait for is in it. */
  readonly #waiting = new Map<string, Linked<Waiting>>();
  #running = 0;
  #queued = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /**
   * Runs one call of `owner` when it is its turn. The place is taken while the upstream works, and given back as soon as
   * the call waits for a person: answers of one slow user must not block the calls of others. While it waits, a call
   * ends with CANCELLED when its signal aborts, and with UPSTREAM_BUSY after `timeoutMs`, at once when the queue is full,
   * or when it is the newest of whoever fills the queue and others need room. Nothing was sent then.
   */
  async run<T>(owner: string, options: CallOptions, work: (watched: CallOptions) => Promise<T>): Promise<T> {
    const { onQuestion, totalMs, times } = options;
    const arrived = performance.now();
    const entered = this.#enter(owner, options);
    const waited = entered instanceof Promise;
    const leave = waited ? await entered : entered;
    const begun = waited ? performance.now() : arrived;
    const freeing: Pick<CallOptions, 'onQuestion'> =
      onQuestion === undefined
        ? {}
        : {
            onQuestion: (question) => {
              leave();
              return onQuestion(question);
            },
          };
    // Whole: it is told to whoever called, where it passes.
    const left = Math.max(1, Math.round(totalMs - (begun - arrived)));
    const asGiven = left === totalMs && onQuestion === undefined;
    try {
      return await work(asGiven ? options : { ...options, ...freeing, totalMs: left });
    } finally {
      leave();
      if (times !== undefined) {
        times.queuedMs = (times.queuedMs ?? 0) + begun - arrived;
        times.upstreamMs = (times.upstreamMs ?? 0) + performance.now() - begun;
      }
    }
  }

  /** Returns how to give the place back: at once where one is free. */
  #enter(owner: string, options: CallOptions): (() => void) | Promise<() => void> {
    const { upstream, concurrency } = this.#options;
    if (options.signal?.aborted) {
      return Promise.reject(new GatewayError('CANCELLED', { upstream }));
    }
    if (this.#running < concurrency) {
      return this.#take(owner);
    }
    if (!this.#hasRoomFor(owner)) {
      return Promise.reject(new GatewayError('UPSTREAM_BUSY', { upstream }));
    }
    const unqueue = this.#unqueue;
    return new Promise((go, refuse) => {
      this.#queue(new Waiting(owner, upstream, options, { unqueue, go, refuse }));
    });
  }

  /** True where one more may wait, if need be in the place of the newest one of whoever has most of them. */
  #hasRoomFor(owner: string): boolean {
    const { queue, upstream } = this.#options;
    if (this.#queued < queue) {
      return true;
    }
    const mine = this.#waiting.get(owner)?.size ?? 0;
    let most: Linked<Waiting> | undefined;
    for (const calls of this.#waiting.values()) {
      most = calls.size > (most?.size ?? mine + 1) ? calls : most;
    }
    const newest = most?.last?.value;
    if (newest === undefined) {
      return false;
    }
    this.#unqueue(newest);
    newest.refuse(new GatewayError('UPSTREAM_BUSY', { upstream, detail: '(others wait as well)' }));
    return true;
  }

  #queue(waiting: Waiting): void {
    let calls = this.#waiting.get(waiting.owner);
    if (calls === undefined) {
      calls = new Linked();
      this.#waiting.set(waiting.owner, calls);
    }
    waiting.place = calls.add(waiting);
    this.#queued += 1;
  }

  /** Does nothing for a call that does not wait any more. */
  readonly #unqueue = (waiting: Waiting) => {
    const { owner, place } = waiting;
    const calls = this.#waiting.get(owner);
    if (calls === undefined || place === undefined) {
      return;
    }
    waiting.place = undefined;
    calls.remove(place);
    this.#queued -= 1;
    if (calls.size === 0) {
      this.#waiting.delete(owner);
    }
  };

  /** Takes a place; returns how to give it back, once. */
  #take(owner: string): () => void {
    this.#running += 1;
    this.#held.set(owner, this.#heldBy(owner) + 1);
    let inside = true;
    return () => {
      if (inside) {
        inside = false;
        this.#running -= 1;
        const left = this.#heldBy(owner) - 1;
        if (left === 0) {
          this.#held.delete(owner);
        } else {
          this.#held.set(owner, left);
        }
        this.#next(owner);
      }
    };
  }

  #heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /** Gives a place to the next one. Whoever has just left one comes after all who hold as few. */
  #next(leaver: string): void {
    const weight = (owner: string) => this.#heldBy(owner) + (owner === leaver ? 0.5 : 0);
    let turn: string | undefined;
    for (const owner of this.#waiting.keys()) {
      if (turn === undefined || weight(owner) < weight(turn)) {
        turn = owner;
      }
    }
    const calls = turn === undefined ? undefined : this.#waiting.get(turn);
    const first = calls?.first?.value;
    if (turn === undefined || calls === undefined || first === undefined) {
      return;
    }
    this.#unqueue(first);
    if (calls.size > 0 && this.#waiting.size > 1) {
      // The last in the order of turns from now on.
      this.#waiting.delete(turn);
      this.#waiting.set(turn, calls);
    }
    first.begin(this.#take(turn));
  }
}
