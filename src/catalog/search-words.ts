import { stemmer } from 'stemmer';
import { PHRASES, SAYINGS } from './search-sayings.ts';
import { ALIKE } from './search-thesaurus.ts';

/** Words that say nothing about what a tool does, in descriptions and in questions. */
const EMPTY_WORDS = new Set(
  (
    'a about after all also am an and any anything are as at be because been before being both but by can could did do ' +
    'does doing each either else etc every everything for from given had has have having he her here him his how i if in ' +
    'into is it its just let like ll make may me might more most must my need needs of on once one only onto or other our ' +
    'out over own please same shall she should so some something such than that the their them then there these they thing ' +
    'things this those through to too tool tools under until up upon us use used uses using ve very via want wants was we were ' +
    'what when where whether which while who whom whose why will with within without would you your'
  ).split(' '),
);

/** Words that say when, how much or how nicely: rare in descriptions, and yet not what is meant. */
const WEAK_WORDS = (
  'today tomorrow yesterday tonight morning evening now right moment currently week month year day night time times long ' +
  'last next first soon later already yet still just here there back really please much many few lot big good well best new ' +
  'old take takes taking go goes going went come make makes keep put set get gets got give look tell say said let know see ' +
  'happen happens happened work works people person someone somebody anybody everyone world way kind'
).split(' ');

/** Longest word that is looked at, in UTF-16 units: longer ones are data. */
const LONGEST_WORD = 40;
/** Stems that are kept ready; words come from servers, so they could be any number. */
const MOST_STEMS = 20_000;

const WORD = /[\p{L}\p{N}]+/gu;
/** Scripts that put no blanks between words: their runs are cut into pairs. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

/** How far behind its verb a particle may stand, in words: "turn the light in the hall off". */
const PARTICLE_WITHIN = 6;

const stems = new Map<string, string>();

/** The stems of the words of a text that say something, in their order; names are taken apart at `_`, `.` and capitals. */
export function stemsOf(text: string): string[] {
  const found: string[] = [];
  for (const [run] of apart(text).matchAll(WORD)) {
    if (UNSPACED.test(run)) {
      found.push(...pairsOf(run));
    } else if (run.length <= LONGEST_WORD && !EMPTY_WORDS.has(run)) {
      found.push(stemOf(run));
    }
  }
  return found;
}

/** As {@link stemsOf}, of what somebody asks for: a verb and its particle are one, as is a question and its measure. */
export function stemsOfQuestion(text: string): string[] {
  const words = [...apart(text.replace(/['’]/g, '')).matchAll(WORD)].map(([word]) => word);
  const taken = new Set<number>();
  return words.flatMap((word, at) => {
    if (taken.has(at)) {
      return [];
    }
    for (let next = at + 1; next <= at + PARTICLE_WITHIN && next < words.length; next += 1) {
      const phrase = phraseOf(word, words[next] ?? '');
      if (known().alike.has(phrase)) {
        taken.add(next);
        return [phrase];
      }
    }
    return stemsOf(word);
  });
}

/** Whether it is a phrase, which no definition has as such. */
export function isPhrase(stem: string): boolean {
  return stem.includes('_');
}

/** Other stems that may stand for the same, as far as they are known. */
export function alikeTo(stem: string): ReadonlySet<string> {
  return known().alike.get(stem) ?? NONE;
}

/** Whether a stem says little about what is meant. */
export function isWeak(stem: string): boolean {
  return known().weak.has(stem);
}

const NONE: ReadonlySet<string> = new Set();

interface KnownStems {
  /** What means about the same as a stem. */
  readonly alike: ReadonlyMap<string, ReadonlySet<string>>;
  readonly weak: ReadonlySet<string>;
}

let knownStems: KnownStems | undefined;

/** Made at the first search: few starts come to one. */
function known(): KnownStems {
  knownStems ??= { alike: thesaurus(), weak: new Set(WEAK_WORDS.map(stemOf)) };
  return knownStems;
}

function thesaurus(): ReadonlyMap<string, ReadonlySet<string>> {
  const made = new Map<string, Set<string>>();
  const add = (from: string, to: readonly string[]) => {
    const others = made.get(from) ?? new Set();
    made.set(from, others);
    for (const other of to) {
      if (other !== from) {
        others.add(other);
      }
    }
  };
  for (const group of ALIKE.split(';')) {
    const members = stemsIn(group);
    for (const member of members) {
      add(member, members);
    }
  }
  for (const line of [...PHRASES.split(';'), ...SAYINGS.split(';')]) {
    const [said = '', told = ''] = line.split('>');
    for (const each of stemsIn(said)) {
      add(each, stemsIn(told));
    }
  }
  return made;
}

function stemsIn(table: string): readonly string[] {
  return table
    .trim()
    .split(/\s+/)
    .map((word) => (isPhrase(word) ? phraseOf(...(word.split('_') as [string, string])) : stemOf(word)));
}

function phraseOf(verb: string, particle: string): string {
  return `${stemOf(verb)}_${stemOf(particle)}`;
}

function apart(text: string): string {
  return text
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase();
}

function pairsOf(run: string): readonly string[] {
  const signs = [...run];
  return signs.length === 1 ? signs : signs.slice(1).map((sign, at) => `${signs[at]}${sign}`);
}

function stemOf(word: string): string {
  let stem = stems.get(word);
  if (stem === undefined) {
    stem = stemmer(word);
    if (stems.size >= MOST_STEMS) {
      stems.clear();
    }
    stems.set(word, stem);
  }
  return stem;
}
