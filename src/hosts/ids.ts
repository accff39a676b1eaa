import { createHash } from 'node:crypto';
import { ID_PATTERN } from '../config/upstream-settings.ts';

const LONGEST = 32;
const VALID = new RegExp(ID_PATTERN, 'u');

/**
 * The id of an upstream for what a host calls a server: small letters, digits, `_` and `-`. The same for the same name.
 * Of a path such as `github.com/org/server` the end is kept where the whole is too long, of any other name the beginning.
 * undefined for an empty name.
 */
export function idFor(name: string): string | undefined {
  if (name.trim() === '') {
    return undefined;
  }
  const parts = name.split('/');
  const whole = parts.map((_, at) => fold(parts.slice(at).join('/')));
  const fitting = whole.find((id) => VALID.test(id));
  if (fitting !== undefined) {
    return fitting;
  }
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 6);
  const kept = (whole[0] ?? '').slice(0, LONGEST - digest.length - 1).replace(/[-_]+$/, '');
  return kept === '' ? `server-${digest}` : `${kept}-${digest}`;
}

function fold(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replace(/^(?:x-|[-_])+/, '')
    .replace(/[-_]+$/, '');
}

/** The id, or that id with the least number that makes it one of its own. */
export function distinct(id: string, taken: ReadonlySet<string>): string {
  let number = 1;
  let candidate = id;
  while (taken.has(candidate)) {
    number += 1;
    candidate = `${id.slice(0, LONGEST - String(number).length - 1)}-${number}`;
  }
  return candidate;
}

/** A name as one of a variable: `issues-token` is ISSUES_TOKEN. */
export function variableFor(...words: readonly string[]): string {
  const name = words
    .join('_')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return /^\d/.test(name) ? `_${name}` : name || 'VALUE';
}
