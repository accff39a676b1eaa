import { isObject, type JsonObject, own } from '../base/json.ts';
import { canonical, same } from './definition.ts';
import {
  ALSO,
  BOUNDS,
  boundEffect,
  type Effect,
  enumEffect,
  HARMLESS,
  isOpen,
  LOOKS,
  MEANS,
  NARROWS,
  OPEN,
  typeEffect,
  UNLOOKED,
} from './keyword-growth.ts';
import { areApart, turnsReferences } from './schema-overlap.ts';
import { below } from './schemas.ts';
import { toldChange } from './told-change.ts';

export interface SchemaChange {
  readonly place: string;
  readonly effect: Effect;
  readonly says: string;
}

/** Deeper than the catalog lets a definition be. */
const DEEPEST = 256;

/**
 * Every difference of two schemas, in the order of the new one. Equal but for the order of keys is no difference. Where all
 * of them are wider or harmless, what fitted the first fits the second; where all are narrower or harmless, the other way
 * round. Whatever cannot be told from one keyword and its neighbours is a change of meaning.
 */
export function schemaChanges(before: unknown, after: unknown): readonly SchemaChange[] {
  const changes = partChanges(before, after, '', 0);
  const isUnsure = changes.length > 0 && (turnsReferences(before) || turnsReferences(after));
  return isUnsure
    ? changes.map((change) => (change.effect === 'harmless' ? change : { ...change, effect: 'meaning' }))
    : changes;
}

function partChanges(before: unknown, after: unknown, place: string, depth: number): readonly SchemaChange[] {
  if (same(before, after)) {
    return [];
  }
  const [old, now] = [asObject(before), asObject(after)];
  if (old === undefined || now === undefined || depth > DEEPEST) {
    return [{ place, effect: effectOfBoolean(before, after), says: 'the schema was replaced' }];
  }
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return keys
    .filter((key) => !same(own(old, key), own(now, key)))
    .flatMap((key) => keywordChanges(key, old, now, { place: below(place, key), depth }));
}

/** `true` is the schema of everything; `false` stays what it is: the schema of nothing. */
function asObject(schema: unknown): JsonObject | undefined {
  return schema === true ? {} : isObject(schema) ? schema : undefined;
}

function effectOfBoolean(before: unknown, after: unknown): Effect {
  return after === false ? 'narrower' : before === false ? 'wider' : 'meaning';
}

interface Where {
  readonly place: string;
  readonly depth: number;
}

function keywordChanges(
  key: string,
  old: JsonObject,
  now: JsonObject,
  where: Where,
): readonly SchemaChange[] {
  const [before, after] = [own(old, key), own(now, key)];
  const change = (effect: Effect, says: string): readonly SchemaChange[] => [
    { place: where.place, effect, says },
  ];
  const deeper = (one: unknown, other: unknown, place = where.place) =>
    partChanges(one, other, place, where.depth + 1);
  if (HARMLESS.has(key)) {
    return change('harmless', `${key} was changed`);
  }
  if (MEANS.has(key)) {
    return change('meaning', toldChange(key, before, after));
  }
  // What these look at decides what is left for the keywords about what nobody looked at.
  if (LOOKS.has(key) && UNLOOKED.some((each) => !isOpen(old[each]) || !isOpen(now[each]))) {
    return change('meaning', toldChange(key, before, after));
  }
  if (key === 'type') {
    return change(typeEffect(before, after), `the type was ${text(before)} and is ${text(after)}`);
  }
  if (key === 'enum') {
    return change(enumEffect(before, after), 'the choices were changed');
  }
  if (Object.hasOwn(BOUNDS, key)) {
    return change(boundEffect(key, before, after), `${key} was ${text(before)} and is ${text(after)}`);
  }
  if (key === 'required') {
    return requiredChanges(names(before), names(after), where);
  }
  if (key === 'properties' || key === 'patternProperties' || key === '$defs' || key === 'definitions') {
    const isClosed = [old, now].some((each) =>
      ['additionalProperties', 'unevaluatedProperties'].some((rest) => !isOpen(each[rest])),
    );
    const refused = old['additionalProperties'] === false && old['patternProperties'] === undefined;
    const others = refused ? 'refused' : isClosed ? 'judged' : 'welcome';
    return namedChanges(key, asNames(before), asNames(after), { ...where, others });
  }
  if (OPEN.has(key) && !Array.isArray(before) && !Array.isArray(after)) {
    return deeper(before ?? true, after ?? true);
  }
  if (ALSO.has(key) && (before === undefined || after === undefined)) {
    return change(
      before === undefined ? 'narrower' : 'wider',
      `${key} was ${before === undefined ? 'added' : 'removed'}`,
    );
  }
  if (key === 'anyOf' || key === 'oneOf' || key === 'allOf') {
    return choiceChanges(key, before, after, where);
  }
  // More that are counted are fine until there are too many.
  if (key === 'contains' && (Object.hasOwn(old, 'maxContains') || Object.hasOwn(now, 'maxContains'))) {
    return change('meaning', toldChange(key, before, after));
  }
  // What the list of first items does not cover is judged by the keyword about the rest.
  if (
    key === 'prefixItems' &&
    (!isOpen(old['items']) || !isOpen(now['items'])) &&
    !isSameLength(before, after)
  ) {
    return change('meaning', toldChange(key, before, after));
  }
  if (
    (key === 'prefixItems' || key === 'items') &&
    Array.isArray(before) &&
    Array.isArray(after) &&
    isSameLength(before, after)
  ) {
    return before.flatMap((each, at) => deeper(each, after[at], below(where.place, at)));
  }
  if (before === undefined && NARROWS.has(key)) {
    return change('narrower', `${key} was added`);
  }
  if (after === undefined && NARROWS.has(key)) {
    return change('wider', `${key} was removed`);
  }
  if (ALSO.has(key)) {
    return deeper(before, after);
  }
  return change('meaning', toldChange(key, before, after));
}

function isSameLength(one: unknown, other: unknown): boolean {
  return asList(one)?.length === asList(other)?.length;
}

function requiredChanges(
  before: readonly string[],
  after: readonly string[],
  { place }: Where,
): readonly SchemaChange[] {
  const now = after.filter((name) => !before.includes(name));
  const not = before.filter((name) => !after.includes(name));
  return [
    ...now.map((name): SchemaChange => ({ place, effect: 'narrower', says: `${name} is required now` })),
    ...not.map(
      (name): SchemaChange => ({ place, effect: 'wider', says: `${name} is not required any more` }),
    ),
  ];
}

/**
 * Definitions that nothing refers to yet mean nothing, unless they have names of their own; patterns that come or go judge
 * values that were there before. Where others are refused, a member that comes lets them in; where they are judged, it may do either.
 */
function namedChanges(
  key: string,
  before: JsonObject,
  after: JsonObject,
  { place, depth, others }: Where & { readonly others: 'welcome' | 'judged' | 'refused' },
): readonly SchemaChange[] {
  const isPattern = key === 'patternProperties';
  const isDefinition = key !== 'properties' && !isPattern;
  const ofDefinition = (schema: unknown): Effect =>
    /"\$(?:id|anchor|dynamicAnchor)"/.test(JSON.stringify(schema) ?? '') ? 'meaning' : 'harmless';
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap(
    (name): readonly SchemaChange[] => {
      const here = below(place, name);
      if (!Object.hasOwn(before, name)) {
        const ofPattern = others === 'welcome' ? 'narrower' : 'meaning';
        const effect = isDefinition ? ofDefinition(after[name]) : isPattern ? ofPattern : COMES[others];
        return [{ place: here, effect, says: `${name} was added` }];
      }
      if (!Object.hasOwn(after, name)) {
        // A reference that still needs it is broken, and found where it stands.
        const ofPattern = others === 'welcome' ? 'wider' : 'meaning';
        const effect = isDefinition ? ofDefinition(before[name]) : isPattern ? ofPattern : 'removed';
        return [{ place: here, effect, says: `${name} was removed` }];
      }
      return partChanges(before[name], after[name], here, depth + 1);
    },
  );
}

const COMES = { welcome: 'added', judged: 'meaning', refused: 'wider' } as const;

/** Alternatives that are in both lists say nothing; what is left is compared one by one where the counts agree. */
function choiceChanges(
  key: string,
  before: unknown,
  after: unknown,
  { place, depth }: Where,
): readonly SchemaChange[] {
  const [old, now] = [asList(before), asList(after)];
  // Without the keyword everything fits: to begin to choose is to narrow, whatever the choices are.
  if (old === undefined || now === undefined) {
    const began = old === undefined;
    return [
      { place, effect: began ? 'narrower' : 'wider', says: `${key} was ${began ? 'added' : 'removed'}` },
    ];
  }
  // One more that fits may be one too many.
  if (key === 'oneOf' && !(areApart(old) && areApart(now))) {
    return [
      { place, effect: 'meaning', says: 'the alternatives of oneOf were changed, and more than one may fit' },
    ];
  }
  const [oldTexts, newTexts] = [new Set(old.map(canonical)), new Set(now.map(canonical))];
  const gone = old.filter((each) => !newTexts.has(canonical(each)));
  const come = now.flatMap((each, at) => (oldTexts.has(canonical(each)) ? [] : [{ each, at }]));
  if (gone.length === come.length) {
    return come.flatMap(({ each, at }, index) => partChanges(gone[index], each, below(place, at), depth + 1));
  }
  if (gone.length > 0 && come.length > 0) {
    return [{ place, effect: 'meaning', says: `the alternatives of ${key} were changed` }];
  }
  const more = come.length > 0;
  const effect = more === (key !== 'allOf') ? 'wider' : 'narrower';
  return [{ place, effect, says: `${key} has ${more ? 'more' : 'fewer'} parts` }];
}

function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function asNames(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function names(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name): name is string => typeof name === 'string') : [];
}

function text(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value);
}
