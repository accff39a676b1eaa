import type { Settings } from '../config/settings.ts';
import { type ViewFilter, viewFilter } from './view-filter.ts';

type ViewSettings = Settings['views'][string];

/** What of the tools is in a list, where that is not simply all of them. Whatever it is, all of them can be called. */
export interface Listing extends Pick<ViewSettings, 'mode' | 'maxTokens' | 'found'> {
  /** Which are listed before any other. */
  readonly pinned: ViewFilter;
}

/** What a view of the configuration lists; undefined: all tools, in the order of the catalog. */
export function listingOf({ mode, pinned, maxTokens, found }: ViewSettings): Listing | undefined {
  return mode === 'list' && pinned.length === 0 && maxTokens === 0
    ? undefined
    : { mode, pinned: viewFilter({ include: pinned, exclude: [] }), maxTokens, found };
}
