import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import { logLevelReaches } from '../protocol/log-level.ts';
import { progressTokenOf } from '../protocol/meta.ts';
import type { RequestContext } from './context.ts';

/** Progress under the client's own token, and only where it gave one; log messages that it wants to hear. */
export function relayNotice(notice: RpcNotification, params: JsonObject, context: RequestContext): void {
  if (notice.method === 'notifications/progress') {
    const progressToken = progressTokenOf(params);
    if (progressToken !== undefined) {
      context.notify({ ...notice, params: { ...notice.params, progressToken } });
    }
    return;
  }
  const level = isObject(notice.params) ? stringAt(notice.params, 'level') : undefined;
  if (notice.method === 'notifications/message' && logLevelReaches(level, context)) {
    context.notify(notice);
  }
}
