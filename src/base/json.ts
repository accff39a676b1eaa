/** Shapes of parsed JSON. Nothing the gateway receives is trusted to be well formed, so members are read as `unknown`. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** True for a JSON object; false for arrays, null and every scalar. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object at `key`, or undefined where the member is absent or not an object. */
export function objectAt(value: unknown, key: string): JsonObject | undefined {
  const member = isObject(value) ? value[key] : undefined;
  return isObject(member) ? member : undefined;
}

/** The string at `key`, or undefined where the member is absent or not a string. */
export function stringAt(value: unknown, key: string): string | undefined {
  const member = isObject(value) ? value[key] : undefined;
  return typeof member === 'string' ? member : undefined;
}

/** The object without the named members; the same object when it has none of them. */
export function without(value: JsonObject, ...keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(value, key))) {
    return value;
  }
  const rest: Record<string, unknown> = { ...value };
  for (const key of keys) {
    delete rest[key];
  }
  return rest;
}
