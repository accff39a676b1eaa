import type { Principal } from '../access/principal.ts';
import { after } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Connection } from './connection.ts';
import type { Party } from './party.ts';
import type { Standing } from './standing.ts';

/** One connection of the pool, with whoever it is for. */
export class Member {
  /** Under which the pool has it. */
  key: string;
  /** What its calls sign in with belongs to this; see {@link grantFor}. */
  readonly grant: string;
  /** It is one session's, and ends with it. */
  readonly ofSession: boolean;
  readonly sessions = new Set<string>();
  readonly opened: Promise<Connection>;
  /** Resolves when nobody should begin anything on it any more. */
  readonly ended: Promise<void>;
  #party: Party;
  #user: Principal;
  #users = 0;
  #over = false;
  #end = () => {};
  #cancelIdle = () => {};
  #cancelExpiry = () => {};

  constructor(
    about: { key: string; grant: string; ofSession: boolean; party: Party },
    open: () => Promise<Connection>,
  ) {
    this.key = about.key;
    this.grant = about.grant;
    this.ofSession = about.ofSession;
    this.#party = about.party;
    this.#user = about.party.principal;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    // After everything else is there: what opens it looks at it.
    this.opened = Promise.resolve().then(open);
  }

  /** Whoever used it last: questions go there. */
  get party(): Party {
    return this.#party;
  }

  /** The user, as of the sign-in that lasts longest. */
  get user(): Principal {
    return this.#user;
  }

  get users(): number {
    return this.#users;
  }

  /** It is used for this party now. `expired` is called when the last sign-in of its user has ended. */
  serve(party: Party, expired: () => void): void {
    this.#party = party;
    if (party.session !== undefined) {
      this.sessions.add(party.session);
    }
    this.renew(party.principal, expired);
  }

  /** Its user has come again, perhaps with a newer token. */
  renew(user: Principal, expired: () => void): void {
    const { expires } = user;
    if (lasts(expires) >= lasts(this.#user.expires)) {
      this.#user = user;
      this.#cancelExpiry();
      this.#cancelExpiry = expires === undefined ? () => {} : after(expires - Date.now(), expired);
    }
  }

  /** `idle` is called when the last user has left, and returns how to take back what it began. */
  enter(idle: () => (() => void) | undefined): () => void {
    this.#users += 1;
    this.#cancelIdle();
    let inside = true;
    return () => {
      if (inside) {
        inside = false;
        this.#users -= 1;
        this.#cancelIdle = (this.#users === 0 ? idle() : undefined) ?? (() => {});
      }
    };
  }

  end(): void {
    if (!this.#over) {
      this.#over = true;
      this.#cancelIdle();
      this.#cancelExpiry();
      this.#end();
    }
  }
}

function lasts(expires: number | undefined): number {
  return expires ?? Number.POSITIVE_INFINITY;
}

/**
 * Whoever may share what was got for this user: the same user with the same rights. Where everybody signs in alike, that
 * is the user however signed in.
 */
export function grantFor({ key, grant }: Principal, standing: Standing | undefined): string {
  return standing === undefined ? key : grant;
}

/**
 * Under which a connection for this party is found. A legacy one is of one kind of client, since it declares that
 * client's capabilities; to a modern one they go with each request, so it serves every client of its user.
 */
export function keyFor(
  { principal, session, info, capabilities }: Party,
  { settings, standing }: { settings: UpstreamSettings; standing: Standing | undefined },
): string {
  const owner = [grantFor(principal, standing), settings.isolation === 'session' ? (session ?? null) : null];
  return standing?.terms?.era === 'modern'
    ? JSON.stringify(owner)
    : JSON.stringify([...owner, info.name, capabilities]);
}
