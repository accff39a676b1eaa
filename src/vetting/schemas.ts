import { isObject, type JsonObject } from '../base/json.ts';

/** Which members of a JSON Schema hold schemas (drafts 7 to 2020-12). Everything else in one is data. */
export const ONE_SCHEMA: ReadonlySet<string> = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
export const LIST_OF_SCHEMAS: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'items',
  'oneOf',
  'prefixItems',
]);
export const SCHEMAS_BY_NAME: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);

export interface SubSchema {
  readonly schema: JsonObject;
  /** JSON pointer from the root of the schema. */
  readonly place: string;
}

/**
 * Every schema in a schema, itself first, in document order; without recursion, so that depth costs no stack. Boolean
 * schemas and what is no schema are left out.
 */
export function* schemasIn(root: unknown): Generator<SubSchema> {
  const open: { readonly value: unknown; readonly place: string }[] = [{ value: root, place: '' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, place } = next;
    if (!isObject(value)) {
      continue;
    }
    yield { schema: value, place };
    open.push(...childrenOf(value, place).reverse());
  }
}

/** The schemas right in one, in document order, and whatever stands in the place of one. */
export function childrenOf(
  schema: JsonObject,
  place: string,
): { readonly value: unknown; readonly place: string }[] {
  return Object.entries(schema).flatMap(([key, member]) => {
    const at = below(place, key);
    if (Array.isArray(member)) {
      return LIST_OF_SCHEMAS.has(key)
        ? member.map((value: unknown, index) => ({ value, place: below(at, index) }))
        : [];
    }
    if (SCHEMAS_BY_NAME.has(key) && isObject(member)) {
      return Object.entries(member).map(([name, value]) => ({ value, place: below(at, name) }));
    }
    return ONE_SCHEMA.has(key) ? [{ value: member, place: at }] : [];
  });
}

/** One step down a JSON pointer (RFC 6901). */
export function below(place: string, key: string | number): string {
  return `${place}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** What a JSON pointer leads to; undefined where it leads nowhere. */
export function at(root: unknown, pointer: string): unknown {
  let value = root;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) {
      return undefined;
    }
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}
