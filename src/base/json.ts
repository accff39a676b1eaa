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

/**
 * A member that an object has itself, under a key that somebody else chose: what every object inherits (`constructor`,
 * `toString`) is none of it.
 */
export function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The string at `key`, or undefined where the member is absent or not a string. */
export function stringAt(value: unknown, key: string): string | undefined {
  const member = isObject(value) ? value[key] : undefined;
  return typeof member === 'string' ? member : undefined;
}

/** The object without the named members; the same object when it has none of them. */
export function without(value: JsonObject, ...keys: readonly string[]): JsonObject {
  let has = false;
  for (const key of keys) {
    has ||= Object.hasOwn(value, key);
  }
  if (!has) {
    return value;
  }
  // Copied rather than deleted from: what V8 has deleted from is slow to read and to write from then on.
  const rest: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) {
      put(rest, key, value[key]);
    }
  }
  return rest;
}

/** Gives an object a member, also one that came as `__proto__`. */
function put(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/**
 * JSON text as a line of its own. Some readers, Node's readline among them, end a line at U+2028 and U+2029 too, which JSON
 * allows in strings as they are: they go as escapes, which mean the same.
 */
export function asLine(json: string): string {
  return `${json.replace(/[\u2028\u2029]/g, (sign) => (sign === '\u2028' ? '\\u2028' : '\\u2029'))}\n`;
}
