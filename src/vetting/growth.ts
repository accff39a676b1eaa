import { isObject, type JsonObject, own } from '../base/json.ts';
import type { Item } from '../protocol/model.ts';
import { type PinnedKind, salient, same } from './definition.ts';
import type { Effect } from './keyword-growth.ts';
import { schemaChanges } from './schema-growth.ts';
import { below } from './schemas.ts';
import { toldChange } from './told-change.ts';

/** grown: whoever relies on the old definition is served as before. broken: not so, or nobody can tell. */
export type Growth = 'grown' | 'broken';

export interface Difference {
  readonly growth: Growth;
  /** JSON pointer within the definition. */
  readonly place: string;
  readonly says: string;
}

/**
 * Every difference of two definitions of one tool, prompt or resource template, classed by the rules of
 * docs/decisions/0032-vetting.md. What only the order of keys tells apart is none. A text that was changed is broken: what
 * a model reads is what a tool means, and whether it still means the same nobody but a person can say.
 */
export function growth(kind: PinnedKind, before: Item, after: Item): readonly Difference[] {
  const [old, now] = [salient(before), salient(after)];
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return keys
    .filter((key) => !same(own(old, key), own(now, key)))
    .flatMap((key) => (own(MEMBERS[kind], key) ?? otherMember)(own(old, key), own(now, key), `/${key}`));
}

type Member = (before: unknown, after: unknown, place: string) => readonly Difference[];

const MEMBERS: Readonly<Record<PinnedKind, Readonly<Record<string, Member>>>> = {
  tools: {
    name: renamed,
    inputSchema: (before, after, place) => schemaDifferences('in', before, after, place),
    outputSchema,
    annotations: hints,
    execution,
  },
  prompts: { name: renamed, arguments: promptArguments },
  templates: { uriTemplate: renamed, annotations: contentAnnotations },
};

/** A text that a model reads as it is. */
export function textChange(place: string, before: string, after: string): readonly Difference[] {
  return otherMember(before, after, place);
}

const broken = (place: string, says: string): readonly Difference[] => [{ growth: 'broken', place, says }];
const grown = (place: string, says: string): readonly Difference[] => [{ growth: 'grown', place, says }];

function otherMember(before: unknown, after: unknown, place: string): readonly Difference[] {
  return broken(place, toldChange(place.slice(place.lastIndexOf('/') + 1), before, after));
}

function renamed(before: unknown, after: unknown, place: string): readonly Difference[] {
  return broken(place, `it was ${JSON.stringify(before)} and is ${JSON.stringify(after)}`);
}

/** Arguments go in: what fitted has to fit. Results come out: what comes has to have fitted. */
function schemaDifferences(
  way: 'in' | 'out',
  before: unknown,
  after: unknown,
  place: string,
): readonly Difference[] {
  return schemaChanges(before, after).map(({ effect, ...change }) => ({
    growth: growthOf(effect, way),
    place: place + change.place,
    says: change.says,
  }));
}

function growthOf(effect: Effect, way: 'in' | 'out'): Growth {
  switch (effect) {
    case 'harmless':
    case 'added':
      return 'grown';
    case 'wider':
      return way === 'in' ? 'grown' : 'broken';
    case 'narrower':
      return way === 'in' ? 'broken' : 'grown';
    default:
      return 'broken';
  }
}

function outputSchema(before: unknown, after: unknown, place: string): readonly Difference[] {
  if (before === undefined) {
    return grown(place, 'results are described now');
  }
  if (after === undefined) {
    return broken(place, 'results are not described any more');
  }
  return schemaDifferences('out', before, after, place);
}

/** What a missing hint stands for (spec: schema, ToolAnnotations). */
const DEFAULTS: JsonObject = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/** To state what a missing hint stands for anyway changes nothing. Any other change moves who is asked before a call. */
function hints(before: unknown, after: unknown, place: string): readonly Difference[] {
  const [old, now] = [asObject(before), asObject(after)];
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return keys
    .filter((key) => !same(own(old, key), own(now, key)))
    .flatMap((key) => {
      const here = below(place, key);
      if (!Object.hasOwn(DEFAULTS, key)) {
        return otherMember(own(old, key), own(now, key), here);
      }
      const [was, is] = [own(old, key) ?? DEFAULTS[key], own(now, key) ?? DEFAULTS[key]];
      if (was === is) {
        return grown(
          here,
          `it is ${own(now, key) === undefined ? 'not stated any more' : 'stated now'}, as the same`,
        );
      }
      const promises = is !== DEFAULTS[key];
      return broken(
        here,
        promises
          ? `it is ${is} now: clients may stop asking`
          : `it is ${is} now: what was promised is taken back`,
      );
    });
}

/** Whether a call may or must become a task (spec 2025-11-25: basic/utilities/tasks). */
function execution(before: unknown, after: unknown, place: string): readonly Difference[] {
  const [old, now] = [asObject(before), asObject(after)];
  const support = (given: JsonObject) => given['taskSupport'] ?? 'forbidden';
  const rest = same({ ...old, taskSupport: '' }, { ...now, taskSupport: '' });
  const here = below(place, 'taskSupport');
  if (!rest) {
    return otherMember(before, after, place);
  }
  return support(now) === 'optional'
    ? grown(here, 'calls may become tasks or not')
    : same(support(old), support(now))
      ? []
      : broken(here, `taskSupport was ${support(old)} and is ${support(now)}`);
}

/** Some clients take the arguments of a prompt by their place, so their order counts. */
function promptArguments(before: unknown, after: unknown, place: string): readonly Difference[] {
  const [old, now] = [argumentsOf(before), argumentsOf(after)];
  const order = [...now.keys()].filter((name) => old.has(name));
  const kept = [...old.keys()].filter((name) => now.has(name));
  return [
    ...[...old].flatMap(([name, argument]) =>
      argumentDifferences(name, argument, now.get(name), below(place, name)),
    ),
    ...[...now.entries()]
      .filter(([name]) => !old.has(name))
      .flatMap(([name, argument]) => newArgument(name, argument, below(place, name))),
    ...(same(order, kept) ? [] : broken(place, 'the arguments have another order')),
  ];
}

function newArgument(name: string, argument: JsonObject, place: string): readonly Difference[] {
  return argument['required'] === true
    ? broken(place, `${name} was added and is required`)
    : grown(place, `${name} was added`);
}

function argumentDifferences(
  name: string,
  old: JsonObject,
  now: JsonObject | undefined,
  place: string,
): readonly Difference[] {
  if (now === undefined) {
    return broken(place, `${name} was removed`);
  }
  const [was, is] = [old['required'] === true, now['required'] === true];
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((key) => key !== 'required');
  return [
    ...(was === is
      ? []
      : is
        ? broken(place, `${name} is required now`)
        : grown(place, `${name} is not required any more`)),
    ...keys
      .filter((key) => !same(own(old, key), own(now, key)))
      .flatMap((key) => otherMember(own(old, key), own(now, key), below(place, key))),
  ];
}

function argumentsOf(value: unknown): ReadonlyMap<string, JsonObject> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  return new Map(list.filter(isObject).map((argument) => [String(argument['name']), argument]));
}

/** When something was last changed is news of the day. */
function contentAnnotations(before: unknown, after: unknown, place: string): readonly Difference[] {
  const timeless = (value: unknown) => ({ ...asObject(value), lastModified: '' });
  return same(timeless(before), timeless(after)) ? [] : otherMember(before, after, place);
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
