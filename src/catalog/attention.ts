import type { Principal } from '../access/principal.ts';
import type { Change } from '../protocol/model.ts';
import type { Caller, Duty } from './scoping.ts';
import { type Catalog, changesBetween, type Swap } from './snapshot.ts';

/** The principal that is listened for, with its own lists. */
export interface Attended<C> {
  readonly principal: Principal;
  readonly catalog: Catalog;
  /** Nothing is known of this list: neither what it holds, nor that it cannot be read. */
  isUnread(duty: Duty): boolean;
  /** When it is to be read, or let go. */
  nextAt(duty: Duty): number;
  /** Lets go of what was stale for too long. */
  expire(duty: Duty): void;
  read(duty: Duty, caller: C): Promise<void>;
  /** Nobody listens any more. */
  rest(): void;
}

export interface AttentionHost {
  readonly debounceMs: () => number;
  readonly now: () => number;
  readonly schedule: (ms: number, run: () => void) => () => void;
  readonly duties: () => readonly Duty[];
  readonly shared: () => Catalog;
  /** Runs work that nobody waits for, with other work at that upstream at a bearable pace. */
  readonly later: (upstream: string, work: () => Promise<void>) => Promise<void>;
  readonly publish: (swap: Swap) => void;
}

/**
 * While somebody listens for one principal: its own lists are read when they are due or said to have changed, and it is
 * told when its catalog is another one. With nobody listening no timer runs.
 */
export class Attention<C extends Caller> {
  readonly #personal: Attended<C>;
  readonly #host: AttentionHost;
  readonly #listeners = new Set<{ readonly caller: C }>();
  readonly #working = new Set<string>();
  /** The catalog that whoever listens knows of; undefined as long as nobody can know one. */
  #announced: Catalog | undefined;
  /** What was said to have changed before that: whoever listens may have been served by another replica. */
  readonly #unannounced = new Set<Change>();
  #follows = false;
  #cancelPlan = () => {};
  #cancelTelling: (() => void) | undefined;

  constructor(personal: Attended<C>, host: AttentionHost) {
    this.#personal = personal;
    this.#host = host;
  }

  get active(): boolean {
    return this.#listeners.size > 0;
  }

  /** The last swap of the shared catalog was news here as well; otherwise it is told what is news by itself. */
  get follows(): boolean {
    return this.#follows;
  }

  /** Returns how to stop; calling that twice is fine. */
  listen(caller: C): () => void {
    const listener = { caller };
    this.#listeners.add(listener);
    if (!this.#someUnread()) {
      this.served(this.#personal.catalog);
    }
    this.#work();
    return () => {
      if (this.#listeners.delete(listener) && !this.active) {
        this.close();
        this.#personal.rest();
      }
    };
  }

  /** The principal was given this catalog. */
  served(catalog: Catalog): void {
    if (!this.active || this.#announced !== undefined) {
      return;
    }
    this.#announced = catalog;
    const changes = [...this.#unannounced];
    this.#unannounced.clear();
    if (changes.length > 0) {
      const { grant: owner } = this.#personal.principal;
      this.#host.publish({ before: this.#host.shared(), after: catalog, changes, owner });
    }
  }

  /** A list of its own is said to have changed. */
  heard(change: Change): void {
    if (this.active && this.#announced === undefined) {
      this.#unannounced.add(change);
    }
  }

  /** A list of its own is another one, or as fresh as another. */
  changed(): void {
    if (this.#announced !== undefined) {
      this.#cancelTelling ??= this.#host.schedule(this.#host.debounceMs(), () => {
        this.#cancelTelling = undefined;
        this.#tell();
      });
    }
  }

  /** A notice came: something may have to be read. */
  noticed(): void {
    this.#plan();
  }

  /** The shared catalog took the place of `before`. */
  sharedChanged(before: Catalog): void {
    if (!this.active) {
      return;
    }
    const { catalog } = this.#personal;
    const isUnread = this.#someUnread();
    this.#follows = !isUnread && this.#announced === before && catalog === this.#host.shared();
    if (this.#follows) {
      this.#announced = catalog;
    } else if (isUnread) {
      // Lists that were everybody's and now are its own: told when they are read.
      this.#work();
      return;
    }
    this.#tell();
    this.#plan();
  }

  /** Nobody listens any more: no timer runs after this. */
  close(): void {
    this.#listeners.clear();
    this.#announced = undefined;
    this.#unannounced.clear();
    this.#cancelPlan();
    this.#cancelTelling?.();
    this.#cancelTelling = undefined;
  }

  #someUnread(): boolean {
    return this.#host.duties().some((duty) => this.#personal.isUnread(duty));
  }

  #tell(): void {
    const before = this.#announced;
    if (before === undefined || !this.active) {
      return;
    }
    const after = this.#personal.catalog;
    this.#announced = after;
    const changes = changesBetween(before, after);
    if (changes.length > 0) {
      this.#host.publish({ before, after, changes, owner: this.#personal.principal.grant });
    }
  }

  /** Reads what is due, and lets go of what was stale for too long. */
  #work(): void {
    const caller = [...this.#listeners].at(-1)?.caller;
    if (caller === undefined) {
      return;
    }
    const now = this.#host.now();
    const reads = this.#host.duties().flatMap((duty) => {
      this.#personal.expire(duty);
      return this.#nextAt(duty) > now ? [] : [this.#read(duty, caller)];
    });
    this.#plan();
    if (this.#announced === undefined) {
      void Promise.all(reads).then(() => this.served(this.#personal.catalog));
    }
  }

  async #read(duty: Duty, caller: C): Promise<void> {
    const name = nameOf(duty);
    this.#working.add(name);
    await this.#host.later(duty.upstream, () => this.#personal.read(duty, caller));
    this.#working.delete(name);
    this.#plan();
  }

  /** One timer, for whatever is to be done first. */
  #plan(): void {
    this.#cancelPlan();
    if (!this.active) {
      return;
    }
    const at = Math.min(...this.#host.duties().map((duty) => this.#nextAt(duty)));
    if (at < Number.POSITIVE_INFINITY) {
      this.#cancelPlan = this.#host.schedule(Math.max(0, at - this.#host.now()), () => this.#work());
    }
  }

  /** When it is to be read, or let go. */
  #nextAt(duty: Duty): number {
    if (this.#working.has(nameOf(duty))) {
      return Number.POSITIVE_INFINITY;
    }
    return this.#personal.nextAt(duty);
  }
}

function nameOf({ upstream, kind }: Duty): string {
  return `${kind} ${upstream}`;
}
