import type { JsonObject } from '../base/json.ts';
import { every, UNKNOWN } from './assertions.ts';
import type { Compiling } from './compiling.ts';
import { type Check, FAILS, FITS, type Outcome, type Problem, type Run, UNSURE } from './run.ts';

const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'] as const;

/** Everything that judges the value itself by other schemas. */
export function combinations(schema: JsonObject, compiling: Compiling): readonly Check[] {
  return [
    ...REFERENCES.flatMap((key) => referred(key, schema, compiling)),
    ...listOf('allOf', schema, compiling, (checks) => (value, run) => every(checks, value, run)),
    ...listOf('anyOf', schema, compiling, anyOf),
    ...listOf('oneOf', schema, compiling, oneOf),
    ...negation(schema, compiling),
    ...condition(schema, compiling),
  ];
}

/** `$ref` alone. */
export function reference(schema: JsonObject, compiling: Compiling): readonly Check[] {
  return referred('$ref', schema, compiling);
}

function referred(key: string, schema: JsonObject, compiling: Compiling): readonly Check[] {
  if (schema[key] === undefined) {
    return [];
  }
  const target = compiling.target(schema, key);
  return [target === undefined ? UNKNOWN : compiling.check(target)];
}

function listOf(
  key: string,
  schema: JsonObject,
  compiling: Compiling,
  combine: (checks: readonly Check[]) => Check,
): readonly Check[] {
  const { [key]: given } = schema;
  if (given === undefined) {
    return [];
  }
  return Array.isArray(given) ? [combine(given.map((each) => compiling.check(each)))] : [UNKNOWN];
}

function anyOf(checks: readonly Check[]): Check {
  return (value, run) => {
    let outcome: Outcome = FAILS;
    for (const check of checks) {
      const one = run.quietly(check, value);
      if (one === FITS) {
        return FITS;
      }
      outcome = one === UNSURE ? UNSURE : outcome;
    }
    return outcome === FAILS ? noneFits(checks, value, run) : outcome;
  };
}

function oneOf(checks: readonly Check[]): Check {
  return (value, run) => {
    let [sure, perhaps] = [0, 0];
    for (const check of checks) {
      const one = run.quietly(check, value);
      sure += one === FITS ? 1 : 0;
      perhaps += one === UNSURE ? 1 : 0;
      if (sure > 1) {
        return run.fails(
          () => 'expected a value that fits one of the alternatives, got one that fits several',
        );
      }
    }
    return perhaps > 0 ? UNSURE : sure === 1 ? FITS : noneFits(checks, value, run);
  };
}

/** Alternatives that are looked at for what was probably meant. */
const MOST_TRIED = 16;

/**
 * Why no alternative fits. Where the value is of the right type for some of them, what keeps it from the nearest is said
 * as if that were meant; else what each of them wants.
 */
function noneFits(checks: readonly Check[], value: unknown, run: Run): typeof FAILS {
  if (!run.collects || checks.length === 0) {
    return run.fails(() => 'no value fits');
  }
  const tries = checks.slice(0, MOST_TRIED).map((check) => run.problemsOf(check, value));
  const isRightType = (problems: readonly Problem[]) =>
    problems.every(({ kind, path }) => kind !== 'value' || path.length > run.level);
  const near = tries.filter(isRightType).toSorted((one, other) => one.length - other.length);
  const [nearest] = near;
  if (nearest !== undefined) {
    return run.note(nearest);
  }
  const wants = tries.map(([first]) => first?.says ?? '').filter((says) => says.startsWith('expected '));
  const got = wants[0]?.match(/, got .*$/su)?.[0] ?? '';
  const each = [...new Set(wants.map((says) => says.slice('expected '.length, says.length - got.length)))];
  return run.fails(() => `expected ${each.slice(0, 8).join('; or ')}${got}`);
}

function negation({ not }: JsonObject, compiling: Compiling): readonly Check[] {
  if (not === undefined) {
    return [];
  }
  const check = compiling.check(not);
  return [
    (value, run) => {
      const outcome = run.quietly(check, value);
      if (outcome === FITS) {
        return run.fails(() => 'this value is excluded by the schema');
      }
      return outcome === FAILS ? FITS : UNSURE;
    },
  ];
}

function condition(schema: JsonObject, compiling: Compiling): readonly Check[] {
  const { if: given, then: consequence = true, else: alternative = true } = schema;
  if (given === undefined) {
    return [];
  }
  const [asked, yes, no] = [given, consequence, alternative].map((each) => compiling.check(each)) as [
    Check,
    Check,
    Check,
  ];
  return [
    (value, run) => {
      const outcome = run.quietly(asked, value);
      if (outcome !== UNSURE) {
        return (outcome === FITS ? yes : no)(value, run);
      }
      const [one, other] = [run.quietly(yes, value), run.quietly(no, value)];
      return one === FITS && other === FITS ? FITS : UNSURE;
    },
  ];
}
