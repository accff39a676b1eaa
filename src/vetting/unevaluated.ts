import { isObject, type JsonObject } from '../base/json.ts';
import { restOf, tupleOf } from './array-keywords.ts';
import type { Compiling } from './compiling.ts';
import { LinearPattern } from './linear-pattern.ts';
import { both, type Check, FITS, type Outcome, type Run, UNSURE } from './run.ts';

/** What of one value the schemas beside an `unevaluated…` keyword have looked at. */
interface Evaluated {
  /** Names of members, or indices of items. */
  readonly keys: Set<string | number>;
  all: boolean;
  /** Whether more may have been looked at: an alternative that nobody can judge. */
  unsure: boolean;
}

/**
 * `unevaluatedProperties` and `unevaluatedItems`. What other keywords have looked at is found by going through them again,
 * only in schemas that have one of these: they are rare, and the work is counted like any other.
 */
export function unevaluated(schema: JsonObject, compiling: Compiling): readonly Check[] {
  if (compiling.dialect === 'draft-07') {
    return [];
  }
  return (['unevaluatedProperties', 'unevaluatedItems'] as const).flatMap((key): readonly Check[] => {
    const given = schema[key];
    return given === undefined ? [] : [leftOver(key, schema, compiling.check(given), compiling)];
  });
}

function leftOver(
  key: 'unevaluatedProperties' | 'unevaluatedItems',
  schema: JsonObject,
  check: Check,
  compiling: Compiling,
): Check {
  const isFitting = key === 'unevaluatedProperties' ? isObject : Array.isArray;
  return (value, run) => {
    if (!isFitting(value)) {
      return FITS;
    }
    const seen: Evaluated = { keys: new Set(), all: false, unsure: false };
    note(schema, value, seen, { compiling, run, asking: schema });
    const entries: Iterable<[string | number, unknown]> = Array.isArray(value)
      ? value.entries()
      : Object.entries(value);
    let outcome: Outcome = FITS;
    for (const [at, member] of seen.all ? [] : entries) {
      run.spend(1);
      if (!seen.keys.has(at)) {
        outcome = both(
          outcome,
          one(at, member, seen.unsure, { check, isClosed: schema[key] === false, run }),
        );
      }
    }
    return outcome;
  };
}

interface Rest {
  readonly check: Check;
  readonly isClosed: boolean;
  readonly run: Run;
}

function one(at: string | number, member: unknown, unsure: boolean, { check, isClosed, run }: Rest): Outcome {
  if (unsure) {
    return run.quietly(check, member) === FITS ? FITS : UNSURE;
  }
  return isClosed && typeof at === 'string'
    ? run.fails(() => 'there is no such name here', 'unknown', at)
    : run.at(at, member, check);
}

interface Around {
  readonly compiling: Compiling;
  readonly run: Run;
  /** The schema whose `unevaluated…` keyword wants to know: that one has looked at nothing yet. */
  readonly asking: JsonObject;
}

/** Notes what the keywords of a schema look at, that the value is known to fit, and those that judge the value itself. */
function note(schema: unknown, value: unknown, seen: Evaluated, around: Around): void {
  if (!isObject(schema)) {
    return;
  }
  const { compiling, run } = around;
  run.enter();
  if (Array.isArray(value)) {
    noteItems(schema, value, seen, around);
  } else if (isObject(value)) {
    noteMembers(schema, value, seen, around);
  }
  for (const key of ['$ref', '$dynamicRef', '$recursiveRef']) {
    if (schema[key] !== undefined) {
      noteIfFitting(compiling.target(schema, key), value, seen, around);
    }
  }
  for (const each of ['allOf', 'anyOf', 'oneOf'].flatMap((key) => asList(schema[key]))) {
    noteIfFitting(each, value, seen, around);
  }
  if (schema['if'] !== undefined) {
    const outcome = run.quietly(compiling.check(schema['if']), value);
    seen.unsure ||= outcome === UNSURE;
    if (outcome === FITS) {
      note(schema['if'], value, seen, around);
    }
    note(outcome === FITS ? schema['then'] : schema['else'], value, seen, around);
  }
  for (const [name, each] of Object.entries(asNames(schema['dependentSchemas']))) {
    if (isObject(value) && Object.hasOwn(value, name)) {
      note(each, value, seen, around);
    }
  }
  run.leave();
}

function noteIfFitting(schema: unknown, value: unknown, seen: Evaluated, around: Around): void {
  const outcome = schema === undefined ? UNSURE : around.run.quietly(around.compiling.check(schema), value);
  if (outcome === FITS) {
    note(schema, value, seen, around);
  }
  seen.unsure ||= outcome === UNSURE;
}

function noteMembers(schema: JsonObject, value: JsonObject, seen: Evaluated, { run, asking }: Around): void {
  const { additionalProperties, unevaluatedProperties: rest } = schema;
  if (additionalProperties !== undefined || (rest !== undefined && schema !== asking)) {
    seen.all = true;
    return;
  }
  const patterns = Object.keys(asNames(schema['patternProperties'])).map((each) => new LinearPattern(each));
  const named = asNames(schema['properties']);
  for (const key of Object.keys(value)) {
    run.spend(1);
    if (Object.hasOwn(named, key)) {
      seen.keys.add(key);
    }
    for (const pattern of patterns) {
      const matches = pattern.test(key, run);
      seen.unsure ||= matches === UNSURE;
      if (matches === FITS) {
        seen.keys.add(key);
      }
    }
  }
}

function noteItems(schema: JsonObject, value: readonly unknown[], seen: Evaluated, around: Around): void {
  const { compiling, run, asking } = around;
  const { unevaluatedItems: rest } = schema;
  if (restOf(schema) !== undefined || (rest !== undefined && schema !== asking)) {
    seen.all = true;
    return;
  }
  const before = tupleOf(schema);
  const count = Math.min(value.length, Array.isArray(before) ? before.length : 0);
  for (let index = 0; index < count; index += 1) {
    seen.keys.add(index);
  }
  // Since 2020-12 what `contains` matches is looked at.
  if (schema['contains'] !== undefined && compiling.dialect === '2020-12') {
    const check = compiling.check(schema['contains']);
    for (const [index, item] of value.entries()) {
      const outcome = run.quietly(check, item);
      seen.unsure ||= outcome === UNSURE;
      if (outcome === FITS) {
        seen.keys.add(index);
      }
    }
  }
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function asNames(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
