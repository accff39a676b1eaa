import { nearest } from '../base/nearest.ts';
import type { Settings } from '../config/settings.ts';

/** What to say to a person who names an upstream that the configuration does not have; undefined where it does. */
export function unknownUpstream(id: string, { upstreams }: Settings): string | undefined {
  if (Object.hasOwn(upstreams, id)) {
    return undefined;
  }
  const meant = nearest(id, Object.keys(upstreams));
  const hint = meant === undefined ? '' : ` (did you mean "${meant}"?)`;
  return `error: there is no upstream "${id}" in the configuration${hint}\n`;
}
