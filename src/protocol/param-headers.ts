import { isObject, type JsonObject } from '../base/json.ts';
import { decodeHeaderValue, encodeHeaderValue, type HeaderMap, headerOf } from './headers.ts';

/**
 * `x-mcp-header`: arguments of a tool mirrored into `Mcp-Param-*` headers
 * (spec 2026-07-28: transports/streamable-http, Custom Headers from Tool Parameters).
 */
export interface ParamHeader {
  /** The part of the header name after `Mcp-Param-`, as declared. */
  readonly name: string;
  /** The chain of property names that leads to the argument. */
  readonly path: readonly string[];
}

export type Declared =
  | { readonly valid: true; readonly headers: readonly ParamHeader[] }
  | { readonly valid: false; readonly reason: string };

const MARK = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PRIMITIVES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** Schemas are bounded when the catalog is built; this only guards a walk of its own. */
const DEEPEST = 256;

interface Found {
  readonly headers: ParamHeader[];
  fault: string | undefined;
}

/** The marks of one input schema, or why they are invalid. */
export function declaredHeaders(inputSchema: unknown): Declared {
  const found: Found = { headers: [], fault: undefined };
  walk(inputSchema, [], true, 0, found);
  const names = found.headers.map((header) => header.name.toLowerCase());
  const fault = found.fault ?? (new Set(names).size < names.length ? 'two marks have one name' : undefined);
  return fault === undefined ? { valid: true, headers: found.headers } : { valid: false, reason: fault };
}

/** Visits every object of the schema: a mark is legal only on a chain of `properties`, and found anywhere. */
function walk(node: unknown, path: readonly string[], reachable: boolean, depth: number, found: Found): void {
  if (depth > DEEPEST || typeof node !== 'object' || node === null) {
    return;
  }
  if (Array.isArray(node)) {
    for (const member of node) {
      walk(member, path, false, depth + 1, found);
    }
    return;
  }
  const schema = node as JsonObject;
  if (Object.hasOwn(schema, MARK)) {
    note(schema, path, reachable && path.length > 0, found);
  }
  for (const [key, member] of Object.entries(schema)) {
    if (key === 'properties' && isObject(member)) {
      for (const [property, inner] of Object.entries(member)) {
        walk(inner, [...path, property], reachable, depth + 2, found);
      }
    } else if (!LITERALS.has(key)) {
      walk(member, path, false, depth + 1, found);
    }
  }
}

/** Members whose values are data, not schemas: a mark inside them marks nothing. */
const LITERALS: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);

function note(schema: JsonObject, path: readonly string[], reachable: boolean, found: Found): void {
  const name = schema[MARK];
  if (typeof name !== 'string' || !TOKEN.test(name)) {
    found.fault ??= 'a mark is not a header name';
  } else if (!reachable) {
    found.fault ??= `the mark ${name} is not on a plain property`;
  } else if (!PRIMITIVES.has(schema['type'])) {
    found.fault ??= `the mark ${name} is not on a string, integer or boolean`;
  } else {
    found.headers.push({ name, path });
  }
}

function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const key of path) {
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

function asText(value: unknown): string | undefined {
  const plain = typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
  return plain ? String(value) : undefined;
}

/** The `Mcp-Param-*` headers of one call towards a modern HTTP upstream. Absent and null arguments have none. */
export function paramHeaders(headers: readonly ParamHeader[], args: unknown): Record<string, string> {
  const built: Record<string, string> = {};
  for (const { name, path } of headers) {
    const text = asText(argumentAt(args, path));
    if (text !== undefined) {
      built[`mcp-param-${name.toLowerCase()}`] = encodeHeaderValue(text);
    }
  }
  return built;
}

/** What is wrong with a client's `Mcp-Param-*` headers for these arguments, or undefined. */
export function paramMismatch(
  declared: readonly ParamHeader[],
  args: unknown,
  headers: HeaderMap,
): string | undefined {
  for (const { name, path } of declared) {
    const value = argumentAt(args, path);
    const header = headerOf(headers, `mcp-param-${name.toLowerCase()}`);
    const absent = value === undefined || value === null;
    if (header === undefined ? !absent : absent || !matches(header, value)) {
      return `Mcp-Param-${name} ${header === undefined ? 'is missing' : 'does not match the argument'}.`;
    }
  }
  return undefined;
}

/** Integers compare as numbers: 42.0 and 42 are equal (spec: Server Validation, note). */
function matches(header: string, value: unknown): boolean {
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) {
    return false;
  }
  return typeof value === 'number'
    ? /^[-+]?\d+(?:\.\d+)?$/.test(decoded) && Number(decoded) === value
    : decoded === asText(value);
}
