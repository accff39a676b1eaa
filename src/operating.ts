import { imagined } from './access/as-principal.ts';
import { createPolicy, EVERYTHING } from './access/policy.ts';
import { ANONYMOUS } from './access/principal.ts';
import { GatewayError } from './base/errors.ts';
import type { ChangeFlow } from './change-flow.ts';
import { fingerprint } from './config/fingerprint.ts';
import { lineOf } from './config/lines.ts';
import type { Settings } from './config/settings.ts';
import { type Door, entranceTo, requireEntrance } from './front/entrance.ts';
import type { Operations } from './front/operations.ts';
import { overview } from './observe/overview.ts';
import type { Readiness } from './observe/status.ts';
import { catalogReport } from './relay/catalog-report.ts';
import type { Entrance } from './relay/context.ts';
import { Explainer } from './relay/explain.ts';
import type { Gaze } from './relay/explain-options.ts';
import type { AnyFinding } from './relay/explanation.ts';
import type { Shown } from './relay/find-list.ts';
import type { Hello } from './relay/hello.ts';
import type { Lookup, Onlooker } from './relay/lookup.ts';

export interface OperatingRooms
  extends Pick<ChangeFlow, 'fleet' | 'store' | 'hub' | 'vetting' | 'rereadEvery'> {
  readonly settings: () => Settings;
  readonly hello: Hello;
  readonly lookup: Lookup;
  readonly shown: Shown;
  readonly readiness: () => Readiness;
  /** What clients have open. */
  readonly sessions: { readonly size: number };
  readonly streams: { readonly size: number };
  readonly parked: { readonly size: number };
  readonly sealingKey: Buffer;
  readonly release: string;
}

/** Draws the arrows of what operators see: the same parts that answer requests, looked at without asking anybody. */
export function operating(rooms: OperatingRooms): Operations {
  const { settings, store, fleet, vetting } = rooms;
  const startedAt = Date.now();
  const findings = (): readonly AnyFinding[] => [
    ...store.current.findings,
    ...vetting.findings(store.current.parts),
  ];
  const explainer = new Explainer({
    store,
    hello: rooms.hello,
    lookup: rooms.lookup,
    shown: rooms.shown,
    settings,
    rereadEvery: rooms.rereadEvery,
    report: (id) => rooms.readiness().upstreams[id],
    findings,
    lineOf: (rule) => lineOf(settings().access[rule]),
  });
  return {
    status: () =>
      overview({
        readiness: rooms.readiness(),
        settings: settings(),
        statuses: fleet.statuses(),
        catalog: store.current,
        clients: {
          sessions: rooms.sessions.size,
          streams: rooms.streams.size,
          listeners: rooms.hub.size,
          parkedCalls: rooms.parked.size,
        },
        findings: findings(),
        version: rooms.release,
        startedAt,
      }),
    config: () => fingerprint(settings(), rooms.sealingKey),
    explain: async (name, gaze) => {
      const onlooker = onlookerOf(gaze, settings());
      return explainer.explain({ ...onlooker, name, kind: gaze.kind, as: gaze.as });
    },
    catalog: async (query) => {
      const onlooker = onlookerOf(query, settings());
      // Where nothing of an upstream may be seen, its endpoint is not there.
      const limit = onlooker.open ? query.limit : 0;
      const at = query.as === undefined && query.view === undefined ? undefined : 'endpoint';
      const about = { store, settings: settings(), findings: findings(), shown: rooms.shown };
      return catalogReport({ ...query, ...onlooker, limit, at }, about);
    },
  };
}

/** Whoever is imagined, where they are let in; without a name somebody who may use everything. */
function onlookerOf({ as, view, names }: Gaze, settings: Settings): Onlooker & { readonly open: boolean } {
  const entrance = entranceNamed({ name: view, names }, settings);
  if (as === undefined) {
    // Without sign-in everybody is anonymous, so that is who is meant.
    const everybody = settings.auth.mode === 'none' ? createPolicy(settings)(ANONYMOUS) : EVERYTHING;
    return { principal: ANONYMOUS, access: everybody, entrance, open: isOpen(entrance, everybody) };
  }
  const principal = imagined(as, settings.auth);
  const access = createPolicy(settings)(principal);
  return { principal, access, entrance, open: isOpen(entrance, access) };
}

function entranceNamed(door: Door, settings: Settings): Entrance {
  try {
    return entranceTo(settings, door);
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'ENDPOINT_UNKNOWN') {
      const detail = 'There is neither a view nor an upstream of that name.';
      throw new GatewayError('QUERY_INVALID', { detail, cause: thrown });
    }
    throw thrown;
  }
}

function isOpen(entrance: Entrance, access: Onlooker['access']): boolean {
  try {
    requireEntrance(entrance, access);
    return true;
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'ENDPOINT_UNKNOWN') {
      return false;
    }
    throw thrown;
  }
}
