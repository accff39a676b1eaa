import type { Entry } from '../catalog/snapshot.ts';
import { nearest } from '../config/nearest.ts';
import type { Settings } from '../config/settings.ts';

const MOST = 3;

/**
 * Names that may have been meant by one that nobody offers, likeliest first: the same name under its server, a name a
 * few letters off, names that hold the word.
 */
export function suggestions(
  word: string,
  entries: readonly Entry[],
  style: 'dotted' | 'strict',
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

/** What to say to a person who names an upstream that the configuration does not have; undefined where it does. */
export function unknownUpstream(id: string, { upstreams }: Settings): string | undefined {
  if (Object.hasOwn(upstreams, id)) {
    return undefined;
  }
  const meant = nearest(id, Object.keys(upstreams));
  const hint = meant === undefined ? '' : ` (did you mean "${meant}"?)`;
  return `error: there is no upstream "${id}" in the configuration${hint}\n`;
}
