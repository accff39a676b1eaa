import type { JsonObject } from '../base/json.ts';
import type { ToolQuery } from '../catalog/search.ts';
import { MOST_DESCRIBED, MOST_FOUND, USUALLY_FOUND } from './find-tools.ts';

/** The arguments of `search_tools`, complete. */
export interface SearchArguments extends ToolQuery {
  readonly limit: number;
  readonly offset: number;
  readonly schemas: boolean;
}

/** The arguments of `describe_tools`. */
export interface Described {
  readonly names: readonly string[];
}

/** Longest question that is read, in UTF-16 units. */
const LONGEST_QUESTION = 1_000;

/** What is wrong with them, where something is: told to the model. `null` counts as not given, as models send it. */
export function searchArguments(args: JsonObject): SearchArguments | string {
  const given = (name: string) => args[name] ?? undefined;
  const query = given('query') ?? '';
  const server = given('server');
  if (typeof query !== 'string') {
    return 'query must be a string.';
  }
  if (server !== undefined && typeof server !== 'string') {
    return 'server must be a string.';
  }
  for (const name of ['readOnly', 'destructive', 'schemas']) {
    if (given(name) !== undefined && typeof given(name) !== 'boolean') {
      return `${name} must be true or false.`;
    }
  }
  const limit = given('limit') ?? USUALLY_FOUND;
  const offset = given('offset') ?? 0;
  if (!isWhole(limit, 1)) {
    return `limit must be a whole number from 1 to ${MOST_FOUND}.`;
  }
  if (!isWhole(offset, 0)) {
    return 'offset must be a whole number, 0 or more.';
  }
  return {
    question: query.slice(0, LONGEST_QUESTION).trim(),
    servers: server === undefined ? undefined : [server],
    readOnly: given('readOnly') as boolean | undefined,
    destructive: given('destructive') as boolean | undefined,
    limit: Math.min(limit, MOST_FOUND),
    offset,
    schemas: given('schemas') === true,
  };
}

/** As {@link searchArguments}. */
export function describeArguments({ names }: JsonObject): Described | string {
  const given = typeof names === 'string' ? [names] : names;
  if (!Array.isArray(given) || !given.every((name) => typeof name === 'string') || given.length === 0) {
    return 'names must be a list of names of tools.';
  }
  return given.length > MOST_DESCRIBED
    ? `names must be at most ${MOST_DESCRIBED}: ask for the rest after that.`
    : { names: given };
}

function isWhole(value: unknown, least: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
}
