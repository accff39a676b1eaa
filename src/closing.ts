import { after, pause } from './base/time.ts';
import type { Store } from './catalog/store.ts';
import type { Front } from './front/server.ts';
import type { Sessions } from './front/sessions.ts';
import type { Caller } from './relay/context.ts';
import type { ParkedCalls } from './relay/parked.ts';
import type { Fleet } from './upstream/fleet.ts';
import type { Vetting } from './vetting/vetting.ts';

/** How often sessions that nobody uses are swept out, in ms. */
const SWEEP_MS = 60_000;
/** For answers that are being written when everything else has ended, in ms. */
const LAST_ANSWERS_MS = 500;

/** Sweeps sessions until the returned function ends everything, in an order that lets answers through. */
export function closer(rooms: {
  front: Front;
  fleet: Fleet;
  store: Store<Caller>;
  vetting: Vetting;
  sessions: Sessions;
  parked: ParkedCalls;
  observing: { close(): Promise<void> };
  replicas: { leave(): void; close(): Promise<void> };
  /** ms. */
  grace: () => number;
}): () => Promise<void> {
  const { front, fleet, store, vetting, sessions, parked, observing, replicas } = rooms;
  let sweeping = after(SWEEP_MS, sweep);
  function sweep(): void {
    sessions.sweep();
    sweeping = after(SWEEP_MS, sweep);
  }
  let closing: Promise<void> | undefined;
  const close = async () => {
    const grace = rooms.grace();
    sweeping();
    replicas.leave();
    store.close();
    vetting.close();
    // Answers under way get the grace; then the upstreams go, which ends every call that still waits.
    const drained = front.close();
    await Promise.race([drained, pause(grace)]);
    parked.close();
    await fleet.close(grace);
    // The last answers, which say that their upstream is gone, are on their way now.
    await Promise.race([drained, pause(LAST_ANSWERS_MS)]);
    front.cut();
    await drained;
    await Promise.all([observing.close(), replicas.close()]);
  };
  return () => {
    closing ??= close();
    return closing;
  };
}
