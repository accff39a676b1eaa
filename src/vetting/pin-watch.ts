import type { Log } from '../base/log.ts';
import type { UpstreamPart } from '../catalog/part.ts';
import type { VettingFinding } from './finding.ts';
import type { LockState } from './lock.ts';
import { findingName, logFindings } from './log-findings.ts';
import { asSaid } from './offered.ts';
import { lockFindings } from './pins.ts';
import type { OnChange } from './quarantine.ts';

export interface PinWatchOptions {
  readonly lock: LockState;
  readonly onChange: (upstream: string) => OnChange;
  /** The same for the lock file as a whole. */
  readonly strictest: () => OnChange;
  /** What an upstream tells everybody for the model; undefined where it is not passed on. */
  readonly instructions: (upstream: string) => string | undefined;
  readonly log: Log;
}

/** Parts of one catalog; another catalog has another one. */
type Parts = ReadonlyMap<string, UpstreamPart>;

/** Differences in lists of single users that were logged already; beyond, they are the same ones or nobody reads them. */
const MOST_OWN = 1_000;

/** Watches a running gateway for what differs from what is approved. Each difference is logged once. */
export class PinWatch {
  readonly #options: PinWatchOptions;
  #lock: LockState;
  /** By part, with the instructions that came with it: one that is the same object says the same. */
  #judged = new WeakMap<
    UpstreamPart,
    { readonly told: string | undefined; readonly findings: readonly VettingFinding[] }
  >();
  #logged: ReadonlySet<string> = new Set();
  readonly #loggedOwn = new Set<string>();

  constructor(options: PinWatchOptions) {
    this.#options = options;
    this.#lock = options.lock;
  }

  get lock(): LockState {
    return this.#lock;
  }

  /** Another lock file holds from here on. */
  renew(lock: LockState): void {
    this.#lock = lock;
    this.#judged = new WeakMap();
    this.#loggedOwn.clear();
  }

  /** How these differ from what is approved; nothing of those where any difference is allowed. */
  findings(parts: Parts): readonly VettingFinding[] {
    const { onChange, strictest } = this.#options;
    if (this.#lock === undefined || 'fault' in this.#lock) {
      const mode = strictest();
      return mode === 'allow' ? [] : lockFindings(this.#lock, [], mode);
    }
    return [...parts.values()].flatMap((part) =>
      onChange(part.upstream) === 'allow' ? [] : this.#findingsOf(part),
    );
  }

  /** Logs what is new since the last time. A difference that went and comes again is new. */
  review(parts: Parts): void {
    const names = new Map(this.findings(parts).map((each) => [findingName(each), each]));
    const news = [...names].filter(([name]) => !this.#logged.has(name)).map(([, each]) => each);
    logFindings(this.#options.log, news, 'info');
    this.#logged = new Set(names.keys());
  }

  /** The same for the lists of one user, each difference once for all users. Servers of which nothing is approved say nothing. */
  reviewOwn(parts: Parts): void {
    const lock = this.#lock;
    if (lock === undefined || 'fault' in lock) {
      return;
    }
    for (const part of parts.values()) {
      const isWatched = lock.lock.has(part.upstream) && this.#options.onChange(part.upstream) !== 'allow';
      const found = isWatched ? this.#findingsOf(part) : [];
      const news = found.filter(({ id }) => id !== 'pin.removed' && id !== 'pin.renamed');
      const unlogged = news.filter(
        (each) => !this.#loggedOwn.has(findingName(each)) && !this.#logged.has(findingName(each)),
      );
      if (unlogged.length > 0 && this.#loggedOwn.size < MOST_OWN) {
        for (const each of unlogged) {
          this.#loggedOwn.add(findingName(each));
        }
        logFindings(this.#options.log, unlogged, 'info');
      }
    }
  }

  #findingsOf(part: UpstreamPart): readonly VettingFinding[] {
    const told = this.#options.instructions(part.upstream);
    const known = this.#judged.get(part);
    if (known !== undefined && known.told === told) {
      return known.findings;
    }
    const findings = lockFindings(this.#lock, [asSaid(part, told)]);
    this.#judged.set(part, { told, findings });
    return findings;
  }
}
