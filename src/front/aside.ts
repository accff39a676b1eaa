import { notification } from '../protocol/json-rpc.ts';
import { CHANGES } from '../protocol/model.ts';
import type { Caller } from '../relay/context.ts';
import { attend } from './attendance.ts';
import type { FrontOptions } from './front.ts';
import type { Outlet } from './outlet.ts';
import type { Standing } from './regime.ts';
import type { Session } from './sessions.ts';

/** What a legacy session hears outside its requests: list changes, updates of resources, questions of servers. */

/** A message on the newest outlet that somebody reads, else on the newest one. False where it will not be heard. */
export function tellAside({ live }: Pick<Session, 'live'>, json: string): boolean {
  const outlets = [...live.outlets];
  const outlet = outlets.findLast(({ connected }) => connected) ?? outlets.at(-1);
  return outlet?.send(json) === true;
}

/**
 * Makes an outlet one of the session of this caller. A session with at least one hears of every list change; it cannot
 * choose.
 */
export function addOutlet(
  front: FrontOptions,
  session: Session,
  who: { readonly caller: Caller; readonly standing: Standing },
  outlet: Outlet,
): void {
  const { live } = session;
  live.outlets.add(outlet);
  live.caller = who.caller;
  live.afar?.heardHere(true);
  live.unhear ??= attend(front, {
    ...who,
    wants: new Set(CHANGES),
    tell: (change) => {
      tellAside(session, JSON.stringify(notification(`notifications/${change}/list_changed`)));
    },
  });
}

/** Takes an outlet away again; does not end it. */
export function removeOutlet({ live }: Session, outlet: Outlet): void {
  live.outlets.delete(outlet);
  live.lastSeen = Date.now();
  if (live.outlets.size === 0) {
    live.unhear?.();
    live.unhear = undefined;
    live.caller = undefined;
    live.afar?.heardHere(false);
  }
}
