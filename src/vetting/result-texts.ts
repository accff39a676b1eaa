import { isObject, type JsonObject } from '../base/json.ts';
import { LongText } from '../base/long-text.ts';

/** Members that hold bytes as base64: nobody reads them as text. */
const BYTES: ReadonlySet<string> = new Set(['data', 'blob']);
/** Members that are for programs on both sides, which they are sealed or signed for. */
const OPAQUE: ReadonlySet<string> = new Set(['_meta', 'requestState', 'nextCursor']);
const DEEPEST = 256;

/** What is done with the texts of a value. */
export interface TextVisitor {
  readonly change: (text: string) => string;
  /** Those that nobody has read: what goes into the place of one; undefined: it stays as it is. */
  readonly unread?: (text: LongText) => string | undefined;
}

/**
 * The value with every text in it put through the visitor, in document order; the same object where nothing changed, since
 * others may hold it. What is deeper than 256 levels is left as it is.
 */
export function mapTexts(value: unknown, visitor: TextVisitor, depth = 0): unknown {
  if (typeof value === 'string') {
    return visitor.change(value);
  }
  if (value instanceof LongText) {
    return visitor.unread?.(value) ?? value;
  }
  if (typeof value !== 'object' || value === null || depth > DEEPEST) {
    return value;
  }
  if (Array.isArray(value)) {
    return mapItems(value, visitor, depth);
  }
  return isObject(value) ? mapMembers(value, visitor, depth) : value;
}

function mapItems(value: readonly unknown[], visitor: TextVisitor, depth: number): readonly unknown[] {
  let mapped: unknown[] | undefined;
  for (const [at, item] of value.entries()) {
    const now = mapTexts(item, visitor, depth + 1);
    if (now !== item) {
      mapped ??= [...value];
      mapped[at] = now;
    }
  }
  return mapped ?? value;
}

function mapMembers(value: JsonObject, visitor: TextVisitor, depth: number): JsonObject {
  let mapped: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member = value[key];
    const isLeft = OPAQUE.has(key) || (BYTES.has(key) && isBytes(value));
    const now = isLeft ? member : mapTexts(member, visitor, depth + 1);
    if (now !== member) {
      mapped ??= { ...value };
      // Defined, not assigned: a member that came as `__proto__` is a member.
      Object.defineProperty(mapped, key, {
        value: now,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
  }
  return mapped ?? value;
}

/** An image, audio or a resource with bytes, and no member of somebody's own data that happens to be called so. */
function isBytes({ type, mimeType, uri }: JsonObject): boolean {
  return type === 'image' || type === 'audio' || typeof mimeType === 'string' || typeof uri === 'string';
}
