import type { JsonObject } from '../base/json.ts';
import type { Dialect } from './dialect.ts';
import type { Check } from './run.ts';

/** What keywords need of the schema that they stand in. */
export interface Compiling {
  readonly dialect: Dialect;
  /** A schema within it; compiled when it is first needed, and once. */
  check(schema: unknown): Check;
  /** What a `$ref`, `$dynamicRef` or `$recursiveRef` of this schema leads to; undefined: nowhere, or nobody can say. */
  target(schema: JsonObject, key: string): unknown;
}
