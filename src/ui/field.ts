import { isObject, type JsonObject, stringAt } from '../base/json.ts';

/** What an argument is typed into. */
export type Field = Described &
  (
    | { readonly kind: 'text'; readonly long: boolean }
    | { readonly kind: 'number'; readonly whole: boolean }
    | { readonly kind: 'boolean' }
    | { readonly kind: 'choice'; readonly options: readonly Option[] }
    | { readonly kind: 'object'; readonly members: readonly Member[] }
    | { readonly kind: 'list'; readonly item: Field }
    /** Whatever no form can be made of. */
    | { readonly kind: 'json' }
  );

interface Described {
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** What stands in it at first; undefined: nothing. */
  readonly initial: unknown;
}

export interface Member {
  readonly name: string;
  readonly field: Field;
  readonly required: boolean;
}

export interface Option {
  readonly label: string;
  readonly value: unknown;
}

/** Deepest field, most members and options that a form is made of: beyond, JSON is typed. */
const DEEPEST = 6;
const MOST = 200;
/** References that are followed from one place. */
const MOST_REFERENCES = 16;
/** A text that may be longer than this gets several lines. */
const SHORT = 200;

/** The field for a schema. Schemas are what servers say: whatever is not understood becomes a field for JSON. */
export function fieldOf(schema: unknown, root: unknown = schema, depth = 0): Field {
  const found = followed(schema, root);
  if (found === undefined) {
    return { kind: 'json', title: undefined, description: undefined, initial: undefined };
  }
  const about: Described = {
    title: stringAt(found, 'title'),
    description: stringAt(found, 'description'),
    initial: found['default'],
  };
  const options = optionsOf(found);
  if (options !== undefined) {
    return { ...about, kind: 'choice', options };
  }
  const only = onlyOf(found);
  if (only !== undefined && depth < DEEPEST) {
    const inner = fieldOf(only, root, depth + 1);
    return {
      ...inner,
      title: about.title ?? inner.title,
      description: about.description ?? inner.description,
      initial: about.initial ?? inner.initial,
    };
  }
  return { ...about, ...kindOf(found, root, depth) };
}

type Kind = Field extends infer F ? (F extends Field ? Omit<F, keyof Described> : never) : never;

function kindOf(schema: JsonObject, root: unknown, depth: number): Kind {
  switch (typeOf(schema)) {
    case 'string': {
      const most = schema['maxLength'];
      const plainWords = schema['format'] === undefined && schema['pattern'] === undefined;
      return { kind: 'text', long: plainWords && !(typeof most === 'number' && most <= SHORT) };
    }
    case 'number':
      return { kind: 'number', whole: false };
    case 'integer':
      return { kind: 'number', whole: true };
    case 'boolean':
      return { kind: 'boolean' };
    case 'object':
      return objectOf(schema, root, depth);
    case 'array':
      return depth < DEEPEST && isObject(schema['items'])
        ? { kind: 'list', item: fieldOf(schema['items'], root, depth + 1) }
        : { kind: 'json' };
    default:
      return { kind: 'json' };
  }
}

function objectOf(schema: JsonObject, root: unknown, depth: number): Kind {
  const { properties, required, patternProperties } = schema;
  const members = isObject(properties) ? Object.entries(properties) : [];
  const open = isObject(schema['additionalProperties']) || isObject(patternProperties);
  if (depth >= DEEPEST || members.length > MOST || (members.length === 0 && (depth > 0 || open))) {
    return { kind: 'json' };
  }
  const needed = new Set(Array.isArray(required) ? required : []);
  return {
    kind: 'object',
    members: members.map(([name, inner]) => ({
      name,
      field: fieldOf(inner, root, depth + 1),
      required: needed.has(name),
    })),
  };
}

/** One type, beside null; undefined: none, or several. */
function typeOf(schema: JsonObject): unknown {
  const { type } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((each) => each !== 'null');
    return types.length === 1 ? types[0] : undefined;
  }
  return type ?? (isObject(schema['properties']) ? 'object' : undefined);
}

/** The one schema that has to hold: alone, or beside null. */
function onlyOf(schema: JsonObject): unknown {
  const some = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'];
  if (!Array.isArray(some) || schema['type'] !== undefined || schema['properties'] !== undefined) {
    return undefined;
  }
  const left = some.filter((each) => stringAt(each, 'type') !== 'null');
  return left.length === 1 ? left[0] : undefined;
}

function optionsOf(schema: JsonObject): readonly Option[] | undefined {
  if (Object.hasOwn(schema, 'const')) {
    return [optionOf(schema['const'])];
  }
  const values = schema['enum'];
  if (Array.isArray(values) && values.length > 0 && values.length <= MOST) {
    const labels: unknown[] = Array.isArray(schema['enumNames']) ? schema['enumNames'] : [];
    return values.map((value, at) => optionOf(value, labels[at]));
  }
  const some = schema['oneOf'] ?? schema['anyOf'];
  const titled =
    Array.isArray(some) &&
    some.length > 0 &&
    some.length <= MOST &&
    some.every((each) => isObject(each) && Object.hasOwn(each, 'const'));
  return titled ? some.map((each: JsonObject) => optionOf(each['const'], each['title'])) : undefined;
}

function optionOf(value: unknown, label?: unknown): Option {
  const said = typeof value === 'string' ? value : JSON.stringify(value);
  return { label: typeof label === 'string' && label !== said ? `${label} (${said})` : said, value };
}

/** Behind references within the same document; undefined where they lead nowhere, in a circle, or elsewhere. */
function followed(schema: unknown, root: unknown): JsonObject | undefined {
  let at = schema;
  for (let steps = 0; steps < MOST_REFERENCES; steps += 1) {
    if (!isObject(at)) {
      return undefined;
    }
    const reference = stringAt(at, '$ref');
    if (reference === undefined) {
      return at;
    }
    const { $ref: _, ...beside } = at;
    const target = pointedAt(root, reference);
    at = isObject(target) ? { ...target, ...beside } : undefined;
  }
  return undefined;
}

function pointedAt(root: unknown, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) {
    return undefined;
  }
  let at = root;
  for (const step of reference
    .slice(2)
    .split('/')
    .filter((each) => each !== '')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    at = (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined;
  }
  return at;
}
