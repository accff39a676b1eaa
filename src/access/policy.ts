import { createHash } from 'node:crypto';
import { objectAt } from '../base/json.ts';
import type { Settings } from '../config/settings.ts';
import type { Subject } from './patterns.ts';
import type { Principal } from './principal.ts';
import { CompiledRule, type HintName, type HintValue, Judge, type Ruling } from './rules.ts';

export type { Subject } from './patterns.ts';

/** What rules say of something to one principal, and why. */
export interface AccessRuling extends Omit<Ruling<AccessRule>, 'rule'> {
  /** Position of the rule that decided, from 0; undefined where none did, and where there are no rules. */
  readonly rule: number | undefined;
}

/** What one principal may use: the same for every naming style and every view. */
export interface Access {
  /** Equal for principals to whom every rule says the same; what is made for one of them serves the others. */
  readonly key: string;
  /** Whether it may be listed and named at all. */
  shows(subject: Subject): boolean;
  /** Scopes that a use of it needs, whether the principal has them or not. */
  needed(subject: Subject): readonly string[];
  /** Scopes that a use of it needs and the principal lacks; empty where it may be used. */
  lacking(subject: Subject): readonly string[];
  /** Whether anything of this upstream may be used at all, as far as the rules alone can tell. */
  sees(upstream: string): boolean;
  /** What {@link shows} says, with its reason. */
  ruling(subject: Subject): AccessRuling;
}

/** No rule: everything. */
export const EVERYTHING: Access = {
  key: '',
  shows: () => true,
  needed: () => [],
  lacking: () => [],
  sees: () => true,
  ruling: () => ({ allowed: true, because: 'allowed', rule: undefined }),
};

/** What one principal may use. */
export type Policy = (principal: Principal) => Access;

type PolicySettings = Pick<Settings, 'access' | 'upstreams'>;
type AccessRule = Settings['access'][number];

/** Most sets of rights whose judgements are kept ready; what is dropped is made again when it is needed. */
const MOST_KEPT = 256;

/**
 * The rules of the configuration: without any, everybody may use everything; with some, what the first one that names
 * it does not allow, and what none names, is denied (design, Contract). Principals with equal rights share one Access.
 */
export function createPolicy(settings: PolicySettings): Policy {
  if (settings.access.length === 0) {
    return () => EVERYTHING;
  }
  const rules = settings.access.map((rule, index) => ({ index, compiled: new CompiledRule(rule) }));
  const believed = (tool: Subject, name: HintName) => believedHint(settings, tool, name).value;
  // What others keep by the key of an Access must not outlive a change of the rules.
  const version = digestOf(settings);
  const kept = new Map<string, Access>();
  const known = new WeakMap<Principal, Access>();
  const find = (principal: Principal): Access => {
    const theirs = rules.filter(({ compiled }) => isMeant(compiled.rule.who, principal));
    const missing = new Map(theirs.map(({ compiled: { rule } }) => [rule, missingOf(rule, principal)]));
    const key = JSON.stringify([
      version,
      ...theirs.map(({ index, compiled }) => [index, missing.get(compiled.rule)]),
    ]);
    const judge = () =>
      new Judge(
        theirs.map(({ compiled }) => compiled),
        believed,
      );
    const access = kept.get(key) ?? accessOf(key, judge(), missing, settings.access);
    kept.delete(key);
    kept.set(key, access);
    const [oldest] = kept.keys();
    if (kept.size > MOST_KEPT && oldest !== undefined) {
      kept.delete(oldest);
    }
    return access;
  };
  return (principal) => {
    const access = known.get(principal) ?? find(principal);
    known.set(principal, access);
    return access;
  };
}

/** It holds nothing of the principal it was first made for: others share it. */
function accessOf(
  key: string,
  judge: Judge<AccessRule>,
  missing: ReadonlyMap<AccessRule, readonly string[]>,
  all: readonly AccessRule[],
): Access {
  const deciding = (subject: Subject) => judge.allowedBy(subject);
  return {
    key,
    shows: (subject) => deciding(subject) !== undefined,
    needed: (subject) => deciding(subject)?.scopes ?? [],
    lacking: (subject) => {
      const rule = deciding(subject);
      return rule === undefined ? [] : (missing.get(rule) ?? []);
    },
    sees: (upstream) => judge.sees(upstream),
    ruling: (subject) => numbered(judge.ruling(subject), all),
  };
}

function numbered({ rule, ...why }: Ruling<AccessRule>, all: readonly AccessRule[]): AccessRuling {
  return { ...why, rule: rule && all.indexOf(rule) };
}

/** What every rule that names it says of it by itself, whoever asks; in their order. */
export function rulesAbout(settings: PolicySettings, subject: Subject): readonly AccessRuling[] {
  const believed = (tool: Subject, name: HintName) => believedHint(settings, tool, name).value;
  return settings.access
    .map((rule) => numbered(new Judge([new CompiledRule(rule)], believed).ruling(subject), settings.access))
    .filter(({ rule }) => rule !== undefined);
}

function missingOf({ scopes }: AccessRule, principal: Principal): readonly string[] {
  return scopes.filter((scope) => !principal.scopes.includes(scope));
}

/** Each key that is given has to hold; a rule that names nobody is for nobody. */
function isMeant({ groups, scopes, ids, anyone }: AccessRule['who'], principal: Principal): boolean {
  const namesSomebody = anyone || groups.length + scopes.length + ids.length > 0;
  return (
    namesSomebody &&
    (groups.length === 0 || groups.some((group) => principal.groups.includes(group))) &&
    scopes.every((scope) => principal.scopes.includes(scope)) &&
    (ids.length === 0 || ids.includes(principal.id))
  );
}

/** What is believed of a hint, and by whose word. unheard: the server gives one, and is not trusted. */
export interface BelievedHint {
  readonly value: HintValue;
  readonly from: 'configuration' | 'server' | 'unheard' | 'nobody';
}

/** The configuration's own word first; that of the server where it is trusted; else nothing is known. */
export function believedHint(
  { upstreams }: Pick<Settings, 'upstreams'>,
  tool: Subject,
  name: HintName,
): BelievedHint {
  const upstream = upstreams[tool.upstream];
  const given = upstream?.tools.annotate;
  const own = given !== undefined && Object.hasOwn(given, tool.original) ? given[tool.original] : undefined;
  if (own?.[name] !== undefined) {
    return { value: own[name], from: 'configuration' };
  }
  const said = objectAt(tool.item, 'annotations')?.[`${name}Hint`];
  if (typeof said !== 'boolean') {
    return { value: 'missing', from: 'nobody' };
  }
  return upstream?.trust.annotations === true
    ? { value: said, from: 'server' }
    : { value: 'missing', from: 'unheard' };
}

function digestOf({ access, upstreams }: PolicySettings): string {
  const hints = Object.entries(upstreams).map(([id, { tools, trust }]) => [id, tools.annotate, trust]);
  return createHash('sha256')
    .update(JSON.stringify([access, hints]))
    .digest('base64url')
    .slice(0, 12);
}
