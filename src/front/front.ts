import type { Allowance } from '../access/allowance.ts';
import type { Principal } from '../access/principal.ts';
import type { ErrorCode } from '../base/error-table.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Catalog, Swap } from '../catalog/snapshot.ts';
import type { Hub } from '../changes/hub.ts';
import type { Feed } from '../observe/feed.ts';
import type { Readiness } from '../observe/status.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { Change } from '../protocol/model.ts';
import type { Caller } from '../relay/context.ts';
import type { Hello } from '../relay/hello.ts';
import type { Relay } from '../relay/relay.ts';
import type { Intake } from './intake.ts';
import type { Operations } from './operations.ts';
import type { Regime, Standing } from './regime.ts';
import type { Sessions } from './sessions.ts';
import type { Streams } from './streams.ts';

/** Where somebody stands, and whose lists are seen from there. */
export type Place = Pick<Standing, 'principal' | 'entrance' | 'access'>;

/** What `/metrics` answers, and what the front tells for it. */
export interface MetricsDoor {
  /** Everything that is counted, in the text format of Prometheus. */
  text(): Promise<string>;
  /** An HTTP request is refused as a whole. */
  refused(code: ErrorCode): void;
  readonly traffic: Traffic;
}

/** Everything the HTTP front works with; the live handles come from the composition root. */
export interface FrontOptions {
  /** What holds now. Asked for once in a request: it may be another one the next time. */
  readonly regime: () => Regime;
  readonly relay: Relay;
  readonly hello: Hello;
  readonly hub: Hub;
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly intake: Intake;
  readonly catalog: (principal: Principal) => Catalog;
  readonly allowance: Allowance;
  /** What the URLs of this gateway begin with, as clients see them. */
  readonly base: () => string;
  /** Upstream connections that belong to one session. */
  readonly upstreams: {
    notify(sid: string, method: string, params: JsonObject | undefined): Promise<void>;
    release(sid: string): void;
  };
  readonly readiness: () => Readiness;
  readonly operations: Operations;
  /** What operators are told as it happens. */
  readonly feed: Feed;
  /** Absent where nothing is counted. */
  readonly metrics: MetricsDoor | undefined;
  /** Which changes of a swap this principal can see where it stands. */
  readonly visibleChanges: (where: Place, swap: Swap) => readonly Change[];
  /** What is another one from where a client stands now than from where it stood before. */
  readonly changesBetween: (before: Place, now: Place) => readonly Change[];
  /** From here on changes of lists that are a caller's own are looked for. Returns how to stop. */
  readonly attend: (caller: Caller) => () => void;
  readonly log: Log;
}
