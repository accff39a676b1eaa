import { LongText } from './long-text.ts';

/** What an object, an array or a member takes in memory besides its text, in bytes; in round figures. */
export const BYTES_PER_PART = 32;

/**
 * What a parsed JSON value takes in memory, in bytes: an estimate, for budgets. It is far more than the length of the
 * text where that is all brackets. Depth is limited by the heap, not by the stack.
 */
export function costOf(value: unknown): number {
  const open: unknown[] = [value];
  let bytes = 0;
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') {
      bytes += next.length;
    } else if (next instanceof LongText) {
      bytes += BYTES_PER_PART + next.length;
    } else if (Array.isArray(next)) {
      bytes += BYTES_PER_PART + 8 * next.length;
      for (const element of next as readonly unknown[]) {
        if (typeof element === 'object' || typeof element === 'string') {
          open.push(element);
        }
      }
    } else if (typeof next === 'object' && next !== null) {
      bytes += BYTES_PER_PART;
      for (const [key, member] of Object.entries(next)) {
        bytes += BYTES_PER_PART + key.length;
        open.push(member);
      }
    }
  }
  return bytes;
}
