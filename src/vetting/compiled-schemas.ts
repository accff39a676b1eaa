import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../base/json.ts';
import { compile } from './compile.ts';
import { type Check, Exhausted, FAILS, FITS, type Outcome, type Problem, Run } from './run.ts';

/** A call takes a few dozen of them. All of them take some 3 ms, which is what a hostile schema can cost a call. */
const MOST_STEPS = 50_000;
/** Problems that are told of one value. */
const MOST_PROBLEMS = 10;

/** Compiled schemas that are kept, and what they may take in all, in bytes, estimated from their text. */
const MOST_KEPT = 2_000;
const MOST_BYTES = 64 * 1024 * 1024;
const BYTES_PER_CHARACTER = 16;

/** What became of a check. unchecked: nobody can say whether the value fits, and `why`. */
export type Verdict =
  | { readonly fits: true }
  | { readonly fits: false; readonly problems: readonly Problem[] }
  | { readonly fits: undefined; readonly why: string };

const FIT: Verdict = { fits: true };

/**
 * Schemas compiled when they are first needed, and once: equal ones are the same, whichever user or upstream they came
 * with. Those that were used longest ago go first.
 */
export class CompiledSchemas {
  readonly #digests = new WeakMap<JsonObject, string>();
  readonly #compiled = new LRUCache<string, { readonly check: Check | undefined; readonly bytes: number }>({
    max: MOST_KEPT,
    maxSize: MOST_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  });

  /** How many are kept. */
  get size(): number {
    return this.#compiled.size;
  }

  /** A name that equal schemas share, and no others. */
  digest(schema: JsonObject): string {
    return this.#digests.get(schema) ?? this.#digested(schema, JSON.stringify(schema));
  }

  #digested(schema: JsonObject, text: string): string {
    const digest = createHash('sha256').update(text).digest('base64');
    this.#digests.set(schema, digest);
    return digest;
  }

  /** Whether the value fits; what is wrong with it is looked for only where it does not. */
  judge(schema: JsonObject, value: unknown): Verdict {
    const check = this.#check(schema);
    if (check === undefined) {
      return { fits: undefined, why: 'its schema is of a dialect that is not supported' };
    }
    const outcome = outcomeOf(check, value, new Run(MOST_STEPS));
    if (outcome === FITS) {
      return FIT;
    }
    if (outcome !== FAILS) {
      const why = outcome === undefined ? 'it takes too much work' : 'a part of its schema cannot be judged';
      return { fits: undefined, why };
    }
    const run = new Run(MOST_STEPS, MOST_PROBLEMS);
    outcomeOf(check, value, run);
    return { fits: false, problems: run.problems };
  }

  #check(schema: JsonObject): Check | undefined {
    const known = this.#digests.get(schema);
    const kept = known === undefined ? undefined : this.#compiled.get(known);
    if (kept !== undefined) {
      return kept.check;
    }
    const text = JSON.stringify(schema);
    const digest = known ?? this.#digested(schema, text);
    const equal = this.#compiled.get(digest);
    if (equal !== undefined) {
      return equal.check;
    }
    const check = compile(schema);
    this.#compiled.set(digest, { check, bytes: 1_000 + text.length * BYTES_PER_CHARACTER });
    return check;
  }
}

function outcomeOf(check: Check, value: unknown, run: Run): Outcome | undefined {
  try {
    return check(value, run);
  } catch (thrown) {
    if (thrown instanceof Exhausted) {
      return undefined;
    }
    throw thrown;
  }
}
