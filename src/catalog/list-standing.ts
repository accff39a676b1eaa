import type { CacheHints, Kind } from '../protocol/model.ts';
import type { OwnList } from './own-list.ts';
import type { UpstreamPart } from './part.ts';

/** How one list stands that somebody is served: whose it is, how old, and what its server said of its age. */
export interface ListStanding {
  /** everybody: read by the gateway for all. principal: read for one, with its rights. shared: read for one, good for all. */
  readonly whose: 'everybody' | 'principal' | 'shared';
  /** Whether there is one to be served. */
  readonly known: boolean;
  /** When it was read, in ms since the epoch. */
  readonly readAt: number | undefined;
  /** What its server says of how long it may be kept, and by whom. */
  readonly hints: CacheHints;
  /** It could not be read again, or its server is lost: this is an older one. */
  readonly stale: boolean;
  /** Until when it is believed, in ms since the epoch; undefined where something else decides when it is read again. */
  readonly freshUntil: number | undefined;
  /** Code of the error that the last read ended with. */
  readonly fault: string | undefined;
}

const NO_HINTS: CacheHints = { ttlMs: undefined, scope: undefined };

/** A list that the gateway reads by itself. */
export function sharedStanding(part: UpstreamPart | undefined, kind: Kind): ListStanding {
  const list = part?.lists[kind];
  return {
    whose: 'everybody',
    known: list !== undefined,
    readAt: list?.readAt,
    hints: list?.hints ?? NO_HINTS,
    stale: part?.stale === true,
    freshUntil: undefined,
    fault: undefined,
  };
}

/** A list that is read when somebody asks; undefined: nobody has. */
export function ownStanding(list: OwnList | undefined, whose: 'principal' | 'shared'): ListStanding {
  return {
    whose,
    known: list?.known === true,
    readAt: list?.list?.readAt,
    hints: list?.list?.hints ?? NO_HINTS,
    stale: list?.fault !== undefined,
    freshUntil: list?.known === true ? list.freshUntil : undefined,
    fault: list?.fault?.code,
  };
}
