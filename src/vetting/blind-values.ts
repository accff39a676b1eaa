import { isObject } from '../base/json.ts';
import { whole } from '../base/long-text.ts';

/** Keywords whose verdict depends on what is in a text, or on how long it is (JSON Schema 2020-12, validation, 6). */
const READING: ReadonlySet<string> = new Set([
  'const',
  'enum',
  'maxLength',
  'minLength',
  'pattern',
  'uniqueItems',
]);

const known = new WeakMap<object, boolean>();

/**
 * A value as its check needs it: a long text that nobody has read stands there as an empty one where the schema does not ask
 * what is in it, so that none is decoded for nothing; elsewhere it is decoded.
 */
export function asJudged(schema: unknown, given: unknown): unknown {
  return whole(given, isObject(schema) && isBlind(schema) ? () => '' : undefined);
}

/** Whether a text that may be in a value changes nothing about whether it fits. Names of properties count as keywords too. */
function isBlind(schema: object): boolean {
  let blind = known.get(schema);
  if (blind === undefined) {
    blind = !reads(schema);
    known.set(schema, blind);
  }
  return blind;
}

function reads(schema: object): boolean {
  const open: object[] = [schema];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [key, member] of Object.entries(next)) {
      if (READING.has(key)) {
        return true;
      }
      if (typeof member === 'object' && member !== null) {
        open.push(member);
      }
    }
  }
  return false;
}
