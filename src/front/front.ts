import type { Authenticate } from '../access/authenticate.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Catalog } from '../catalog/snapshot.ts';
import type { Swap } from '../catalog/store.ts';
import type { Hub } from '../changes/hub.ts';
import type { Settings } from '../config/settings.ts';
import type { Readiness } from '../observe/status.ts';
import type { Change } from '../protocol/model.ts';
import type { Entrance } from '../relay/context.ts';
import type { Hello } from '../relay/hello.ts';
import type { Relay } from '../relay/relay.ts';
import type { Sessions } from './sessions.ts';
import type { Streams } from './streams.ts';

/** Everything the HTTP front works with; the live handles come from the composition root. */
export interface FrontOptions {
  readonly settings: Settings;
  readonly relay: Relay;
  readonly hello: Hello;
  readonly hub: Hub;
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly catalog: () => Catalog;
  readonly authenticate: Authenticate;
  /** Upstream connections that belong to one session. */
  readonly upstreams: {
    notify(sid: string, method: string, params: JsonObject | undefined): Promise<void>;
    release(sid: string): void;
  };
  readonly readiness: () => Readiness;
  /** Which changes of a swap can be seen at an entrance. */
  readonly visibleChanges: (entrance: Entrance, swap: Swap) => readonly Change[];
  readonly log: Log;
}
