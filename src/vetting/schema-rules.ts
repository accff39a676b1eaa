import { isObject, type JsonObject, own } from '../base/json.ts';
import type { Item } from '../protocol/model.ts';
import { dialectOf } from './dialect.ts';
import { type About, finding, quoted, type VettingFinding } from './finding.ts';
import { isBeyondLinear } from './linear-pattern.ts';
import { at, below, LIST_OF_SCHEMAS, ONE_SCHEMA, SCHEMAS_BY_NAME, schemasIn } from './schemas.ts';

/** One of a kind is enough for one schema: a generator that errs once errs everywhere. */
const MOST_PER_SCHEMA = 5;

/** Spec: server/tools; case C-009. What makes the catalog leave a tool out or repair it is found there. */
export function schemaFindings(upstream: string, tools: readonly Item[]): readonly VettingFinding[] {
  return tools.flatMap((tool) => {
    const about = { upstream, kind: 'tools', item: String(tool['name']) } as const;
    return [
      ...(['inputSchema', 'outputSchema'] as const).flatMap((member) =>
        isObject(tool[member]) ? oneSchema({ ...about, place: `/${member}` }, tool[member]) : [],
      ),
      ...acceptsAnything(about, tool['inputSchema']),
    ];
  });
}

function oneSchema(about: About & { readonly place: string }, schema: JsonObject): readonly VettingFinding[] {
  if (dialectOf(schema) === undefined) {
    const reason = `Its $schema is ${quoted(String(schema['$schema']))}.`;
    return [finding('schema.dialect', { ...about, place: `${about.place}/$schema` }, reason)];
  }
  const found: VettingFinding[] = [];
  let anchors: ReadonlySet<string> | undefined;
  const named = () => (anchors ??= anchorsOf(schema));
  for (const { schema: part, place } of schemasIn(schema)) {
    const here = { ...about, place: about.place + place };
    const wrong = mistakeIn(part);
    if (wrong !== undefined) {
      found.push(finding('schema.invalid', { ...here, place: below(here.place, wrong.key) }, wrong.reason));
    }
    const { pattern } = part;
    if (typeof pattern === 'string' && isPattern(pattern) && isBeyondLinear(pattern)) {
      const reason = `Its pattern is ${quoted(pattern)}.`;
      found.push(finding('schema.pattern-unchecked', { ...here, place: `${here.place}/pattern` }, reason));
    }
    const lost = danglingIn(part, schema, named);
    if (lost !== undefined) {
      const reason = `It refers to ${quoted(lost)}, which is not there.`;
      found.push(finding('schema.broken-reference', { ...here, place: `${here.place}/$ref` }, reason));
    }
    if (found.length >= MOST_PER_SCHEMA) {
      break;
    }
  }
  return found;
}

const TYPES: ReadonlySet<unknown> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]);
const isText = (value: unknown) => typeof value === 'string';
const isCount = (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isNumber = (value: unknown) => typeof value === 'number';
const isFlag = (value: unknown) => typeof value === 'boolean';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isSchema = (value: unknown) => isObject(value) || isFlag(value);

/** What a keyword has to be, and how to say so. `exclusiveMinimum: true` is draft-04, which generators still write. */
const MUST_BE: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  type: [
    (value) => TYPES.has(value) || (Array.isArray(value) && value.every((each) => TYPES.has(each))),
    'a type',
  ],
  enum: [Array.isArray, 'a list'],
  required: [isTexts, 'a list of names'],
  pattern: [isPattern, 'a regular expression'],
  format: [isText, 'a text'],
  $ref: [isText, 'a text'],
  minimum: [isNumber, 'a number'],
  maximum: [isNumber, 'a number'],
  exclusiveMinimum: [isNumber, 'a number'],
  exclusiveMaximum: [isNumber, 'a number'],
  multipleOf: [(value) => typeof value === 'number' && value > 0, 'a number above 0'],
  minLength: [isCount, 'a count'],
  maxLength: [isCount, 'a count'],
  minItems: [isCount, 'a count'],
  maxItems: [isCount, 'a count'],
  minProperties: [isCount, 'a count'],
  maxProperties: [isCount, 'a count'],
  minContains: [isCount, 'a count'],
  maxContains: [isCount, 'a count'],
  uniqueItems: [isFlag, 'true or false'],
};

/** The first keyword that is not what JSON Schema says it is. */
function mistakeIn(schema: JsonObject): { readonly key: string; readonly reason: string } | undefined {
  for (const [key, value] of Object.entries(schema)) {
    const says = expectationOf(key, value);
    if (says !== undefined) {
      const given = quoted(JSON.stringify(value) ?? '', 40);
      return { key, reason: `${key} must be ${says}, and is ${given}.` };
    }
  }
  return undefined;
}

function expectationOf(key: string, value: unknown): string | undefined {
  const [fits, says] = own(MUST_BE, key) ?? [];
  if (fits !== undefined) {
    return fits(value) ? undefined : says;
  }
  if (SCHEMAS_BY_NAME.has(key)) {
    // `dependencies` of draft-07 may name other properties instead.
    const each = (member: unknown) => isSchema(member) || (key === 'dependencies' && isTexts(member));
    return isObject(value) && Object.values(value).every(each) ? undefined : 'a mapping to schemas';
  }
  const isList = LIST_OF_SCHEMAS.has(key) && Array.isArray(value) && value.every(isSchema);
  if (isList || (ONE_SCHEMA.has(key) && isSchema(value))) {
    return undefined;
  }
  if (LIST_OF_SCHEMAS.has(key) || ONE_SCHEMA.has(key)) {
    return ONE_SCHEMA.has(key) ? 'a schema' : 'a list of schemas';
  }
  return undefined;
}

/** Made, never run: making one takes time by its length alone. */
function isPattern(value: unknown): boolean {
  return isText(value) && ['u', ''].some((flags) => isRegExp(String(value), flags));
}

function isRegExp(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

/** A `$ref` into the same document that leads nowhere. Names of other documents are judged by the catalog. */
function danglingIn(
  part: JsonObject,
  root: JsonObject,
  anchors: () => ReadonlySet<string>,
): string | undefined {
  const { $ref: reference } = part;
  if (!isText(reference) || !String(reference).startsWith('#')) {
    return undefined;
  }
  const target = String(reference);
  if (target === '#' || anchors().has(target)) {
    return undefined;
  }
  const there = target.startsWith('#/') ? at(root, unescaped(target.slice(1))) : undefined;
  return isSchema(there) ? undefined : target;
}

function unescaped(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** Names given by `$anchor`, or by `$id` in the drafts before. With an `$id` inside, references start elsewhere: trusted. */
function anchorsOf(root: JsonObject): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const { schema } of schemasIn(root)) {
    for (const key of ['$anchor', '$dynamicAnchor', '$id'] as const) {
      const name = schema[key];
      if (typeof name === 'string') {
        anchors.add(name.startsWith('#') ? name : `#${name}`);
      }
    }
  }
  return anchors;
}

function acceptsAnything(about: About, schema: unknown): readonly VettingFinding[] {
  if (!isObject(schema) || Object.keys(schema).some((key) => NARROWS.has(key))) {
    return [];
  }
  const { properties, additionalProperties: others } = schema;
  const named = isObject(properties) ? Object.keys(properties).length : 0;
  if (named > 0 || (others !== undefined && others !== true && !isDeepEmpty(others))) {
    return [];
  }
  const reason = 'Its inputSchema names no property and does not refuse others.';
  return [finding('schema.accepts-anything', { ...about, place: '/inputSchema' }, reason)];
}

function isDeepEmpty(schema: unknown): boolean {
  return isObject(schema) && Object.keys(schema).length === 0;
}

/** With one of these a schema says more than its properties do. */
const NARROWS: ReadonlySet<string> = new Set([
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'maxProperties',
  'patternProperties',
  'propertyNames',
  'required',
  'unevaluatedProperties',
]);
