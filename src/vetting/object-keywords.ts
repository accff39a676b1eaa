import { isObject, type JsonObject } from '../base/json.ts';
import { nearest } from '../base/nearest.ts';
import { UNKNOWN } from './assertions.ts';
import type { Compiling } from './compiling.ts';
import { quoted } from './finding.ts';
import { LinearPattern } from './linear-pattern.ts';
import { both, type Check, FAILS, FITS, type Outcome, type Run, UNSURE } from './run.ts';

export function required({ required: names }: JsonObject): Check | undefined {
  if (names === undefined) {
    return undefined;
  }
  if (!isTexts(names)) {
    return UNKNOWN;
  }
  return (value, run) => {
    let outcome: Outcome = FITS;
    for (const name of isObject(value) ? names : []) {
      run.spend(1);
      if (!Object.hasOwn(value as JsonObject, name)) {
        outcome = run.fails(() => 'required, but missing', 'missing', name);
        if (!run.collects) {
          return FAILS;
        }
      }
    }
    return outcome;
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

interface Members {
  readonly named: ReadonlyMap<string, Check>;
  readonly patterns: readonly (readonly [LinearPattern, Check])[];
  /** For what has no name and matches no pattern; undefined: anything. */
  readonly others: Check | undefined;
  /** Whether others are not allowed at all. */
  readonly isClosed: boolean;
}

/** `properties`, `patternProperties` and `additionalProperties`, and `propertyNames`. */
export function members(schema: JsonObject, compiling: Compiling): Check | undefined {
  const { properties, patternProperties, additionalProperties, propertyNames } = schema;
  if (
    [properties, patternProperties, additionalProperties, propertyNames].every((each) => each === undefined)
  ) {
    return undefined;
  }
  if (![properties, patternProperties].every((each) => each === undefined || isObject(each))) {
    return UNKNOWN;
  }
  const entries = Object.entries(properties ?? {}).map(
    ([key, each]) => [key, compiling.check(each)] as const,
  );
  const described: Members = {
    named: new Map(entries),
    patterns: patternsOf(patternProperties, compiling),
    others: additionalProperties === undefined ? undefined : compiling.check(additionalProperties),
    isClosed: additionalProperties === false,
  };
  const names = propertyNames === undefined ? undefined : compiling.check(propertyNames);
  return (value, run) => {
    let outcome: Outcome = FITS;
    for (const key of isObject(value) ? Object.keys(value) : []) {
      run.spend(1);
      const member = (value as JsonObject)[key];
      outcome = both(outcome, oneMember(key, member, described, run));
      if (names !== undefined && (outcome !== FAILS || run.collects)) {
        outcome = both(outcome, nameOutcome(names, key, run));
      }
      if (outcome === FAILS && !run.collects) {
        return FAILS;
      }
    }
    return outcome;
  };
}

function patternsOf(given: unknown, compiling: Compiling): Members['patterns'] {
  return Object.entries(given ?? {}).map(
    ([source, each]) => [new LinearPattern(source), compiling.check(each)] as const,
  );
}

function oneMember(key: string, member: unknown, described: Members, run: Run): Outcome {
  const { named, patterns, others } = described;
  const own = named.get(key);
  let outcome: Outcome = own === undefined ? FITS : run.at(key, member, own);
  let matches: Outcome = own === undefined ? FAILS : FITS;
  for (const [pattern, check] of patterns) {
    const matching = pattern.test(key, run);
    if (matching === FITS) {
      outcome = both(outcome, run.at(key, member, check));
      matches = FITS;
    } else if (matching === UNSURE && matches !== FITS) {
      matches = UNSURE;
    }
    if (matching === UNSURE && run.quietly(check, member) !== FITS) {
      outcome = both(outcome, UNSURE);
    }
  }
  if (others === undefined || matches === FITS) {
    return outcome;
  }
  if (matches === UNSURE) {
    return run.quietly(others, member) === FITS ? outcome : both(outcome, UNSURE);
  }
  if (described.isClosed) {
    return run.fails(() => unknownMember(key, [...named.keys()]), 'unknown', key);
  }
  return both(outcome, run.at(key, member, others));
}

function unknownMember(key: string, names: readonly string[]): string {
  const meant = nearest(key.slice(0, 100), names);
  return `there is no such name here${meant === undefined ? '' : `; did you mean ${quoted(meant)}?`}`;
}

function nameOutcome(names: Check, key: string, run: Run): Outcome {
  const outcome = run.quietly(names, key);
  return outcome === FAILS
    ? run.fails(
        () => `this name is not allowed: ${run.problemsOf(names, key)[0]?.says ?? 'no name is'}`,
        'value',
        key,
      )
    : outcome;
}

/** `dependentRequired`, `dependentSchemas`, and `dependencies` of draft-07, which is both. */
export function dependencies(schema: JsonObject, compiling: Compiling): Check | undefined {
  const { dependentRequired, dependentSchemas, dependencies: older } = schema;
  const given = [dependentRequired, dependentSchemas, older].filter((each) => each !== undefined);
  if (given.length === 0) {
    return undefined;
  }
  if (!given.every(isObject)) {
    return UNKNOWN;
  }
  const rules = given.flatMap((each) =>
    Object.entries(each).map(([key, wanted]) => {
      const check = isTexts(wanted) ? required({ required: wanted }) : compiling.check(wanted);
      return [key, check ?? UNKNOWN] as const;
    }),
  );
  return (value, run) => {
    let outcome: Outcome = FITS;
    for (const [key, check] of isObject(value) ? rules : []) {
      run.spend(1);
      if (Object.hasOwn(value as JsonObject, key)) {
        outcome = both(outcome, check(value, run));
      }
    }
    return outcome;
  };
}
