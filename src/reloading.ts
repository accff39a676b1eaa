import { isDeepStrictEqual } from 'node:util';
import type { Authenticate } from './access/authenticate.ts';
import type { Log } from './base/log.ts';
import { shapeTools } from './catalog/shape.ts';
import type { ChangeFlow } from './change-flow.ts';
import { diffSettings, isSame, restarts, runnable, type SettingsDiff } from './config/diff.ts';
import type { ConfigError } from './config/problems.ts';
import type { Settings } from './config/settings.ts';
import { Regime } from './front/regime.ts';
import type { Streams } from './front/streams.ts';
import type { ConfigReport } from './observe/status.ts';
import type { LockState } from './vetting/lock.ts';

export interface ReloadingRooms
  extends Pick<ChangeFlow, 'fleet' | 'store' | 'hub' | 'replies' | 'vetting' | 'prepare' | 'succeeded'> {
  /** What is approved; undefined where nothing ever is. */
  readonly lock: (() => LockState) | undefined;
  readonly streams: Streams;
  readonly signIn: (auth: Settings['auth']) => Authenticate;
  readonly regime: () => Regime;
  /** The one assignment by which another configuration holds. */
  readonly become: (regime: Regime) => void;
  readonly log: Log;
}

/** How a running gateway becomes that of another configuration, and what came of the last attempt. */
export interface Reloading {
  /**
   * From here on `next` holds, as far as it can without a restart. Returns what changed; changed upstreams are replaced when
   * their successors can answer. Throws a ConfigError, and changes nothing, where what needs a restart and what does not
   * cannot hold together.
   */
  reload(next: Settings): SettingsDiff;
  /** Another configuration was tried and cannot be read: the one that holds goes on, and the state says so. */
  refused(error: ConfigError): void;
  readonly report: () => ConfigReport;
  /** The gateway ends: whatever comes now changes nothing any more. */
  stop(): void;
}

export function reloading(rooms: ReloadingRooms): Reloading {
  const { log } = rooms;
  let report: ConfigReport = { status: 'ok', at: now(), needRestart: [] };
  let stopped = false;
  const refused = (error: ConfigError) => {
    const problems = error.problems.map(({ path, line, message }) => ({ path, line, message }));
    report = { ...report, status: 'failed', at: now(), problems };
    log.error({ problems }, 'the new configuration is not valid: the old one keeps serving');
  };
  return {
    report: () => report,
    refused,
    stop() {
      stopped = true;
    },
    reload(next) {
      const begun = performance.now();
      const diff = diffSettings(rooms.regime().settings, next);
      if (stopped) {
        return diff;
      }
      const settings = runnable(rooms.regime().settings, next);
      const { store, vetting, lock } = rooms;
      vetting.renewed(
        lock?.(),
        () => swap(rooms, settings, diff),
        () => store.current.parts,
      );
      report = { status: 'ok', at: now(), needRestart: diff.needRestart };
      const { upstreams, changed } = diff;
      const ms = Math.round(performance.now() - begun);
      log.info(isSame(diff) ? { ms } : { ...upstreams, keys: changed, ms }, 'reloaded');
      if (diff.needRestart.length > 0) {
        log.warn(
          { keys: diff.needRestart },
          'these keys keep their values until the gateway is started again',
        );
      }
      return diff;
    },
  };
}

/** One tick: whoever asks before it is served by the old configuration, and whoever asks after it by the new one. */
function swap(rooms: ReloadingRooms, settings: Settings, { upstreams }: SettingsDiff): void {
  const { fleet, store, hub, streams, replies } = rooms;
  const before = rooms.regime();
  const { auth } = settings;
  const authenticate = auth === before.settings.auth ? before.authenticate : rooms.signIn(auth);
  const regime = new Regime(settings, authenticate);
  const ids = fleet.ids;
  const begin = fleet.rebuild(settings.upstreams, {
    restarts,
    graceMs: settings.shutdown.grace,
    prepare: rooms.prepare,
    succeeded: rooms.succeeded,
  });
  rooms.become(regime);
  const gone = ids.filter((id) => !fleet.ids.includes(id));
  // Also where only `cache` differs: it says whose answers are, and what was kept may not be for everybody any more.
  const reread = [...upstreams.changed, ...upstreams.restarted].flatMap((id) => {
    const [old, next] = [before.settings.upstreams[id], settings.upstreams[id]];
    const [same, tools] = [isDeepStrictEqual(old?.cache, next?.cache), next?.tools];
    return tools === undefined || (same && isDeepStrictEqual(old?.tools, tools)) ? [] : [{ id, tools }];
  });
  for (const id of [...gone, ...reread.map((each) => each.id)]) {
    replies.forget(id);
  }
  hub.review(() => {
    store.rearrange(settings.naming, {
      gone,
      reshaped: new Map(reread.map(({ id, tools }) => [id, (list) => shapeTools(list, tools)])),
    });
  });
  streams.review();
  begin();
}

function now(): string {
  return new Date().toISOString();
}
