import type { Allowance } from './access/allowance.ts';
import type { Log } from './base/log.ts';
import type { Sealer } from './base/sealed.ts';
import type { ChangeFlow } from './change-flow.ts';
import type { Settings } from './config/settings.ts';
import { Conversation } from './relay/conversation.ts';
import { finding } from './relay/find-flow.ts';
import type { Shown } from './relay/find-list.ts';
import { Forward } from './relay/forward.ts';
import type { Hello } from './relay/hello.ts';
import { Lookup } from './relay/lookup.ts';
import { ParkedCalls } from './relay/parked.ts';
import { Relay, type RequestObserver } from './relay/relay.ts';
import { RequestStates } from './relay/request-state.ts';
import { SeenUris } from './relay/seen-uris.ts';
import { Tasks } from './relay/tasks.ts';
import { Watching } from './relay/watching.ts';
import type { Replicas } from './replicas.ts';
import { checks } from './vetting/checks.ts';

/** Request: method table -> route -> upstream. */
export function requestFlow(
  rooms: ChangeFlow & {
    readonly hello: Hello;
    readonly settings: () => Settings;
    readonly sealer: Sealer;
    readonly allowance: Allowance;
    readonly observer: RequestObserver | undefined;
    readonly log: Log;
    readonly replicas: Pick<Replicas, 'parked' | 'fleetAt' | 'peers' | 'tasks' | 'shared'>;
  },
): { relay: Relay; parked: ParkedCalls; lookup: Lookup; shown: Shown } {
  const seen = new SeenUris(rooms.replicas.peers);
  const lookup = new Lookup({ ...rooms, seen, lock: () => rooms.vetting.lock });
  const questions = () => rooms.settings().questions;
  const states = new RequestStates(rooms.sealer, () => questions().ttl);
  const parked = new ParkedCalls(states, questions, rooms.replicas.parked);
  const tasks = new Tasks(rooms.sealer, rooms.taskUpdates, rooms.fleet, rooms.replicas.tasks);
  const conversation = new Conversation({ ...rooms, states, parked, fleetAt: rooms.replicas.fleetAt });
  const looks = checks({ ...rooms, upstream: (id) => rooms.fleet.settings(id) });
  const forward = new Forward({
    ...rooms,
    lookup,
    seen,
    conversation,
    tasks,
    checks: looks,
  });
  const grown = (grant: string, entrance: string) => rooms.hub.tell(grant, entrance, 'tools');
  const { shown, ...found } = finding({
    ...rooms,
    lookup,
    forward,
    grown,
    peers: rooms.replicas.peers,
    shared: rooms.replicas.shared,
  });
  const relay = new Relay({
    allowance: rooms.allowance,
    hello: rooms.hello,
    ...found,
    watching: new Watching({ ...rooms, lookup, tasks }),
    forward,
    errors: looks.results,
    maxTtl: () => rooms.settings().lists.maxTtl,
    observer: rooms.observer,
  });
  return { relay, parked, lookup, shown };
}
