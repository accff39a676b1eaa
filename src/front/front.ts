import type { Allowance } from '../access/allowance.ts';
import type { Authenticate } from '../access/authenticate.ts';
import type { Policy } from '../access/policy.ts';
import type { Principal } from '../access/principal.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Catalog, Swap } from '../catalog/snapshot.ts';
import type { Hub } from '../changes/hub.ts';
import type { Settings } from '../config/settings.ts';
import type { Readiness } from '../observe/status.ts';
import type { Change } from '../protocol/model.ts';
import type { Caller, Standpoint } from '../relay/context.ts';
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
  readonly catalog: (principal: Principal) => Catalog;
  readonly authenticate: Authenticate;
  readonly allowance: Allowance;
  /** What the URLs of this gateway begin with, as clients see them. */
  readonly base: () => string;
  readonly accessOf: Policy;
  /** Upstream connections that belong to one session. */
  readonly upstreams: {
    notify(sid: string, method: string, params: JsonObject | undefined): Promise<void>;
    release(sid: string): void;
  };
  readonly readiness: () => Readiness;
  /** Which changes of a swap this principal can see where it stands. */
  readonly visibleChanges: (
    where: Standpoint & { readonly principal: Principal },
    swap: Swap,
  ) => readonly Change[];
  /** From here on changes of lists that are a caller's own are looked for. Returns how to stop. */
  readonly attend: (caller: Caller) => () => void;
  readonly log: Log;
}
