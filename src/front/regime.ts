import { type Authenticate, letInStill } from '../access/authenticate.ts';
import { type Access, createPolicy, type Policy } from '../access/policy.ts';
import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../config/settings.ts';
import type { Entrance } from '../relay/context.ts';
import { type Door, entranceTo, requireEntrance } from './entrance.ts';

/** Who speaks, where, and what they may use there: by one configuration. */
export interface Standing {
  readonly principal: Principal;
  readonly access: Access;
  readonly entrance: Entrance;
  readonly log: Log;
  /** What they asked for, and the sign-in that let them in: what is looked at again when the configuration changes. */
  readonly door: Door;
  /** By whose word. */
  readonly regime: Regime;
}

/**
 * What one configuration says about clients: built whole and replaced whole, so that nobody is judged by half of a change.
 * A request is judged by the one it came in under; whatever outlives a request asks {@link Regime.now}.
 */
export class Regime {
  readonly settings: Settings;
  readonly authenticate: Authenticate;
  readonly #accessOf: Policy;
  /** Where those stand now who were let in by others. */
  readonly #known = new WeakMap<Standing, { readonly now: Standing | undefined }>();
  readonly #entrances = new Map<string, Entrance>();

  constructor(settings: Settings, authenticate: Authenticate) {
    this.settings = settings;
    this.authenticate = authenticate;
    this.#accessOf = createPolicy(settings);
  }

  /** Throws ENDPOINT_UNKNOWN where there is nothing behind this door, or nothing that this principal may see. */
  admit(principal: Principal, door: Door, log: Log): Standing {
    const entrance = this.#entranceTo(door);
    const access = this.#accessOf(principal);
    requireEntrance(entrance, access);
    return { principal, access, entrance, log, door, regime: this };
  }

  /**
   * Where somebody stands by this configuration who was let in by another one. Undefined: what they came with is worth
   * nothing any more, or what they were let into is not there any more, or not for them.
   */
  now(standing: Standing): Standing | undefined {
    if (standing.regime === this) {
      return standing;
    }
    const known = this.#known.get(standing) ?? { now: this.#again(standing) };
    this.#known.set(standing, known);
    return known.now;
  }

  /** Made once for each: only what is there has one, so there are few. */
  #entranceTo(door: Door): Entrance {
    // No name of an endpoint has a space in it.
    const key = `${door.names ?? ''} ${door.name ?? ''}`;
    const entrance = this.#entrances.get(key) ?? entranceTo(this.settings, door);
    this.#entrances.set(key, entrance);
    return entrance;
  }

  #again({ principal, regime, door, log, entrance }: Standing): Standing | undefined {
    const same = letInStill(principal, regime.settings.auth, this.settings.auth);
    if (same === undefined) {
      return undefined;
    }
    try {
      const next = this.admit(same, door, log);
      // Sessions and cursors are bound to the entrance: another one of the same name is another place.
      return next.entrance.id === entrance.id ? next : undefined;
    } catch (thrown) {
      if (thrown instanceof GatewayError && thrown.code === 'ENDPOINT_UNKNOWN') {
        return undefined;
      }
      throw thrown;
    }
  }
}
