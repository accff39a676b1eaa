/**
 * The candidate that `word` was most likely meant to be, or undefined where none is close: up to a third of its letters
 * may be wrong, missing, added or swapped with a neighbour; case does not count. Of two equally close the first wins.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    // A cheap lower bound first: a key of a thousand letters must not cost a table of that width.
    const apart = Math.abs(candidate.length - word.length);
    const steps = apart < least ? distance(word.toLowerCase(), candidate.toLowerCase()) : apart;
    if (steps < least) {
      best = candidate;
      least = steps;
    }
  }
  return best;
}

/** Edits between two words, a swap of neighbours counting as one (optimal string alignment). */
function distance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          at(last, column - 1) + (same ? 0 : 1),
          swapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
