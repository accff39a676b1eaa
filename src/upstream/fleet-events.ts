import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { excerpt, type Ration } from '../base/ration.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import { CHANGES, type Change } from '../protocol/model.ts';

/**
 * `owner` is whose own connection it is about: a grant, or the key of a principal where everybody signs in alike and each
 * user has a connection all the same; undefined: the shared one, everybody's.
 */
export interface FleetEvents {
  /** Connected, or connected again: read its lists (case C-026). For an owner: notices to it may have gone unheard. */
  connected(upstream: string, owner?: string): void;
  /** No notices any more. For an owner: its last connection has closed, for being idle as well. */
  lost(upstream: string, owner?: string): void;
  /** No list for everybody is to be expected soon: the first attempt has failed, or only single users reach it. */
  failedFirst(upstream: string): void;
  /** The upstream says that a resource changed, under its own URI. */
  updated(upstream: string, uri: string, owner?: string): void;
  /** The upstream says how a task stands. */
  task(upstream: string, task: JsonObject, owner?: string): void;
  /** The upstream says that a list changed, whether it had declared so or not (case C-024). */
  changed(upstream: string, change: Change, owner?: string): void;
}

/** Log lines a minute of one upstream about notices that are nobody's. */
export const OWNERLESS_PER_MINUTE = 10;

/** From where a notice comes: `owner` as for {@link FleetEvents}, `lines` of the log that may be spent on it. */
export interface NoticeSource {
  readonly upstream: string;
  readonly owner: string | undefined;
  readonly lines: Ration;
}

/** Sorts a notice of an upstream. */
export function noticed(
  notice: RpcNotification,
  { upstream, owner, lines }: NoticeSource,
  events: FleetEvents,
  log: Log,
): void {
  const uri = notice.params?.['uri'];
  if (notice.method === 'notifications/resources/updated' && typeof uri === 'string') {
    events.updated(upstream, uri, owner);
    return;
  }
  if (notice.method === 'notifications/tasks' && notice.params !== undefined) {
    events.task(upstream, notice.params, owner);
    return;
  }
  const change = CHANGES.find((name) => notice.method === `notifications/${name}/list_changed`);
  if (change !== undefined) {
    events.changed(upstream, change, owner);
  } else {
    // Log messages on a shared channel have no owner; vendor notices are nobody's (cases C-024, C-067).
    const withheld = lines.take();
    if (withheld !== undefined) {
      const method = excerpt(notice.method);
      log.debug({ upstream, method, withheld }, 'a notice without an owner was not passed on');
    }
  }
}
