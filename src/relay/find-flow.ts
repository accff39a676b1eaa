import { Finder, type FinderOptions } from './find.ts';
import { Shown } from './find-list.ts';
import { tokenizer } from './find-tokens.ts';
import { type ListOptions, Lists } from './list.ts';
import { Joined, type JoinedOptions } from './progressive.ts';

type Rooms = Omit<FinderOptions, 'joined'> & Omit<ListOptions, 'shown'> & JoinedOptions;

/** Lists that need not hold everything, and the calls that find the rest: both know what has joined whose list. */
export function finding(rooms: Rooms): {
  readonly lists: Lists;
  readonly finder: Finder;
  readonly shown: Shown;
} {
  const joined = new Joined(rooms);
  const shown = new Shown(joined, tokenizer);
  return {
    shown,
    lists: new Lists({ ...rooms, shown }),
    finder: new Finder({ ...rooms, joined }),
  };
}
