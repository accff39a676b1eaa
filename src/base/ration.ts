import { cut } from './log.ts';
/** At most `perMinute` grants in any fixed minute. What a noisy peer sends must not become as many lines of our log. */
export interface Ration {
  /**
   * The number withheld since the last grant when this one is granted, undefined when it is withheld.
   * 0 is a grant: compare with undefined.
   */
  take(): number | undefined;
}

const MINUTE = 60_000;

/** `now` is a monotonic clock in ms. */
export function createRation(perMinute: number, now: () => number = () => performance.now()): Ration {
  let since = Number.NEGATIVE_INFINITY;
  let granted = 0;
  let withheld = 0;
  return {
    take() {
      if (now() - since >= MINUTE) {
        since = now();
        granted = 0;
      }
      if (granted >= perMinute) {
        withheld += 1;
        return undefined;
      }
      granted += 1;
      const before = withheld;
      withheld = 0;
      return before;
    },
  };
}

/** The start of a foreign text, fit for one log line: control characters (ANSI colours, line ends) become spaces. */
export function excerpt(text: string, length = 200): string {
  return cut(text.slice(0, length + 1), length).replace(/\p{Cc}+/gu, ' ');
}
