import { alikeTo, isPhrase, isWeak } from './search-words.ts';

/** The words of one document, each with how much it says there: see {@link bagOf}. */
export type Bag = ReadonlyMap<string, number>;

/** One field of a document: its stems, what one occurrence weighs, and how many stems such a field has as a rule. */
export interface Field {
  readonly stems: readonly string[];
  readonly weight: number;
  readonly usual: number;
}

/** What is ranked. */
export interface Rated {
  readonly bag: Bag;
  /** The stems of its name. */
  readonly name: readonly string[];
}

export interface Hit {
  /** Position of the document. */
  readonly at: number;
  readonly score: number;
}

/** BM25: how soon further occurrences of a word say nothing new, and how much the length of a field counts. */
const SATURATION = 1.6;
const LENGTH_COUNTS = 0.8;
/** What a word counts that only means the same, begins the same, or is spelled nearly the same. */
const ALIKE_WEIGHT = 0.65;
const PHRASE_WEIGHT = 0.75;
const WEAK_WEIGHT = 0.6;
const PREFIX_WEIGHT = 0.8;
const TYPO_WEIGHT = 0.6;
/** How much it counts against a document that nothing in the question stands for the words of its name. */
const NAME_COUNTS = 0.65;
/** Words of a question that are looked at, and known words that stand in for one of them that is not known. */
const MOST_WORDS = 24;
const MOST_NEAR = 12;
const SHORTEST_PREFIX = 3;

/**
 * Several fields as one bag, by BM25F: occurrences count by the weight of their field and by how long it is. Against what
 * is usual, and not against an average of the documents, so that a bag is the same whatever it stands beside.
 */
export function bagOf(fields: readonly Field[]): Bag {
  const bag = new Map<string, number>();
  for (const { stems, weight, usual } of fields) {
    const each = weight / (1 - LENGTH_COUNTS + (LENGTH_COUNTS * stems.length) / usual);
    for (const stem of stems) {
      bag.set(stem, (bag.get(stem) ?? 0) + each);
    }
  }
  return bag;
}

/** In which documents a word is, and what it is worth in each. */
interface Postings {
  /** Place among the words of all documents. */
  readonly at: number;
  readonly documents: Uint32Array;
  readonly gains: Float32Array;
  readonly rarity: number;
}

/** Ranks documents for a question, by BM25 over words, words that mean the same, and words that are spelled nearly the same. */
export class SearchIndex {
  readonly size: number;
  readonly #postings: ReadonlyMap<string, Postings>;
  readonly #names: readonly (readonly Postings[])[];
  #initials: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(documents: readonly Rated[]) {
    this.size = documents.length;
    const postings = invert(documents.map(({ bag }) => bag));
    this.#postings = postings;
    this.#names = documents.map(({ name }) => name.flatMap((stem) => postings.get(stem) ?? []));
  }

  /**
   * The documents that have anything to do with the question, in their order, each with how much. A document counts for
   * each word of the question once, by the best that stands for it there; for more the more of the words it covers, and
   * the more of its name the question covers.
   */
  rate(question: readonly string[]): Hit[] {
    const scores = new Float64Array(this.size);
    const covered = new Float64Array(this.size);
    const best = new Float64Array(this.size);
    const meant = new Float64Array(this.#postings.size);
    for (const word of [...new Set(question)].slice(0, MOST_WORDS)) {
      const strength = isWeak(word) ? WEAK_WEIGHT : 1;
      const most = (this.#postings.get(word)?.rarity ?? rarityOf(0, this.size)) * strength;
      const touched: number[] = [];
      for (const [stem, factor] of this.#variants(word)) {
        const postings = this.#postings.get(stem);
        if (postings !== undefined) {
          meant[postings.at] = Math.max(meant[postings.at] ?? 0, factor);
          weigh(postings, postings.rarity * factor * strength, best, touched);
        }
      }
      for (const at of touched) {
        const gain = best[at] ?? 0;
        scores[at] = (scores[at] ?? 0) + gain;
        covered[at] = (covered[at] ?? 0) + Math.min(most, gain);
        best[at] = 0;
      }
    }
    const hits: Hit[] = [];
    for (let at = 0; at < this.size; at += 1) {
      const score = (scores[at] ?? 0) * (covered[at] ?? 0);
      if (score > 0) {
        hits.push({ at, score: score * (1 - NAME_COUNTS + NAME_COUNTS * this.#named(at, meant)) });
      }
    }
    return hits;
  }

  /** How much of the name of a document is meant by a question, from 0 to 1: rare words count for more. */
  #named(document: number, meant: Float64Array): number {
    let all = 0;
    let said = 0;
    for (const { at, rarity } of this.#names[document] ?? []) {
      all += rarity;
      said += rarity * (meant[at] ?? 0);
    }
    return all === 0 ? 1 : said / all;
  }

  /** The words of the documents that may stand for one of a question, and what each counts. */
  #variants(word: string): ReadonlyMap<string, number> {
    const variants = new Map<string, number>();
    const isKnown = this.#postings.has(word);
    for (const other of alikeTo(word)) {
      variants.set(other, isPhrase(word) ? PHRASE_WEIGHT : ALIKE_WEIGHT);
    }
    if (!(isKnown || isPhrase(word))) {
      for (const near of this.#near(word)) {
        variants.set(near.stem, near.factor);
        for (const other of near.isTypo ? alikeTo(near.stem) : []) {
          variants.set(other, variants.get(other) ?? ALIKE_WEIGHT * TYPO_WEIGHT);
        }
      }
    }
    if (isKnown) {
      variants.set(word, 1);
    }
    return variants;
  }

  /** For a word that is in no document: those that begin with it, or that a slip or two make of it. */
  #near(
    word: string,
  ): readonly { readonly stem: string; readonly factor: number; readonly isTypo: boolean }[] {
    const slips = word.length < 3 ? 0 : word.length < 8 ? 1 : 2;
    const found: { stem: string; factor: number; isTypo: boolean; slips: number }[] = [];
    for (const stem of this.#beginningAs(word)) {
      const begins =
        word.length >= SHORTEST_PREFIX &&
        (stem.startsWith(word) || (stem.length > 3 && word.startsWith(stem)));
      if (begins) {
        found.push({ stem, factor: PREFIX_WEIGHT, isTypo: false, slips: 0 });
      } else if (slips > 0 && Math.abs(stem.length - word.length) <= slips) {
        const distance = slipsBetween(word, stem, slips);
        if (distance <= slips) {
          found.push({ stem, factor: TYPO_WEIGHT / distance, isTypo: true, slips: distance });
        }
      }
    }
    return found
      .sort((one, other) => one.slips - other.slips || one.stem.length - other.stem.length)
      .slice(0, MOST_NEAR);
  }

  /** The words with the same first letter: hardly anybody mistypes that one. */
  #beginningAs(word: string): readonly string[] {
    this.#initials ??= byInitial(this.#postings.keys());
    return this.#initials.get(word.charAt(0)) ?? [];
  }
}

function byInitial(stems: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const made = new Map<string, string[]>();
  for (const stem of stems) {
    const initial = stem.charAt(0);
    const others = made.get(initial);
    if (others === undefined) {
      made.set(initial, [stem]);
    } else {
      others.push(stem);
    }
  }
  return made;
}

function weigh({ documents, gains }: Postings, most: number, best: Float64Array, touched: number[]): void {
  for (let n = 0; n < documents.length; n += 1) {
    const at = documents[n] ?? 0;
    const gain = most * (gains[n] ?? 0);
    const before = best[at] ?? 0;
    if (before === 0) {
      touched.push(at);
    }
    if (gain > before) {
      best[at] = gain;
    }
  }
}

/** BM25's inverse document frequency. */
function rarityOf(documents: number, all: number): number {
  return Math.log(1 + (all - documents + 0.5) / (documents + 0.5));
}

function invert(bags: readonly Bag[]): ReadonlyMap<string, Postings> {
  const counts = new Map<string, number>();
  for (const bag of bags) {
    for (const stem of bag.keys()) {
      counts.set(stem, (counts.get(stem) ?? 0) + 1);
    }
  }
  const made = new Map<string, Postings & { filled: number }>();
  for (const [stem, count] of counts) {
    made.set(stem, {
      at: made.size,
      documents: new Uint32Array(count),
      gains: new Float32Array(count),
      rarity: rarityOf(count, bags.length),
      filled: 0,
    });
  }
  bags.forEach((bag, at) => {
    for (const [stem, weight] of bag) {
      const postings = made.get(stem);
      if (postings !== undefined) {
        postings.documents[postings.filled] = at;
        postings.gains[postings.filled] = (weight * (SATURATION + 1)) / (weight + SATURATION);
        postings.filled += 1;
      }
    }
  });
  return made;
}

/** Edit distance with swapped neighbours as one slip (optimal string alignment); more than `most` is `most + 1`. */
function slipsBetween(one: string, other: string, most: number): number {
  let last: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const before = last;
    last = row;
    row = [i];
    let least = i;
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) {
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      }
      row.push(cost);
      least = Math.min(least, cost);
    }
    if (least > most) {
      return most + 1;
    }
  }
  return row[other.length] ?? most + 1;
}
