import type { Log } from '../base/log.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Transport } from './transport.ts';

interface LinkEvents {
  /** Read its lists: after every handshake, and whenever changes may have been missed (case C-026). */
  connected(): void;
  /** Not reachable any more; the first time after having been connected. */
  lost(): void;
  /** The first attempt has failed: nothing is to be expected of it soon. */
  failedFirst(): void;
  notice(notice: RpcNotification): void;
}

export interface LinkOptions {
  readonly settings: UpstreamSettings;
  readonly transport: (sse: boolean) => Transport;
  readonly envelope: Envelope;
  readonly events: LinkEvents;
  readonly log: Log;
}
