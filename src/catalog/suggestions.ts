import { nearest } from '../base/nearest.ts';
import type { Entry } from './snapshot.ts';

const MOST = 3;

/**
 * Names that may have been meant by one that nobody offers, likeliest first: the same name under its server, a name a
 * few letters off, names that hold the word.
 */
export function suggestions(
  word: string,
  entries: readonly Entry[],
  style: keyof Entry['exposed'],
): readonly string[] {
  const wanted = word.toLowerCase();
  const names = entries.map(({ exposed }) => exposed[style]);
  const itself = entries.filter(({ original }) => original.toLowerCase() === wanted);
  const near = nearest(word, names);
  const nearOriginal = nearest(
    word,
    entries.map(({ original }) => original),
  );
  const all = [
    ...itself.map(({ exposed }) => exposed[style]),
    ...(near === undefined ? [] : [near]),
    ...entries.filter(({ original }) => original === nearOriginal).map(({ exposed }) => exposed[style]),
    ...names.filter((name) => wanted !== '' && name.toLowerCase().includes(wanted)),
  ];
  return [...new Set(all)].slice(0, MOST);
}
