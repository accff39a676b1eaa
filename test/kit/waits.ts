/** Longest wait for something that should happen, ms. A test never waits this long unless it fails. */
export const PATIENCE = 20_000;

/** Promises for a state that is looked at anew whenever `check` is called: waiting for events, never for time. */
export interface Waits {
  /** Resolves with the first value of `look` that is not undefined; rejects with `complaint` after `timeout` ms. */
  until<T>(look: () => T | undefined, complaint: () => string, timeout?: number): Promise<T>;
  check(): void;
  /** Rejects everything that still waits. */
  fail(error: Error): void;
}

export function createWaits(): Waits {
  const waiting = new Set<{ look(): void; fail(error: Error): void }>();
  return {
    until(look, complaint, timeout = PATIENCE) {
      return new Promise((resolve, reject) => {
        // Taken here, so that the report names the test's line and not the timer's.
        const late = new Error('waited in vain');
        const timer = setTimeout(() => {
          late.message = complaint();
          entry.fail(late);
        }, timeout);
        const end = () => {
          clearTimeout(timer);
          waiting.delete(entry);
        };
        const entry = {
          look() {
            const found = look();
            if (found !== undefined) {
              end();
              resolve(found);
            }
          },
          fail(error: Error) {
            end();
            reject(error);
          },
        };
        waiting.add(entry);
        entry.look();
      });
    },
    check() {
      for (const entry of [...waiting]) {
        entry.look();
      }
    },
    fail(error) {
      for (const entry of [...waiting]) {
        entry.fail(error);
      }
    },
  };
}
