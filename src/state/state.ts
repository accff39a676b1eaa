import type { RateLimiterAbstract } from 'rate-limiter-flexible';

/**
 * What the replicas of one gateway share, and how they reach each other. Alone it is in memory, else in Redis or Valkey.
 * Every operation is bounded in time and rejects with STATE_DOWN while nothing can be reached: whoever uses it goes on
 * with what this process knows by itself. Nothing here is trusted to be secret: values that are have to be sealed.
 */
export interface State {
  /** Of this process, new at each start: 12 characters of `A-Z a-z 0-9 _ -`. */
  readonly replica: string;
  /** Whether there can be other replicas. */
  readonly shared: boolean;
  readonly health: () => StateHealth;
  get(key: string): Promise<string | undefined>;
  /** Kept for `ttlMs`. */
  put(key: string, value: string, ttlMs: number): Promise<void>;
  /** Puts `value` where there is none, for `ttlMs`. Resolves with the value that holds: this one, or an earlier one. */
  claim(key: string, value: string, ttlMs: number): Promise<string>;
  /** Keeps it for another `ttlMs`, where it still has this value: then true. */
  renew(key: string, value: string, ttlMs: number): Promise<boolean>;
  /** Forgets it where it has this value. */
  drop(key: string, value: string): Promise<void>;
  /** Adds members to a set, each until its time in ms since the epoch; the set keeps the `most` that last longest. */
  note(set: string, members: ReadonlyMap<string, number>, most: number): Promise<void>;
  /** All members of a set whose time has not come. */
  noted(set: string): Promise<ReadonlyMap<string, number>>;
  /** Counts for all replicas together; for this one alone while nothing can be reached. */
  limiter(name: string, points: number, seconds: number): Limiter;
  /** To everybody who hears it now, in order, at most once. Resolves with how many those are. */
  publish(channel: string, text: string): Promise<number>;
  /** From now on, across interruptions, in which texts are lost. Not to be taken back: it lasts as long as this. */
  hear(channel: string, heard: (text: string) => void): void;
  /** `run` gets true when it can be reached, at first and again, and false when it cannot be reached any more. */
  onReach(run: (reached: boolean) => void): void;
  /** Begins to connect; returns at once. */
  start(): void;
  /** Idempotent. */
  close(): Promise<void>;
}

export type Limiter = RateLimiterAbstract;

/** `connecting`: not reached yet, and not given up for the first time. */
export interface StateHealth {
  readonly type: 'memory' | 'redis';
  readonly status: 'ok' | 'connecting' | 'down';
  /** When that began, in ms since the epoch. */
  readonly since: number;
  /** What is wrong, in words that hold no secret. */
  readonly lastError?: string;
  /** Messages that were heard there and count as unsaid, where there were any: forged, repeated, or kept too long. */
  readonly refused?: Readonly<Record<string, number>>;
}
