/**
 * Patterns with `*` for any text, the empty one included, and `?` for one sign (a code point). Everything else stands
 * for itself, case and all. No regular expression is built: the time is bounded by the length of the text times that of
 * the longest run between two stars, whatever the pattern.
 */
export type Wildcard = (text: string) => boolean;

const STAR = 42;
const ANY_SIGN = 63;

/** The test for one pattern. Without `?` it is a few searches for literal text, which the engine does best. */
export function wildcard(pattern: string): Wildcard {
  if (pattern.includes('?')) {
    return (text) => matches(pattern, text);
  }
  const [head = '', ...runs] = pattern.split('*');
  const tail = runs.pop();
  if (tail === undefined) {
    return (text) => text === head;
  }
  const between = runs.filter((run) => run !== '');
  return (text) =>
    text.startsWith(head) &&
    text.endsWith(tail) &&
    holds(text, between, head.length, text.length - tail.length);
}

/** Whether the text holds these runs one after the other between two places. The first find is always good enough. */
function holds(text: string, runs: readonly string[], from: number, to: number): boolean {
  let at = from;
  for (const run of runs) {
    const found = text.indexOf(run, at);
    if (found < 0) {
      return false;
    }
    at = found + run.length;
  }
  return at <= to;
}

/** Goes back to the last star only: what an earlier one could have taken, the last one can take as well. */
function matches(pattern: string, text: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let retry = 0;
  while (from < text.length) {
    const wanted = pattern.charCodeAt(at);
    if (wanted === STAR) {
      star = at;
      at += 1;
      retry = from;
    } else if (wanted === ANY_SIGN) {
      at += 1;
      from += widthAt(text, from);
    } else if (wanted === text.charCodeAt(from)) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      at = star + 1;
      retry += widthAt(text, retry);
      from = retry;
    } else {
      return false;
    }
  }
  while (pattern.charCodeAt(at) === STAR) {
    at += 1;
  }
  return at === pattern.length;
}

/** UTF-16 units of the sign there. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** What a pattern has to say of all the texts that begin alike: it can match none of them, some, or every one. */
export type Reach = 'none' | 'some' | 'all';

/** How far a pattern reaches among the texts that are `prefix` (ASCII) and at least one sign more. */
export function reachOf(pattern: string, prefix: string): Reach {
  let places = skipStars(pattern, new Set([0]));
  for (const sign of prefix) {
    const next = new Set<number>();
    for (const place of places) {
      const wanted = pattern.charAt(place);
      if (wanted === '*') {
        next.add(place);
      } else if (wanted === '?' || wanted === sign) {
        next.add(place + 1);
      }
    }
    places = skipStars(pattern, next);
  }
  const rests = [...places].map((place) => pattern.slice(place)).filter((rest) => rest !== '');
  if (rests.length === 0) {
    return 'none';
  }
  return rests.some((rest) => /^\*+$/.test(rest)) ? 'all' : 'some';
}

/** A star may stand for nothing: where one is next, what follows it is next as well. */
function skipStars(pattern: string, places: Set<number>): Set<number> {
  for (const place of places) {
    if (pattern.charAt(place) === '*') {
      places.add(place + 1);
    }
  }
  return places;
}
