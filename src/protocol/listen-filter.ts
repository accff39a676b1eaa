import { isObject, type JsonObject } from '../base/json.ts';
import { CHANGES, type Change } from './model.ts';

/** The filter of `subscriptions/listen` (spec 2026-07-28: patterns/subscriptions, Notification Filter). */

/** Which lists the client asked to hear of. Members of another type than true are not asked for. */
export function wantedChanges(filter: unknown): ReadonlySet<Change> {
  return new Set(CHANGES.filter((change) => isObject(filter) && filter[memberOf(change)] === true));
}

/** The filter as acknowledged: what was asked for and can be served; the rest is left out, not false. */
export function honoured(wanted: ReadonlySet<Change>, served: (change: Change) => boolean): JsonObject {
  const members = CHANGES.filter((change) => wanted.has(change) && served(change));
  return Object.fromEntries(members.map((change) => [memberOf(change), true]));
}

function memberOf(change: Change): string {
  return `${change}ListChanged`;
}
