import { type Keeper, type Kept, ResumableStream, type ResumeRules } from './resumable-stream.ts';

/** Resumable streams of legacy sessions (2025-11-25 transports, Resumability and Redelivery). */

export interface ReplayRules extends ResumeRules {
  /** Most events, and most bytes of them, kept for all streams of one session. */
  readonly replayEvents: number;
  readonly replayBytes: number;
}

const EVENT_ID = /^((?:([\w-]{12})~)?[\w-]{12})\.(\d{1,15})$/;
/** All sessions together keep no more than so many of them may: anybody can open sessions. */
const FULL_SESSIONS = 64;

/** The replica that has the stream of an event; undefined where the event does not say, or is none of ours. */
export function homeOf(eventId: string): string | undefined {
  return EVENT_ID.exec(eventId)?.[2];
}

/** What the sessions of one gateway keep together. */
export class ReplayBudget {
  /** Sessions that keep something; the one that sent last is the last. */
  readonly #keeping = new Set<Replays>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * A session has sent an event of that size. While all keep more than `mostBytes` together, the session that has sent
   * nothing for longest drops its oldest event; never the one that sends now.
   */
  took(replays: Replays, bytes: number, mostBytes: number): void {
    this.#bytes += bytes;
    this.#keeping.delete(replays);
    this.#keeping.add(replays);
    let [quietest] = this.#keeping;
    while (this.#bytes > mostBytes && quietest !== undefined && quietest !== replays) {
      quietest.dropOldest();
      [quietest] = this.#keeping;
    }
  }

  /** A session keeps so much less. */
  gave(replays: Replays, bytes: number): void {
    this.#bytes -= bytes;
    if (replays.empty) {
      this.#keeping.delete(replays);
    }
  }
}

/** The streams of one session, and what was sent on them, as far as somebody may ask for it again. */
export class Replays implements Keeper {
  readonly #rules: ReplayRules;
  readonly #budget: ReplayBudget;
  readonly #streams = new Map<string, ResumableStream>();
  /** The stream of each kept event, oldest event first. */
  #order: ResumableStream[] = [];
  #bytes = 0;

  constructor(rules: ReplayRules, budget: ReplayBudget) {
    this.#rules = rules;
    this.#budget = budget;
  }

  /** True while nothing is kept. */
  get empty(): boolean {
    return this.#order.length === 0;
  }

  /** A new stream, `lapsed` as {@link ResumableStream} takes it. */
  open(lapsed?: () => void): ResumableStream {
    const stream = new ResumableStream(this, this.#rules, lapsed);
    this.#streams.set(stream.id, stream);
    return stream;
  }

  /**
   * The stream that an event id belongs to and the number of that event in it; undefined where this session knows no
   * such event, or not any more.
   */
  find(eventId: string): { readonly stream: ResumableStream; readonly number: number } | undefined {
    const [, id = '', , digits] = EVENT_ID.exec(eventId) ?? [];
    const stream = this.#streams.get(id);
    const number = Number(digits);
    return stream === undefined || number > stream.sent ? undefined : { stream, number };
  }

  /** Ends everything and keeps nothing. */
  close(): void {
    for (const stream of this.#streams.values()) {
      stream.giveUp();
    }
  }

  keep(stream: ResumableStream, event: Kept): void {
    stream.kept.push(event);
    this.#order.push(stream);
    this.#bytes += event.bytes;
    const { replayEvents, replayBytes } = this.#rules;
    while (this.#order.length > 1 && (this.#order.length > replayEvents || this.#bytes > replayBytes)) {
      this.dropOldest();
    }
    this.#budget.took(this, event.bytes, replayBytes * FULL_SESSIONS);
  }

  forget(stream: ResumableStream): void {
    this.#streams.delete(stream.id);
    const kept = stream.kept.splice(0);
    if (kept.length > 0) {
      this.#order = this.#order.filter((other) => other !== stream);
      this.#gave(kept);
    }
  }

  /** Drops the oldest event of all its streams. */
  dropOldest(): void {
    const stream = this.#order.shift();
    if (stream !== undefined) {
      this.#gave(stream.kept.splice(0, 1));
      if (stream.ended && stream.kept.length === 0) {
        stream.giveUp();
      }
    }
  }

  #gave(events: readonly Kept[]): void {
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
    this.#bytes -= bytes;
    this.#budget.gave(this, bytes);
  }
}
