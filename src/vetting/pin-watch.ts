import type { Log } from '../base/log.ts';
import type { UpstreamPart } from '../catalog/part.ts';
import type { Swap } from '../catalog/snapshot.ts';
import type { VettingFinding } from './finding.ts';
import type { LockState } from './lock.ts';
import { asSaid } from './offered.ts';
import { lockFindings } from './pins.ts';

export interface PinWatchOptions {
  readonly lock: LockState;
  readonly onChange: () => 'allow' | 'warn';
  readonly log: Log;
}

/** Parts of one catalog; another catalog has another one. */
type Parts = ReadonlyMap<string, UpstreamPart>;

/** Watches a running gateway for what differs from what is approved. Each difference is logged once. */
export class PinWatch {
  readonly #options: PinWatchOptions;
  #lock: LockState;
  /** By part: one that is the same object says the same. */
  #judged = new WeakMap<UpstreamPart, readonly VettingFinding[]>();
  #logged: ReadonlySet<string> = new Set();

  constructor(options: PinWatchOptions) {
    this.#options = options;
    this.#lock = options.lock;
  }

  /** Another lock file, and whatever else `change` brings, hold from here on. */
  renewed<T>(lock: LockState, change: () => T, store: { readonly current: { readonly parts: Parts } }): T {
    this.#lock = lock;
    this.#judged = new WeakMap();
    const changed = change();
    this.#review(store.current.parts);
    return changed;
  }

  /** One catalog is in the place of another. What is one user's own is not pinned. */
  swapped({ after, owner }: Pick<Swap, 'after' | 'owner'>): void {
    if (owner === undefined) {
      this.#review(after.parts);
    }
  }

  /** How these differ from what is approved; nothing where nothing was ever pinned, or any difference is allowed. */
  findings(parts: Parts): readonly VettingFinding[] {
    if (this.#lock === undefined || this.#options.onChange() === 'allow') {
      return [];
    }
    return 'fault' in this.#lock
      ? lockFindings(this.#lock, [])
      : [...parts.values()].flatMap((part) => this.#findingsOf(part));
  }

  /** Logs what is new since the last time. A difference that went and comes again is new. */
  #review(parts: Parts): void {
    const findings = this.findings(parts);
    const names = new Map(findings.map((each) => [nameOf(each), each]));
    for (const [name, { upstream, kind, id, item, reason, severity }] of names) {
      if (!this.#logged.has(name)) {
        const level = severity === 'notice' ? 'info' : severity === 'error' ? 'error' : 'warn';
        this.#options.log[level]({ upstream, kind, finding: id, item, reason }, 'finding');
      }
    }
    this.#logged = new Set(names.keys());
  }

  #findingsOf(part: UpstreamPart): readonly VettingFinding[] {
    const findings = this.#judged.get(part) ?? lockFindings(this.#lock, [asSaid(part)]);
    this.#judged.set(part, findings);
    return findings;
  }
}

function nameOf({ upstream, kind, id, item, reason }: VettingFinding): string {
  return JSON.stringify([upstream, kind, id, item, reason]);
}
