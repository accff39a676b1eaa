import type { JsonObject } from '../../src/base/json.ts';
import { createWaits } from '../kit/waits.ts';

/** Messages in the order they came. Several may be waited for at once, and nothing is used up by being read. */
export interface Lines {
  readonly all: readonly JsonObject[];
  /** Resolves with what `look` finds, now or when more has come; rejects where it stays away. */
  until<T>(look: () => T | undefined, what: string, timeout?: number): Promise<T>;
  /** How many there are of a method. */
  count(method: string): number;
  push(line: JsonObject): void;
  /** No more will come. */
  end(reason: string): void;
}

export function createLines(name: string): Lines {
  const all: JsonObject[] = [];
  const waits = createWaits();
  let ended: Error | undefined;
  return {
    all,
    async until(look, what, timeout) {
      const found = look();
      if (found === undefined && ended) {
        throw ended;
      }
      const last = () => JSON.stringify(all.slice(-3));
      return found ?? waits.until(look, () => `${name}: ${what} did not come; last: ${last()}`, timeout);
    },
    count: (method) => all.filter((line) => line['method'] === method).length,
    push(line) {
      all.push(line);
      waits.check();
    },
    end(reason) {
      ended ??= new Error(`${name} ended: ${reason}`);
      waits.fail(ended);
    },
  };
}
