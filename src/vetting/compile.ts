import { isObject, type JsonObject } from '../base/json.ts';
import { contains, items, tuple } from './array-keywords.ts';
import { BOUND_KEYWORDS, choice, constant, every, pattern, type, UNKNOWN, unique } from './assertions.ts';
import { combinations, reference } from './combinations.ts';
import type { Compiling } from './compiling.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import { dependencies, members, required } from './object-keywords.ts';
import { References } from './references.ts';
import { both, type Check, FAILS, FITS, type Run } from './run.ts';
import { unevaluated } from './unevaluated.ts';

const ANYTHING: Check = () => FITS;
const NOTHING: Check = (_value, run) => run.fails(() => 'nothing is allowed here');

const PLAIN = [choice, constant, ...BOUND_KEYWORDS, pattern, unique, required];
const NESTING = [tuple, items, contains, members, dependencies, combinations, unevaluated];

/**
 * A JSON Schema as a function. Not by code generation, as common validators do it: a schema here may be hostile, so each
 * step is counted against what a check may cost, and depth is bounded (case C-014). What cannot be judged (a reference
 * that leads nowhere, a pattern that needs to go back, a keyword of a wrong type) makes the outcome unsure where it would
 * decide, and refuses nothing. `format`, `contentEncoding` and unknown keywords are annotations. Undefined for a dialect
 * that is not supported.
 */
export function compile(root: JsonObject): Check | undefined {
  const dialect = dialectOf(root);
  return dialect === undefined ? undefined : new Compiler(root, dialect).check(root);
}

class Compiler implements Compiling {
  readonly dialect: Dialect;
  readonly #references: References;
  readonly #checks = new Map<JsonObject, Check>();

  constructor(root: JsonObject, dialect: Dialect) {
    this.dialect = dialect;
    this.#references = new References(root, dialect);
  }

  check(schema: unknown): Check {
    if (typeof schema === 'boolean') {
      return schema ? ANYTHING : NOTHING;
    }
    if (!isObject(schema)) {
      return UNKNOWN;
    }
    const known = this.#checks.get(schema);
    if (known !== undefined) {
      return known;
    }
    let compiled: Check | undefined;
    const check: Check = (value, run) => {
      compiled ??= this.#compile(schema);
      return compiled(value, run);
    };
    this.#checks.set(schema, check);
    return check;
  }

  target(schema: JsonObject, key: string): unknown {
    const reference = schema[key];
    const isDynamic = key !== '$ref';
    return typeof reference !== 'string' || (isDynamic && this.#references.isCompound)
      ? undefined
      : this.#references.resolve(reference, schema);
  }

  /** The type comes first: what is of a wrong type is not judged by anything else. */
  #compile(schema: JsonObject): Check {
    // In draft-07 nothing beside a `$ref` counts.
    const alone = this.dialect === 'draft-07' && schema['$ref'] !== undefined;
    const first = alone ? undefined : type(schema);
    const plain = alone ? [] : PLAIN.flatMap((keyword) => keyword(schema) ?? []);
    const nesting = (alone ? [reference] : NESTING).flatMap((keyword) => keyword(schema, this) ?? []);
    const rest = [...plain, ...nesting];
    return (value, run: Run) => {
      run.enter();
      const ofType = first === undefined ? FITS : first(value, run);
      const outcome = ofType === FAILS ? FAILS : both(ofType, every(rest, value, run));
      run.leave();
      return outcome;
    };
  }
}
