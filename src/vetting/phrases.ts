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
const ASCII = /^[\0-\x7f]*$/;

/** Words and ends, in lower case. Most texts are plain ASCII, for which a tenth of the work does. */
function wordsOf(text: string): readonly string[] {
  if (ASCII.test(text)) {
    return text.toLowerCase().match(/[a-z0-9_][a-z0-9_'-]*|[.!?;\n](?=\s|$)/g) ?? [];
  }
  const plain = text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .toLowerCase()
    .replaceAll('’', "'");
  return plain.match(/[\p{L}\p{N}_][\p{L}\p{N}_'-]*|[.!?;\n](?=\s|$)/gu) ?? [];
}

const NOT = 'not!';
const NEVER = new Set(["don't", 'dont', 'never', "mustn't", "shouldn't"]);
const COMMANDS = new Set(['do', 'must', 'should', 'shall', 'may']);

/** Phrases by the words that they can begin with: one look at each word of a text is enough. */
export type Book = ReadonlyMap<string, readonly Phrase[]>;

/** A book of phrases, each as {@link phraseOf} reads it. */
export function book(...texts: readonly string[]): Book {
  const phrases = new Map<string, Phrase[]>();
  for (const phrase of texts.map(phraseOf)) {
    for (const word of phrase.steps[0]?.words ?? []) {
      const known = phrases.get(word) ?? [];
      known.push(phrase);
      phrases.set(word, known);
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

/** The words of the first place where one of the phrases is said; undefined where none is. */
export function saidIn(words: readonly string[], phrases: Book): string | undefined {
  for (const [from, word] of words.entries()) {
    for (const { steps, unless } of phrases.get(word) ?? []) {
      const to = endOf(words, from, steps.slice(1));
      if (to !== undefined && !isTurned(words, from, unless)) {
        return words
          .slice(from, to + 1)
          .join(' ')
          .replaceAll(NOT, 'do not');
      }
    }
  }
  return undefined;
}

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

/** Where the last step is, if the others follow this one. The first find of a step is taken: gaps are small. */
function endOf(words: readonly string[], from: number, steps: readonly Step[]): number | undefined {
  let place = from;
  for (const { words: wanted, within } of steps) {
    const end = Math.min(words.length - 1, place + 1 + within);
    let found: number | undefined;
    for (let at = place + 1; at <= end && words[at] !== END && found === undefined; at += 1) {
      found = wanted.has(words[at] ?? '') ? at : undefined;
    }
    if (found === undefined) {
      return undefined;
    }
    place = found;
  }
  return place;
}
