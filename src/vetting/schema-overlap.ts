import { isObject, type JsonObject, own } from '../base/json.ts';
import { canonical } from './definition.ts';
import { schemasIn } from './schemas.ts';

/** Objects may be told apart by one of this many members. */
const MOST_LOOKED_AT = 32;

/** Whether no value can fit two of these schemas, as far as one can see at once: by types, choices, or a member that both require. */
export function areApart(schemas: readonly unknown[]): boolean {
  return schemas.every((one, at) => schemas.slice(at + 1).every((other) => isApart(one, other, 0)));
}

function isApart(one: unknown, other: unknown, depth: number): boolean {
  if (one === false || other === false) {
    return true;
  }
  if (!isObject(one) || !isObject(other) || depth > 4) {
    return false;
  }
  const [mine, theirs] = [choicesOf(one), choicesOf(other)];
  if (mine !== undefined && theirs !== undefined && mine.every((each) => !theirs.includes(each))) {
    return true;
  }
  const [types, others] = [typesOf(one), typesOf(other)];
  if (types !== undefined && others !== undefined && types.every((each) => !others.includes(each))) {
    return true;
  }
  return membersApart(one, other, depth);
}

/** Both require a member, of values that no two share; and both are about objects alone. */
function membersApart(one: JsonObject, other: JsonObject, depth: number): boolean {
  if (one['type'] !== 'object' || other['type'] !== 'object') {
    return false;
  }
  const [mine, theirs] = [requiredOf(one), requiredOf(other)];
  return mine
    .slice(0, MOST_LOOKED_AT)
    .some((name) => theirs.includes(name) && isApart(memberOf(one, name), memberOf(other, name), depth + 1));
}

function requiredOf({ required }: JsonObject): readonly string[] {
  return Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : [];
}

function memberOf({ properties }: JsonObject, name: string): unknown {
  return isObject(properties) ? own(properties, name) : undefined;
}

function choicesOf(schema: JsonObject): readonly string[] | undefined {
  if (Object.hasOwn(schema, 'const')) {
    return [canonical(schema['const'])];
  }
  return Array.isArray(schema['enum']) ? schema['enum'].map(canonical) : undefined;
}

/** Integers are numbers. */
function typesOf({ type }: JsonObject): readonly unknown[] | undefined {
  const types: readonly unknown[] | undefined = Array.isArray(type)
    ? type
    : type === undefined
      ? type
      : [type];
  return types?.map((each) => (each === 'integer' ? 'number' : each));
}

/** Where a schema that lets more values in may let fewer into the whole. */
const TURNING = ['not', 'if', 'oneOf'] as const;
const COUNTING = ['unevaluatedProperties', 'unevaluatedItems'] as const;

/**
 * Whether a schema refers to a part of itself from where more for the part may be less for the whole. A change of any part
 * says nothing for certain then, wherever it stands.
 */
export function turnsReferences(schema: unknown): boolean {
  let refers = false;
  let counts = false;
  for (const { schema: part } of schemasIn(schema)) {
    const turned = TURNING.flatMap((key) => (Object.hasOwn(part, key) ? [part[key]] : []));
    const counted = Object.hasOwn(part, 'maxContains') ? [part['contains']] : [];
    if ([...turned, ...counted].some(holdsReference)) {
      return true;
    }
    refers ||= REFERENCES.some((key) => Object.hasOwn(part, key));
    counts ||= COUNTING.some((key) => Object.hasOwn(part, key));
  }
  return refers && counts;
}

const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'] as const;

function holdsReference(schema: unknown): boolean {
  const parts: readonly unknown[] = Array.isArray(schema) ? schema : [schema];
  return parts.some((part) =>
    [...schemasIn(part)].some(({ schema: each }) => REFERENCES.some((key) => Object.hasOwn(each, key))),
  );
}
