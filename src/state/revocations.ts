import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Peers } from './peers.ts';
import type { State } from './state.ts';

const SET = 'ended-sessions';
const TOPIC = 'session-ended';

export interface RevocationsOptions {
  readonly state: State;
  readonly peers: Peers;
  /** Most that are remembered. */
  readonly most: () => number;
  /** Sessions that other replicas have ended, or that were ended before this one started, each until its time. */
  readonly ended: (sessions: ReadonlyMap<string, number>) => void;
  readonly log: Log;
}

/**
 * Sessions that were ended: told to every replica at once, and kept in the shared state, which is read whenever it is
 * reached again. So no request has to ask for it. What could not be said is said as soon as it can be.
 */
export class Revocations {
  readonly #options: RevocationsOptions;
  readonly #unsaid = new Map<string, number>();

  constructor(options: RevocationsOptions) {
    this.#options = options;
    const { state, peers } = options;
    if (state.shared) {
      peers.onTold(TOPIC, (body) => options.ended(sessionsOf(body)));
      state.onReach((reached) => {
        if (reached) {
          void this.#catchUp();
        }
      });
    }
  }

  /** A session was ended here. */
  add(sid: string, until: number): void {
    const { state, most } = this.#options;
    if (state.shared) {
      this.#unsaid.set(sid, until);
      const [oldest] = this.#unsaid.keys();
      if (this.#unsaid.size > most() && oldest !== undefined) {
        this.#unsaid.delete(oldest);
      }
      void this.#say();
    }
  }

  async #say(): Promise<void> {
    const { state, peers, most, log } = this.#options;
    const said = new Map(this.#unsaid);
    if (said.size === 0) {
      return;
    }
    peers.tell(TOPIC, { sessions: Object.fromEntries(said) });
    try {
      await state.note(SET, said, most());
      for (const sid of said.keys()) {
        this.#unsaid.delete(sid);
      }
    } catch (thrown) {
      log.debug({ err: thrown, sessions: said.size }, 'ended sessions are told to the others later');
    }
  }

  async #catchUp(): Promise<void> {
    const { state, ended, log } = this.#options;
    await this.#say();
    try {
      ended(await state.noted(SET));
    } catch (thrown) {
      log.debug({ err: thrown }, 'ended sessions could not be read');
    }
  }
}

function sessionsOf({ sessions }: JsonObject): ReadonlyMap<string, number> {
  // Sealed by `#say` of another replica, which has this type.
  return new Map(Object.entries(sessions as Record<string, number>));
}
