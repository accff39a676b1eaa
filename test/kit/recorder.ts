import type { Recorded } from '../fixtures/upstreams/scripted-peer.ts';
import { createWaits } from './waits.ts';

export type { Recorded };

export interface UntilOptions {
  /** Count only what came from this place in `received` on (see `mark`); default 0: what came already counts. */
  readonly after?: number;
  /** How many of them; default 1. */
  readonly times?: number;
  /** ms before it rejects with a list of what did come; default PATIENCE. */
  readonly timeout?: number;
}

type Matches = (entry: Recorded) => boolean;

/** Everything an upstream received, in order, and promises for what it is still to receive. */
export interface Recorder {
  readonly received: readonly Recorded[];
  add(entry: Omit<Recorded, 'n'>): void;
  /** How many messages of that method came (that also match). */
  count(method: string, matches?: Matches): number;
  /** Resolves with the first (or `times`th) message of one of the methods; `*` stands for any. */
  untilReceived(
    method: string | readonly string[],
    matches?: Matches,
    options?: UntilOptions,
  ): Promise<Recorded>;
  /** The place in `received` where the next message will stand. */
  mark(): number;
}

export function createRecorder(name: string): Recorder {
  const received: Recorded[] = [];
  const waits = createWaits();
  return {
    received,
    add(entry) {
      received.push({ n: received.length, ...entry });
      waits.check();
    },
    count(method, matches = () => true) {
      return received.filter((entry) => entry.method === method && matches(entry)).length;
    },
    untilReceived(method, matches = () => true, { after = 0, times = 1, timeout } = {}) {
      const methods = typeof method === 'string' ? [method] : method;
      const fits = (entry: Recorded) =>
        (methods.includes('*') || methods.includes(entry.method)) && matches(entry);
      return waits.until(
        () => received.slice(after).filter(fits)[times - 1],
        () =>
          `${name} did not receive ${methods.join(' or ')} (${times} of them); it received ${
            received.map((entry) => entry.method).join(', ') || 'nothing'
          }`,
        timeout,
      );
    },
    mark: () => received.length,
  };
}
