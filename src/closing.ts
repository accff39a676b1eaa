import { after, pause } from './base/time.ts';
import type { Store } from './catalog/store.ts';
import type { Front } from './front/server.ts';
import type { Sessions } from './front/sessions.ts';
import type { Caller } from './relay/context.ts';
import type { ParkedCalls } from './relay/parked.ts';
import type { Fleet } from './upstream/fleet.ts';

/** How often sessions that nobody uses are swept out, in ms. */
const SWEEP_MS = 60_000;
/** For answers that are being written when everything else has ended, in ms. */
const LAST_ANSWERS_MS = 500;

/** Sweeps sessions until the returned function ends everything, in an order that lets answers through. */
export function closer(rooms: {
  front: Front;
  fleet: Fleet;
  store: Store<Caller>;
  sessions: Sessions;
  parked: ParkedCalls;
  /** ms. */
  grace: () => number;
}): () => Promise<void> {
  const { front, fleet, store, sessions, parked } = rooms;
  let sweeping = after(SWEEP_MS, sweep);
  function sweep(): void {
    sessions.sweep();
    sweeping = after(SWEEP_MS, sweep);
  }
  let closing: Promise<void> | undefined;
  const close = async () => {
    const grace = rooms.grace();
    sweeping();
    store.close();
    // Answers under way get the grace; then the upstreams go, which ends every call that still waits.
    const drained = front.close();
    await Promise.race([drained, pause(grace)]);
    parked.close();
    await fleet.close(grace);
    // The last answers, which say that their upstream is gone, are on their way now.
    await Promise.race([drained, pause(LAST_ANSWERS_MS)]);
    front.cut();
    await drained;
  };
  return () => {
    closing ??= close();
    return closing;
  };
}
