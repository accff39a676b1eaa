/**
 * Phrases, found word by word: a phrase is a row of steps, each a choice of words, with at most so many other words before
 * it. No regular expression runs over a server's text but to cut it into words, so the time is linear whatever it says.
 */
interface Step {
  readonly words: ReadonlySet<string>;
  /** Most other words between the step before and this one. */
  readonly within: number;
}
interface Phrase {
  readonly steps: readonly Step[];
  /** Words that turn it into its opposite where they stand shortly before it: "do not go on without telling". */
  readonly unless: ReadonlySet<string>;
}

/** Where one sentence ends and the next begins: no phrase reaches over it. */
const END = '.';

/**
 * The words of a text in lower case, compatibility forms made plain and invisible signs taken out, with `.` where a sentence
 * or a line ends. Every way to say "do not" is the one word `not!`.
 */
export function sentencesOf(text: string): readonly string[] {
  const known = recent.get(text);
  if (known !== undefined) {
    return known;
  }
  const said = cut(text);
  if (recent.size >= MOST_RECENT) {
    recent.clear();
  }
  recent.set(text, said);
  return said;
}

/** A description is asked for by several rules, one right after the other. */
const MOST_RECENT = 16;
const recent = new Map<string, readonly string[]>();

function cut(text: string): readonly string[] {
  const words = wordsOf(text);
  const said: string[] = [];
  for (const word of words) {
    const last = said.at(-1) ?? '';
    if (word.length === 1 && ENDS.includes(word)) {
      said.push(END);
    } else if (word === 'not' && COMMANDS.has(last)) {
      said[said.length - 1] = NOT;
    } else {
      said.push(NEVER.has(word) ? NOT : word);
    }
  }
  return said;
}

const ENDS = '.!?;\n';
/** ASCII, and signs such as dashes, quotation marks and arrows, which belong to no word. */
const PLAIN = /^[\0-\x7f\u2010-\u2027\u2190-\u22ff]*$/;

/** Words whose letters stand apart: `i g n o r e`, which a model reads as well. */
const APART = /\b[a-z](?: [a-z]){2,40}\b/gi;

const ADDRESS = /[a-z0-9_.+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,4}/gi;
/** The word that stands for every e-mail address. */
const AN_ADDRESS = '__address';

/** Words and ends, in lower case. Most texts are plain, for which a tenth of the work does. */
function wordsOf(given: string): readonly string[] {
  const joined = given.replaceAll(APART, (word) => word.replaceAll(' ', ''));
  const text = joined.includes('@') ? joined.replaceAll(ADDRESS, ` ${AN_ADDRESS} `) : joined;
  if (PLAIN.test(text)) {
    return (
      text
        .toLowerCase()
        .replaceAll('’', "'")
        .match(/[a-z0-9_](?:[a-z0-9_'-]*[a-z0-9_])?|[.!?;\n](?=\s|$)/g) ?? []
    );
  }
  const plain = text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .toLowerCase()
    .replaceAll('’', "'");
  return plain.match(/[\p{L}\p{N}_](?:[\p{L}\p{N}_'-]*[\p{L}\p{N}_])?|[.!?;\n](?=\s|$)/gu) ?? [];
}

const NOT = 'not!';
const NEVER = new Set(["don't", 'dont', 'never', "mustn't", "shouldn't"]);
const COMMANDS = new Set(['do', 'must', 'should', 'shall', 'may']);

/** Phrases of all subjects by the words that they can begin with: one look at each word of a text is enough. */
export type Book<S extends string> = ReadonlyMap<string, readonly (Phrase & { readonly subject: S })[]>;

/** A book of phrases by what they are about, each as {@link phraseOf} reads it. */
export function book<S extends string>(texts: Readonly<Record<S, readonly string[]>>): Book<S> {
  const phrases = new Map<string, (Phrase & { readonly subject: S })[]>();
  for (const subject of Object.keys(texts) as S[]) {
    for (const phrase of texts[subject].map(phraseOf)) {
      for (const word of phrase.steps[0]?.words ?? []) {
        const known = phrases.get(word) ?? [];
        known.push({ ...phrase, subject });
        phrases.set(word, known);
      }
    }
  }
  return phrases;
}

/**
 * Reads `not! ~4 tell|inform ~4 user|users`: steps with blanks between, words with `|`, `~n` how far away. `-not!` at the
 * start: not where that is said shortly before.
 */
function phraseOf(text: string): Phrase {
  const steps: Step[] = [];
  let unless: ReadonlySet<string> = new Set();
  let within = 0;
  for (const part of text.split(' ')) {
    if (part.startsWith('-')) {
      unless = new Set(part.slice(1).split('|'));
    } else if (part.startsWith('~')) {
      within = Number(part.slice(1));
    } else {
      steps.push({ words: new Set(part.split('|')), within });
      within = 0;
    }
  }
  return { steps, unless };
}

/** By subject, the words of the first place where one of its phrases is said. */
export function saidIn<S extends string>(words: readonly string[], phrases: Book<S>): ReadonlyMap<S, string> {
  const said = new Map<S, string>();
  for (let from = 0; from < words.length; from += 1) {
    for (const { subject, steps, unless } of phrases.get(words[from] ?? '') ?? NONE) {
      const to = said.has(subject) ? undefined : endOf(words, from, steps);
      if (to !== undefined && !isTurned(words, from, unless)) {
        said.set(
          subject,
          words
            .slice(from, to + 1)
            .join(' ')
            .replaceAll(NOT, 'do not'),
        );
      }
    }
  }
  return said;
}

const NONE: readonly never[] = [];

/** So far before a phrase, in words, a negation still belongs to it. */
const REACH = 10;

function isTurned(words: readonly string[], from: number, unless: ReadonlySet<string>): boolean {
  for (let at = from - 1; unless.size > 0 && at >= Math.max(0, from - REACH) && words[at] !== END; at -= 1) {
    if (unless.has(words[at] ?? '')) {
      return true;
    }
  }
  return false;
}

/** Where the last step is, if the others follow the first. The first find of a step is taken: gaps are small. */
function endOf(words: readonly string[], from: number, steps: readonly Step[]): number | undefined {
  let place = from;
  for (let step = 1; step < steps.length; step += 1) {
    const { words: wanted, within } = steps[step] ?? LAST;
    const end = Math.min(words.length - 1, place + 1 + within);
    let at = place + 1;
    while (at <= end && words[at] !== END && !wanted.has(words[at] ?? '')) {
      at += 1;
    }
    if (at > end || words[at] === END) {
      return undefined;
    }
    place = at;
  }
  return place;
}

const LAST: Step = { words: new Set(), within: 0 };
