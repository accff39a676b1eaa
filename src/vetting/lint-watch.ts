import type { Log } from '../base/log.ts';
import { after } from '../base/time.ts';
import type { UpstreamPart } from '../catalog/part.ts';
import { KINDS } from '../protocol/model.ts';
import type { VettingFinding } from './finding.ts';
import { Judged } from './judged.ts';
import { linting } from './lint.ts';
import { findingName, logFindings } from './log-findings.ts';
import { asServed } from './offered.ts';

/** Longest piece of work at a time, in ms. */
const SLICE_MS = 4;
/**
 * How much longer than a piece of work what serves requests has for itself after it: a quarter of the processor goes into
 * looking where there is nothing else to do, a twentieth where requests have kept it busy for that share of the time.
 */
const REST = 3;
const LONG_REST = 19;
const BUSY = 0.3;

export interface LintWatchOptions {
  /** What an upstream tells everybody for the model; undefined where it is not passed on. */
  readonly instructions: (upstream: string) => string | undefined;
  readonly log: Log;
}

type Parts = ReadonlyMap<string, UpstreamPart>;

/**
 * Looks, in a running gateway, for what is odd in what servers say of themselves: after each change, a few milliseconds at
 * a time, and of what changed alone. Each finding is logged once; notices at the level `debug`.
 */
export class LintWatch {
  readonly #options: LintWatchOptions;
  readonly #judged = new Judged();
  #found: readonly VettingFinding[] = [];
  #logged: ReadonlySet<string> = new Set();
  /** What the last look began with, and what is to be looked at after it. */
  #seen: Parts = new Map();
  #told: ReadonlyMap<string, string | undefined> = new Map();
  #next: Parts | undefined;
  #cancel: (() => void) | undefined;
  /** When the last piece of work was over. */
  #rested = performance.eventLoopUtilization();

  constructor(options: LintWatchOptions) {
    this.#options = options;
  }

  /** These are served from now on. */
  look(parts: Parts): void {
    this.#next = parts;
    this.#cancel ??= after(0, () => this.#begin());
  }

  /** What the last look found about what is there still. */
  findings(parts: Parts): readonly VettingFinding[] {
    return this.#found.filter(({ upstream }) => parts.has(upstream));
  }

  close(): void {
    this.#cancel?.();
    // Never undefined again: nothing begins any more.
    this.#cancel = () => {};
  }

  #begin(): void {
    const parts = this.#next;
    this.#next = undefined;
    const told = new Map([...(parts?.keys() ?? [])].map((id) => [id, this.#options.instructions(id)]));
    const isTold = [...told].every(([id, text]) => this.#told.get(id) === text);
    if (parts === undefined || (isTold && saysTheSame(parts, this.#seen))) {
      this.#cancel = undefined;
      return;
    }
    this.#seen = parts;
    this.#told = told;
    const offers = [...parts.values()].map((part) => asServed(part, told.get(part.upstream)));
    this.#work(linting(offers, this.#judged));
  }

  #work(run: Generator<undefined, readonly VettingFinding[]>): void {
    const { utilization } = performance.eventLoopUtilization(this.#rested);
    const begun = performance.now();
    let spent = 0;
    while (spent < SLICE_MS) {
      const step = run.next();
      if (step.done === true) {
        this.#done(step.value);
        return;
      }
      spent = performance.now() - begun;
    }
    this.#rested = performance.eventLoopUtilization();
    this.#cancel = after((utilization > BUSY ? LONG_REST : REST) * spent, () => this.#work(run));
  }

  #done(found: readonly VettingFinding[]): void {
    this.#found = found;
    const news = found.filter((each) => !this.#logged.has(findingName(each)));
    logFindings(this.#options.log, news, 'debug');
    this.#logged = new Set(found.map(findingName));
    // Whatever changed meanwhile.
    this.#cancel = after(0, () => this.#begin());
  }
}

/** Lists that were read again and say the same are the same objects. */
function saysTheSame(one: Parts, other: Parts): boolean {
  return (
    one.size === other.size &&
    [...one].every(([upstream, { lists }]) => {
      const before = other.get(upstream)?.lists;
      return before !== undefined && KINDS.every((kind) => lists[kind]?.items === before[kind]?.items);
    })
  );
}
