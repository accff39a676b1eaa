import { isObject, own } from '../base/json.ts';
import { quoted } from './finding.ts';

const ARTICLES: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'an integer',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

/** A type of JSON Schema as a noun. */
export function named(type: string): string {
  return own(ARTICLES, type) ?? quoted(type, 40);
}

const LONGEST = 60;

/** A value as a noun: short texts and numbers as they are, what is larger by its kind. `bare`: without its type. */
export function nounOf(value: unknown, bare = false): string {
  if (typeof value === 'string') {
    // Only its beginning is looked at: it may be long.
    const shown = quoted(value.slice(0, LONGEST + 1), LONGEST);
    return bare ? shown : `the string ${shown}`;
  }
  if (Array.isArray(value)) {
    return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  }
  if (isObject(value)) {
    return 'an object';
  }
  return typeof value === 'number' && !bare ? `the number ${value}` : String(value);
}

/** A place in a value, as one writes it in JavaScript: `filter.items[2].name`; '' for the value itself. */
export function pathText(path: readonly (string | number)[]): string {
  const steps = path.map((step, at) => {
    if (typeof step === 'number') {
      return `[${step}]`;
    }
    const plain = /^(?:[A-Za-z_$][\w$-]*|\*)$/.test(step) && step.length <= LONGEST;
    return plain ? `${at === 0 ? '' : '.'}${step}` : `[${quoted(step.slice(0, LONGEST + 1), LONGEST)}]`;
  });
  return steps.join('');
}
