import { randomBytes } from 'node:crypto';
import { type RateLimiterAbstract, RateLimiterMemory } from 'rate-limiter-flexible';
import type { State, StateHealth } from './state.ts';

/** What several states in one process have in common: in tests each of them stands for a replica. */
export class SharedMemory {
  readonly values = new Map<string, { readonly value: string; readonly until: number }>();
  readonly sets = new Map<string, ReadonlyMap<string, number>>();
  readonly limiters = new Map<string, RateLimiterAbstract>();
  readonly channels = new Map<string, Set<(text: string) => void>>();
}

/** So many keys at most: whatever is kept here can be had again, or is known to its owner as well. */
const MOST_VALUES = 100_000;

/** A name for a replica; see {@link State.replica}. */
export function replicaName(): string {
  return randomBytes(9).toString('base64url');
}

/** The state of a gateway that is alone, or of several in one process that share a memory. Nothing here ever fails. */
export class MemoryState implements State {
  readonly replica = replicaName();
  readonly shared: boolean;
  readonly #memory: SharedMemory;
  readonly #mine: [string, (text: string) => void][] = [];
  readonly #health: StateHealth = { type: 'memory', status: 'ok', since: Date.now() };

  constructor(memory?: SharedMemory) {
    this.shared = memory !== undefined;
    this.#memory = memory ?? new SharedMemory();
  }

  readonly health = () => this.#health;

  async get(key: string): Promise<string | undefined> {
    return this.#held(key);
  }

  async put(key: string, value: string, ttlMs: number): Promise<void> {
    this.#keep(key, value, ttlMs);
  }

  async claim(key: string, value: string, ttlMs: number): Promise<string> {
    const before = this.#held(key);
    if (before === undefined) {
      this.#keep(key, value, ttlMs);
    }
    return before ?? value;
  }

  async renew(key: string, value: string, ttlMs: number): Promise<boolean> {
    const same = this.#held(key) === value;
    if (same) {
      this.#keep(key, value, ttlMs);
    }
    return same;
  }

  async drop(key: string, value: string): Promise<void> {
    if (this.#held(key) === value) {
      this.#memory.values.delete(key);
    }
  }

  async note(name: string, members: ReadonlyMap<string, number>, most: number): Promise<void> {
    const all = [...new Map([...(this.#memory.sets.get(name) ?? []), ...members])];
    const lasting = all.filter(([, until]) => until > Date.now()).toSorted(([, a], [, b]) => a - b);
    this.#memory.sets.set(name, new Map(lasting.slice(-most)));
  }

  async noted(name: string): Promise<ReadonlyMap<string, number>> {
    const now = Date.now();
    return new Map([...(this.#memory.sets.get(name) ?? [])].filter(([, until]) => until > now));
  }

  limiter(name: string, points: number, seconds: number): RateLimiterAbstract {
    const { limiters } = this.#memory;
    const key = `${name}/${points}/${seconds}`;
    // The counts of others go on in one that is there already; alone, another rate begins anew.
    const known = this.shared ? limiters.get(key) : undefined;
    const limiter = known ?? new RateLimiterMemory({ keyPrefix: name, points, duration: seconds });
    if (this.shared) {
      limiters.set(key, limiter);
    }
    return limiter;
  }

  async publish(channel: string, text: string): Promise<number> {
    const listeners = [...(this.#memory.channels.get(channel) ?? [])];
    for (const heard of listeners) {
      // As from a socket: never before whoever published it goes on.
      setImmediate(heard, text);
    }
    return listeners.length;
  }

  hear(channel: string, heard: (text: string) => void): void {
    const { channels } = this.#memory;
    channels.set(channel, (channels.get(channel) ?? new Set()).add(heard));
    this.#mine.push([channel, heard]);
  }

  onReach(run: (reached: boolean) => void): void {
    run(true);
  }

  start(): void {}

  async close(): Promise<void> {
    for (const [channel, heard] of this.#mine.splice(0)) {
      this.#memory.channels.get(channel)?.delete(heard);
    }
  }

  #held(key: string): string | undefined {
    const { values } = this.#memory;
    const entry = values.get(key);
    if (entry !== undefined && entry.until <= Date.now()) {
      values.delete(key);
      return undefined;
    }
    return entry?.value;
  }

  #keep(key: string, value: string, ttlMs: number): void {
    const { values } = this.#memory;
    values.delete(key);
    values.set(key, { value, until: Date.now() + ttlMs });
    const [oldest] = values.keys();
    if (values.size > MOST_VALUES && oldest !== undefined) {
      values.delete(oldest);
    }
  }
}
