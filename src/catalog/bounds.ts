import { BYTES_PER_PART } from '../base/cost.ts';

/**
 * How large one item may be. A definition goes to every client and may be compiled by a validator, so a bomb is left
 * out before anything recursive touches it (spec: basic/index, JSON Schema usage; case C-014).
 */
export interface Bounds {
  /** Levels of nesting below the item itself. */
  readonly depth: number;
  /** Objects, arrays and scalars together. */
  readonly nodes: number;
  /** Bytes as JSON, estimated: escapes count as one character. */
  readonly bytes: number;
}

const ITEM_BOUNDS: Bounds = { depth: 200, nodes: 20_000, bytes: 1024 * 1024 };

export type Measured =
  | {
      readonly fits: true;
      /** What it takes in memory, estimated. */
      readonly cost: number;
      /** The first schema reference that leads out of the value, if there is one. It is never followed. */
      readonly outside: string | undefined;
    }
  | { readonly fits: false; readonly excess: string };

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

/** Measures a parsed JSON value without recursion: depth is limited by the heap, not by the stack. */
export function measure(value: unknown, bounds: Bounds = ITEM_BOUNDS): Measured {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  const references: string[] = [];
  const ids = new Set<string>();
  let nodes = 1;
  let bytes = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { depth } = next;
    if (typeof next.value !== 'object' || next.value === null) {
      bytes += typeof next.value === 'string' ? Buffer.byteLength(next.value) + 2 : 5;
    } else {
      const members = Object.entries(next.value);
      nodes += members.length;
      bytes += 2 + members.length;
      if (depth === bounds.depth && members.length > 0) {
        return { fits: false, excess: `it is nested more than ${bounds.depth} levels deep` };
      }
      if (nodes > bounds.nodes) {
        return { fits: false, excess: `it has more than ${bounds.nodes} parts` };
      }
      const named = !Array.isArray(next.value);
      for (const [key, member] of members) {
        bytes += named ? Buffer.byteLength(key) + 3 : 0;
        noteReference(key, member, references, ids);
        open.push({ value: member, depth: depth + 1 });
      }
    }
    if (bytes > bounds.bytes) {
      return { fits: false, excess: `it is larger than ${bounds.bytes} bytes` };
    }
  }
  const outside = references.find((reference) => !ids.has(documentOf(reference)));
  return { fits: true, cost: bytes + nodes * BYTES_PER_PART, outside };
}

function noteReference(key: string, member: unknown, references: string[], ids: Set<string>): void {
  if (typeof member !== 'string') {
    return;
  }
  if (key === '$id' || key === 'id') {
    ids.add(documentOf(member));
  } else if (REFERENCES.has(key) && !member.startsWith('#') && member !== '') {
    references.push(member);
  }
}

/** A reference without its fragment: what an `$id` has to say for the reference to stay inside. */
function documentOf(reference: string): string {
  const hash = reference.indexOf('#');
  return hash === -1 ? reference : reference.slice(0, hash);
}
