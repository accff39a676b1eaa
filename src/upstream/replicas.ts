import type { JsonObject } from '../base/json.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { CallOptions } from './call.ts';
import type { Party } from './party.ts';
import type { SharedTokens } from './token-cache.ts';
import type { Share } from './told.ts';

/** What one upstream of this process has to do with those of other replicas of the gateway. */
export interface Replicas {
  /** Tokens that they have in common; undefined: there are no other replicas. */
  readonly tokens: (upstream: UpstreamSettings) => SharedTokens | undefined;
  /** Tells them what a server said of itself to whom it knows, by grant; undefined: it lets that user in no more. */
  readonly told: (upstream: UpstreamSettings, ...told: Parameters<Share>) => void;
  /** Connections of single users and sessions, each of which one replica has; undefined as above. */
  readonly homes: Homes | undefined;
}

/** A request on the connection of one user or session, to be made by whichever replica has that. */
export interface OwnRequest {
  readonly upstream: string;
  readonly party: Party;
  /** On whichever connection of that user. */
  readonly any: boolean;
  /** Undefined: only what the handshake settled is wanted. */
  readonly method: string | undefined;
  readonly params: JsonObject | undefined;
  readonly options: CallOptions | undefined;
}

/**
 * Which replica has the connection of a user or session to an upstream. What such a server remembers is worth something
 * only where all requests of that user reach the same one.
 */
export interface Homes {
  /**
   * Runs `here` where the connection of that name is this replica's, or nobody's until now; else asks the one that has it.
   * While nobody can be asked, `here` runs. `isOpen`: whether this replica has it still.
   */
  run(
    name: string,
    request: OwnRequest,
    own: { here(): Promise<JsonObject>; isOpen(): boolean },
  ): Promise<JsonObject>;
}
