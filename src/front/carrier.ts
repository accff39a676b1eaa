import type { JsonObject } from '../base/json.ts';
import { isObject } from '../base/json.ts';
import type { Talk } from '../state/talk.ts';
import type { SseStream } from './sse-stream.ts';

/** What carries a stream that can be taken up again: a connection of this process, or one of another replica. */
export type Carrier = Pick<SseStream, 'connected' | 'onClose' | 'prime' | 'replay' | 'end'> & {
  send(json: string, id: string): boolean;
};

type Event = Parameters<Carrier['replay']>[0][number];

/** A connection that a client has at another replica, as the one that has the stream sees it. */
export class DistantCarrier implements Carrier {
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  readonly #talk: Talk;
  #end = () => {};
  #open = true;

  constructor(talk: Talk) {
    this.#talk = talk;
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
    talk.signal.addEventListener('abort', () => this.end(), { once: true });
  }

  get connected(): boolean {
    return this.#open;
  }

  onClose(run: () => void): void {
    void this.over.then(run);
  }

  prime(id: string, retryMs: number): void {
    this.#talk.say({ prime: { id, retryMs } });
  }

  replay(events: readonly Event[]): void {
    if (events.length > 0) {
      this.#talk.say({ events });
    }
  }

  send(json: string, id: string): boolean {
    this.#talk.say({ events: [{ json, id }] });
    return this.#open;
  }

  end(): void {
    this.#open = false;
    this.#end();
  }
}

/** Does on the connection what the replica that has the stream has said. */
export function carry(connection: Carrier, { prime, events }: JsonObject): void {
  if (isObject(prime)) {
    connection.prime(String(prime['id']), Number(prime['retryMs']));
  }
  if (Array.isArray(events)) {
    // Said by a DistantCarrier.
    connection.replay(events as Event[]);
  }
}
