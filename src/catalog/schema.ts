import { isObject, type JsonObject } from '../base/json.ts';

/** What became of one schema: served as it is or mended (`notes` say how), or not fit to be served. */
export type SchemaVerdict =
  | { readonly schema: JsonObject; readonly notes: readonly string[] }
  | { readonly refused: string };

/**
 * Makes an `inputSchema` what clients with strict list validation accept, and changes nothing else (case C-009). The
 * rule: absent, null or not an object becomes `{"type":"object"}`; a missing root `type` is appended as `object` (an
 * `anyOf` of objects stays as it is beside it); `type` as a list that allows objects becomes `object`; any other root
 * type is refused, since arguments are always an object (spec: server/tools, Tool).
 */
export function mendInputSchema(schema: unknown): SchemaVerdict {
  if (!isObject(schema)) {
    return { schema: { type: 'object' }, notes: ['inputSchema was missing or not an object'] };
  }
  const mended = mendKeywords(schema, 'inputSchema');
  const type = schema['type'];
  if (type === 'object') {
    return mended;
  }
  if (type === undefined || type === null) {
    const note = 'inputSchema had no root type';
    return { schema: { ...mended.schema, type: 'object' }, notes: [...mended.notes, note] };
  }
  if (Array.isArray(type) && type.includes('object')) {
    const note = 'inputSchema allowed other root types than object';
    return { schema: { ...mended.schema, type: 'object' }, notes: [...mended.notes, note] };
  }
  return { refused: 'the root type of its inputSchema is not object' };
}

/** Removes `required`, `properties` and `$schema` of a wrong type; some serialisers write null or an empty list for "none". */
export function mendKeywords(
  schema: JsonObject,
  member: string,
): { readonly schema: JsonObject; readonly notes: readonly string[] } {
  const { required, properties } = schema;
  const bad: string[] = [];
  if (Object.hasOwn(schema, 'required') && !(Array.isArray(required) && required.every(isText))) {
    bad.push('required');
  }
  if (Object.hasOwn(schema, 'properties') && !isObject(properties)) {
    bad.push('properties');
  }
  if (Object.hasOwn(schema, '$schema') && !isText(schema['$schema'])) {
    bad.push('$schema');
  }
  const strange = isObject(properties) && !Object.values(properties).every(isSchema);
  if (bad.length === 0 && !strange) {
    return { schema, notes: [] };
  }
  const kept = Object.entries(schema)
    .filter(([key]) => !bad.includes(key))
    .map(([key, value]) => [key, strange && key === 'properties' ? withSchemas(properties) : value] as const);
  return {
    schema: Object.fromEntries(kept),
    notes: [
      ...bad.map((key) => `${member}.${key} had a wrong type and was removed`),
      ...(strange ? [`${member}.properties held what is no schema: anything is allowed there`] : []),
    ],
  };
}

function isSchema(value: unknown): boolean {
  return isObject(value) || typeof value === 'boolean';
}

function withSchemas(properties: JsonObject): JsonObject {
  const entries = Object.entries(properties).map(
    ([name, value]) => [name, isSchema(value) ? value : {}] as const,
  );
  return Object.fromEntries(entries);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
