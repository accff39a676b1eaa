import { UpstreamRpcError } from '../base/errors.ts';
import { objectAt } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { after, backoff, pause } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Connection } from './connection.ts';

export interface SubscribeOptions {
  readonly connection: Connection;
  readonly settings: UpstreamSettings;
  readonly envelope: Envelope;
  readonly log: Log;
  /**
   * Read the lists now. Changes before an acknowledgement are not repeated (spec 2026-07-28: patterns/subscriptions;
   * case C-027), so this is called after each one, and once without it where none comes.
   */
  readonly read: () => void;
}

/** A stream that stayed open this long was fine: its end does not count against the back-off. */
const STABLE_MS = 30_000;

/**
 * For the answer to the GET of a stream of notices, in ms. The server has it by then; some, and some proxies, hold its
 * headers back until there is something to say.
 */
export const STREAM_HEADERS_MS = 250;

/**
 * Opens the channel for notices in the way of the connection's era. The lists are read once notices of change can be
 * heard, or after a while where the stream does not come, and again whenever some may have gone unheard.
 */
export function hear(options: SubscribeOptions): void {
  const { connection, read } = options;
  if (connection.terms.era === 'modern') {
    subscribe(options);
    return;
  }
  const cancel = after(STREAM_HEADERS_MS, read);
  connection.listen(() => {
    cancel();
    read();
  });
}

/** Keeps the gateway's own `subscriptions/listen` open on one modern connection, for as long as that lives. */
function subscribe(options: SubscribeOptions): void {
  const filter = filterFor(options.connection.terms.capabilities);
  if (Object.keys(filter).length > 0) {
    void keepOpen(options, filter);
  } else {
    options.read();
  }
}

/** Only what the server promised: it must not be asked for types it did not declare. */
function filterFor(capabilities: unknown): Record<string, boolean> {
  const promised = (capability: string) => objectAt(capabilities, capability)?.['listChanged'] === true;
  return {
    ...(promised('tools') ? { toolsListChanged: true } : {}),
    ...(promised('prompts') ? { promptsListChanged: true } : {}),
    ...(promised('resources') ? { resourcesListChanged: true } : {}),
  };
}

const FOREVER = Number.POSITIVE_INFINITY;

/** Never rejects: every end of the stream is logged and followed by another try. */
async function keepOpen(options: SubscribeOptions, filter: Record<string, boolean>): Promise<void> {
  const { connection, settings, log, envelope, read } = options;
  let failures = 0;
  const cancelFallback = after(settings.timeouts.probe, read);
  const onNotice = (notice: RpcNotification) => {
    if (notice.method === 'notifications/subscriptions/acknowledged') {
      cancelFallback();
      read();
    }
  };
  while (connection.ended === undefined) {
    const openedAt = Date.now();
    try {
      const params = { notifications: filter };
      await connection.request('subscriptions/listen', params, {
        envelope,
        timeoutMs: FOREVER,
        totalMs: FOREVER,
        onNotice,
      });
      log.debug('the change stream was ended by the server');
    } catch (thrown) {
      log.debug({ err: thrown }, 'the change stream ended');
      if (thrown instanceof UpstreamRpcError && thrown.error.code === -32601) {
        log.warn(
          'it declares listChanged but offers no change stream: its lists are read again by their ttl only',
        );
        break;
      }
    }
    failures = Date.now() - openedAt > STABLE_MS ? 0 : failures + 1;
    await pause(backoff(failures, settings.restart.base, settings.restart.cap));
  }
}
