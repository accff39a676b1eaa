/** How a value and a schema go together. unsure: a part of the schema that bears on it could not be judged. */
export const FITS = 1;
export const FAILS = 0;
export const UNSURE = 2;
export type Outcome = typeof FITS | typeof FAILS | typeof UNSURE;

/** A compiled schema, or a compiled keyword of one. */
export type Check = (value: unknown, run: Run) => Outcome;

/** One thing that is wrong with a value. */
export interface Problem {
  /** Member names and indices that lead to it from the value that was checked. */
  readonly path: readonly (string | number)[];
  /** missing: a required member is not there. unknown: a member is there that may not be. */
  readonly kind: 'missing' | 'unknown' | 'value';
  /** What was expected and what came, or which names there are; without the path. */
  readonly says: string;
}

/** Schemas within schemas and values within values, together: what the stack bears many times over. */
const DEEPEST = 1_000;

/** Thrown where a check would take more work, or go deeper, than it may. Nobody knows then whether the value fits. */
export class Exhausted extends Error {}

/**
 * One check of one value: what it may cost, where it is, and what it found. Without a list for the problems it ends at the
 * first of them.
 */
export class Run {
  #steps: number;
  #depth = 0;
  readonly #all: Problem[] = [];
  /** Where problems are noted just now, if anywhere. */
  #problems: Problem[] | undefined;
  readonly #path: (string | number)[] = [];
  readonly #most: number;

  /** `steps`: of about 50 ns each. `most`: problems to collect. */
  constructor(steps: number, most = 0) {
    this.#steps = steps;
    this.#most = most;
    this.#problems = most === 0 ? undefined : this.#all;
  }

  get problems(): readonly Problem[] {
    return this.#all;
  }

  /** Whether problems are wanted, and room for another one: else the first of them decides. */
  get collects(): boolean {
    return this.#problems !== undefined && this.#problems.length < this.#most;
  }

  /** Throws {@link Exhausted} where that is more than is left. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) {
      throw new Exhausted('out of steps');
    }
  }

  /** Whether that much work is left; nothing is spent where it is not. */
  affords(steps: number): boolean {
    if (this.#steps < steps) {
      return false;
    }
    this.#steps -= steps;
    return true;
  }

  enter(): void {
    this.spend(1);
    this.#depth += 1;
    if (this.#depth > DEEPEST) {
      throw new Exhausted('too deep');
    }
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** Checks a member of the value. */
  at(key: string | number, member: unknown, check: Check): Outcome {
    if (this.#problems === undefined) {
      return check(member, this);
    }
    this.#path.push(key);
    const outcome = check(member, this);
    this.#path.pop();
    return outcome;
  }

  /** Notes what is wrong here; `says` is asked only where somebody wants to know. */
  fails(says: () => string, kind: Problem['kind'] = 'value', key?: string): typeof FAILS {
    if (this.collects) {
      const path = key === undefined ? [...this.#path] : [...this.#path, key];
      this.#problems?.push({ path, kind, says: says() });
    }
    return FAILS;
  }

  /** Checks without noting anything: where it is the sum that counts. */
  quietly(check: Check, value: unknown): Outcome {
    const kept = this.#problems;
    this.#problems = undefined;
    const outcome = check(value, this);
    this.#problems = kept;
    return outcome;
  }

  /** What one check alone finds wrong, noted nowhere. */
  problemsOf(check: Check, value: unknown): readonly Problem[] {
    const kept = this.#problems;
    const found: Problem[] = [];
    this.#problems = found;
    check(value, this);
    this.#problems = kept;
    return found;
  }

  /** Takes over what {@link problemsOf} found. */
  note(problems: readonly Problem[]): typeof FAILS {
    for (const problem of problems) {
      if (this.collects) {
        this.#problems?.push(problem);
      }
    }
    return FAILS;
  }

  /** Names and indices from the value that was checked to the one that is being checked. */
  get level(): number {
    return this.#path.length;
  }
}

/** Both have to fit. */
export function both(one: Outcome, other: Outcome): Outcome {
  return one === FAILS || other === FAILS ? FAILS : one === UNSURE || other === UNSURE ? UNSURE : FITS;
}
