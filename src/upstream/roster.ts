import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Implementation } from '../protocol/model.ts';
import type { CallOptions } from './call.ts';
import type { Terms } from './connection.ts';
import type { Party } from './party.ts';
import type { Replicas } from './replicas.ts';
import { Seat, type SeatEvents } from './seat.ts';
import { Succession } from './succession.ts';
import type { Supervisor } from './supervisor.ts';

/** An upstream that does not serve yet, as far as its lists are read from it. */
export interface Beside {
  termsFor(upstream: string, party: Party | undefined): Promise<Terms | undefined>;
  reach(upstream: string): { readonly own: boolean };
  settings(upstream: string): UpstreamSettings;
  request(
    upstream: string,
    method: string,
    params: JsonObject,
    options: CallOptions,
    party?: Party,
  ): Promise<JsonObject>;
}

/** How the upstreams of one configuration become those of another. */
export interface Rebuilding {
  /** Whether an upstream that runs by the first settings has to be started anew for the second. */
  readonly restarts: (running: UpstreamSettings, next: UpstreamSettings) => boolean;
  /** For calls under way at what goes, in ms. */
  readonly graceMs: number;
  /** Reads the lists of a successor. Resolves with how to put them in place; never rejects. */
  readonly prepare: (upstream: string, beside: Beside) => Promise<() => void>;
  /** A successor serves from here on: what is kept of its predecessor is out of date. `read`: its lists follow at once. */
  readonly succeeded: (upstream: string, read: boolean) => void;
}

export interface Member {
  /** What holds of it now: more than its seat is made by, where some of that can change while it runs. */
  settings: UpstreamSettings;
  seat: Seat;
  succession: Succession | undefined;
}

export interface RosterOptions {
  readonly upstreams: Readonly<Record<string, UpstreamSettings>>;
  readonly clientInfo: Implementation;
  readonly log: Log;
  readonly replicas?: Replicas | undefined;
  /** Who hears of an upstream while it serves. */
  readonly hearing: (id: string) => SeatEvents;
  /** It serves from here on, new or in the place of another. */
  readonly serves: (id: string, supervisor: Supervisor) => void;
}

/** Which upstreams there are, who serves under each id, and how that becomes another. */
export class Roster {
  readonly #options: RosterOptions;
  /** In the order of the configuration. */
  #members = new Map<string, Member>();
  /** What was replaced or removed, and still drains. */
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: RosterOptions) {
    this.#options = options;
    for (const settings of Object.values(options.upstreams)) {
      this.#members.set(settings.id, this.#create(settings));
    }
  }

  get members(): ReadonlyMap<string, Member> {
    return this.#members;
  }

  get supervisors(): readonly Supervisor[] {
    return [...this.#members.values()].map(({ seat }) => seat.supervisor);
  }

  /**
   * Names, order and whatever else can change while an upstream runs are those of these settings at once; what is gone
   * drains. The returned function starts what is new, and beside what has changed its successor.
   */
  rebuild(upstreams: Readonly<Record<string, UpstreamSettings>>, how: Rebuilding): () => void {
    const before = this.#members;
    const starts: (() => void)[] = [];
    this.#members = new Map();
    for (const settings of Object.values(upstreams)) {
      const { id } = settings;
      const known = before.get(id);
      if (known === undefined || known.settings.enabled !== settings.enabled) {
        const member = this.#create(settings);
        this.#members.set(id, member);
        starts.push(() => this.#start(id, member));
        continue;
      }
      before.delete(id);
      known.settings = settings;
      this.#members.set(id, known);
      if (how.restarts((known.succession?.seat ?? known.seat).settings, settings)) {
        starts.push(() => this.#replace(id, known, how));
      }
    }
    for (const { seat, succession } of before.values()) {
      this.#leave(seat.retire(how.graceMs));
      this.#abandon(succession);
    }
    return () => {
      for (const start of starts) {
        start();
      }
    };
  }

  /** Resolves when no successor is being waited for and nothing drains. */
  async quiet(): Promise<void> {
    const pending = () => [...this.#members.values()].flatMap(({ succession }) => succession?.done ?? []);
    while (pending().length > 0 || this.#leaving.size > 0) {
      await Promise.all([...pending(), ...this.#leaving]);
    }
  }

  /** Ends every connection and child process within `graceMs`. Idempotent. */
  async close(graceMs: number): Promise<void> {
    for (const { succession } of this.#members.values()) {
      this.#abandon(succession);
    }
    await Promise.all([...this.supervisors.map((each) => each.close(graceMs)), ...this.#leaving]);
  }

  #create(settings: UpstreamSettings): Member {
    const seat = new Seat(settings, this.#options);
    seat.hears = this.#options.hearing(settings.id);
    return { settings, seat, succession: undefined };
  }

  #start(id: string, { seat }: Member): void {
    seat.supervisor.start();
    this.#options.serves(id, seat.supervisor);
  }

  #replace(id: string, member: Member, how: Rebuilding): void {
    this.#abandon(member.succession);
    member.succession = undefined;
    if (!how.restarts(member.seat.settings, member.settings)) {
      // It was changed, and changed back before that had come to anything.
      return;
    }
    const seat = new Seat(member.settings, this.#options);
    member.succession = new Succession({
      seat,
      prepare: () => how.prepare(id, besideOf(seat.supervisor, member)),
      succeed: (install) => {
        const predecessor = member.seat;
        member.seat = seat;
        member.succession = undefined;
        seat.hears = this.#options.hearing(id);
        this.#leave(predecessor.retire(how.graceMs));
        how.succeeded(id, install !== undefined);
        install?.();
        this.#options.serves(id, seat.supervisor);
      },
    });
    member.succession.begin();
  }

  #abandon(succession: Succession | undefined): void {
    if (succession !== undefined) {
      this.#leave(succession.abandon());
    }
  }

  #leave(gone: Promise<void>): void {
    const left = gone
      .catch((thrown: unknown) => this.#options.log.warn({ err: thrown }, 'an upstream did not end well'))
      .finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }
}

function besideOf(supervisor: Supervisor, member: Member): Beside {
  return {
    termsFor: (_, party) => supervisor.termsFor(party),
    reach: () => ({ own: supervisor.own }),
    settings: () => member.settings,
    request: (_, method, params, options, party) => supervisor.request(method, params, options, party),
  };
}
