import { objectAt } from '../base/json.ts';
import { wildcard } from '../base/wildcard.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Item } from '../protocol/model.ts';
import type { Finding, ListPart } from './part.ts';

type ToolSettings = UpstreamSettings['tools'];
type Annotations = ToolSettings['annotate'][string];

/** The members of `annotations`, by the words of the configuration. */
const MEMBERS = {
  title: 'title',
  readOnly: 'readOnlyHint',
  destructive: 'destructiveHint',
  idempotent: 'idempotentHint',
  openWorld: 'openWorldHint',
} as const satisfies Record<keyof Annotations, string>;

/**
 * The tools of an upstream as the configuration wants them: those that are not allowed are gone for everybody, others
 * have another description or other annotations in the place of their own, every other member untouched and in order.
 * Names in items stay those of the server; new ones are in `renamed`, for the catalog to expose. A list that was shaped
 * before is shaped anew, from what it was.
 */
export function shapeTools(given: ListPart, settings: ToolSettings): ListPart {
  const list = given.unshaped ?? given;
  const judge = toolJudge(settings);
  const servesAll = settings.deny.length === 0 && settings.allow.includes('*');
  const served = servesAll ? list.items : list.items.filter((item) => judge(nameOf(item)).there);
  const shaped = served.map((item) => shapedItem(item, settings));
  const renamed = new Map(Object.entries(settings.rename));
  return {
    ...list,
    items: shaped,
    findings: [...list.findings, ...strangers(list.items, settings)],
    unshaped: list,
    ...(renamed.size === 0 ? {} : { renamed }),
  };
}

/** Whether the configuration lets a tool be there, and the pattern that says so; without one nothing allows it. */
export interface ToolVerdict {
  readonly there: boolean;
  readonly pattern: string | undefined;
}

/** Takes the name that the server has for the tool. `deny` is read before `allow`. */
export function toolJudge({
  allow,
  deny,
}: Pick<ToolSettings, 'allow' | 'deny'>): (name: string) => ToolVerdict {
  const compiled = (patterns: readonly string[]) =>
    patterns.map((pattern) => ({ pattern, test: wildcard(pattern) }));
  const [denied, allowed] = [compiled(deny), compiled(allow)];
  return (name) => {
    const refused = denied.find(({ test }) => test(name));
    const found = refused ?? allowed.find(({ test }) => test(name));
    return { there: refused === undefined && found !== undefined, pattern: found?.pattern };
  };
}

function nameOf(item: Item): string {
  return String(item['name']);
}

function shapedItem(item: Item, { describe, annotate }: ToolSettings): Item {
  const name = nameOf(item);
  const description = Object.hasOwn(describe, name) ? describe[name] : undefined;
  const given = Object.hasOwn(annotate, name) ? annotate[name] : undefined;
  if (description === undefined && given === undefined) {
    return item;
  }
  return {
    ...item,
    ...(description === undefined ? {} : { description }),
    ...(given === undefined ? {} : { annotations: annotated(item, given) }),
  };
}

function annotated(item: Item, given: Annotations): Item {
  const own = Object.entries(given).map(([word, value]) => [MEMBERS[word as keyof Annotations], value]);
  return { ...objectAt(item, 'annotations'), ...Object.fromEntries(own) };
}

const SAYS = { rename: 'renames', describe: 'describes', annotate: 'annotates' } as const;

/** Settings for tools that the server does not have: a typing error, or a tool that is gone. */
function strangers(items: readonly Item[], settings: ToolSettings): readonly Finding[] {
  let names: ReadonlySet<string> | undefined;
  const isThere = (name: string) => {
    names ??= new Set(items.map(nameOf));
    return names.has(name);
  };
  return (['rename', 'describe', 'annotate'] as const).flatMap((key) =>
    Object.keys(settings[key])
      .filter((name) => !isThere(name))
      .map(
        (name): Finding => ({
          id: 'tool.not-there',
          severity: 'warning',
          kind: 'tools',
          item: name,
          reason: `The configuration ${SAYS[key]} it (tools.${key}), but the server has no tool of this name.`,
          advice: 'Correct the name, or take it out of the configuration.',
        }),
      ),
  );
}
