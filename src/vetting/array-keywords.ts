import type { JsonObject } from '../base/json.ts';
import { UNKNOWN } from './assertions.ts';
import type { Compiling } from './compiling.ts';
import { both, type Check, FAILS, FITS, type Outcome, UNSURE } from './run.ts';

/**
 * `prefixItems`, or `items` as a list, which it was called before 2020-12: generators that name no dialect still write
 * that.
 */
export function tuple(schema: JsonObject, compiling: Compiling): Check | undefined {
  const given = tupleOf(schema);
  if (given === undefined) {
    return undefined;
  }
  if (!Array.isArray(given)) {
    return UNKNOWN;
  }
  const checks = given.map((each) => compiling.check(each));
  return (value, run) => {
    let outcome: Outcome = FITS;
    for (const [index, check] of Array.isArray(value) ? checks.entries() : []) {
      if (index < (value as unknown[]).length) {
        outcome = both(outcome, run.at(index, (value as unknown[])[index], check));
      }
    }
    return outcome;
  };
}

export function tupleOf({ prefixItems, items: given }: JsonObject): unknown {
  return prefixItems ?? (Array.isArray(given) ? given : undefined);
}

/** What holds for the items after those of a tuple. */
export function items(schema: JsonObject, compiling: Compiling): Check | undefined {
  const rest = restOf(schema);
  if (rest === undefined) {
    return undefined;
  }
  const check = compiling.check(rest);
  const before = tupleOf(schema);
  const from = Array.isArray(before) ? before.length : 0;
  return (value, run) => {
    let outcome: Outcome = FITS;
    for (let index = from; Array.isArray(value) && index < value.length; index += 1) {
      run.spend(1);
      outcome = both(outcome, run.at(index, value[index], check));
      if (outcome === FAILS && !run.collects) {
        return FAILS;
      }
    }
    return outcome;
  };
}

export function restOf({ items: given, additionalItems }: JsonObject): unknown {
  return Array.isArray(given) ? additionalItems : given;
}

export function contains(schema: JsonObject, compiling: Compiling): Check | undefined {
  const { contains: wanted, minContains = 1, maxContains = Number.POSITIVE_INFINITY } = schema;
  if (wanted === undefined) {
    return undefined;
  }
  const isOld = compiling.dialect === 'draft-07';
  const [least, most] = isOld ? [1, Number.POSITIVE_INFINITY] : [minContains, maxContains];
  if (typeof least !== 'number' || typeof most !== 'number') {
    return UNKNOWN;
  }
  const check = compiling.check(wanted);
  return (value, run) => {
    if (!Array.isArray(value)) {
      return FITS;
    }
    let [sure, perhaps] = [0, 0];
    for (const item of value) {
      const outcome = run.quietly(check, item);
      sure += outcome === FITS ? 1 : 0;
      perhaps += outcome === UNSURE ? 1 : 0;
    }
    if (sure + perhaps < least || sure > most) {
      const bounds = most === Number.POSITIVE_INFINITY ? `at least ${least}` : `${least} to ${most}`;
      return run.fails(() => `expected ${bounds} items of one kind, got ${sure}`);
    }
    return sure < least || sure + perhaps > most ? UNSURE : FITS;
  };
}
