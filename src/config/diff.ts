import { isDeepStrictEqual } from 'node:util';
import Type, { type TObject, type TSchema } from 'typebox';
import { check } from './check.ts';
import { rulesOf } from './judge.ts';
import { keepLines } from './lines.ts';
import { ConfigError, type Path, type Problem, pathText } from './problems.ts';
import { SETTINGS, type Settings, type UpstreamSettings } from './settings.ts';

/** What another configuration changes. Names and paths only: any value may be a secret. */
export interface SettingsDiff {
  readonly upstreams: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    /** A new process or connection takes the place of the old one. */
    readonly restarted: readonly string[];
    /** Others of their keys differ, which are looked at whenever they are needed. */
    readonly changed: readonly string[];
  };
  /** Paths of the other keys that differ: they hold from the next request on. */
  readonly changed: readonly string[];
  /** Those that keep their value until the gateway is started again. */
  readonly needRestart: readonly string[];
}

/** Keys of an upstream that are looked up whenever they are needed; a difference in any other one is another server. */
export const LIVE: ReadonlySet<string> = new Set<keyof UpstreamSettings>([
  'cache',
  'instructions',
  'namespace',
  'optional',
  'pins',
  'retry',
  'tools',
  'trust',
  'validate',
  'vetting',
]);

/** Whether an upstream that runs by the first settings has to be started anew for the second. */
export function restarts(running: UpstreamSettings, next: UpstreamSettings): boolean {
  return !isDeepStrictEqual(startedBy(running), startedBy(next));
}

function startedBy(settings: UpstreamSettings): unknown {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !LIVE.has(key)));
}

/** What `after` changes for a gateway that runs by `before`. */
export function diffSettings(before: Settings, after: Settings): SettingsDiff {
  const ids = Object.keys(after.upstreams);
  const both = ids.flatMap((id) => {
    const [old, now] = [before.upstreams[id], after.upstreams[id]];
    return old === undefined || now === undefined || isDeepStrictEqual(old, now) ? [] : [{ id, old, now }];
  });
  const keys = leavesOf(SETTINGS).filter(({ path }) => !isDeepStrictEqual(at(before, path), at(after, path)));
  const order = Object.keys(before.upstreams).filter((id) => Object.hasOwn(after.upstreams, id));
  const reordered = !isDeepStrictEqual(
    order,
    ids.filter((id) => Object.hasOwn(before.upstreams, id)),
  );
  return {
    upstreams: {
      added: ids.filter((id) => !Object.hasOwn(before.upstreams, id)),
      removed: Object.keys(before.upstreams).filter((id) => !Object.hasOwn(after.upstreams, id)),
      restarted: both.filter(({ old, now }) => restarts(old, now)).map(({ id }) => id),
      changed: both.filter(({ old, now }) => !restarts(old, now)).map(({ id }) => id),
    },
    changed: [
      ...keys.filter(({ fixed }) => !fixed).map(({ path }) => pathText(path)),
      ...(reordered ? ['upstreams (order)'] : []),
    ],
    needRestart: keys.filter(({ fixed }) => fixed).map(({ path }) => pathText(path)),
  };
}

/** In words, a line each: what is added, removed, started anew, changed, and what has to wait. */
export function diffLines({ upstreams, changed, needRestart }: SettingsDiff): readonly string[] {
  const lines: readonly (readonly [string, readonly string[]])[] = [
    ['added', upstreams.added],
    ['removed', upstreams.removed],
    ['started anew', upstreams.restarted],
    ['changed without a restart', upstreams.changed],
    ['other keys', changed],
    ['keep their values until the gateway is started again', needRestart],
  ];
  return lines.flatMap(([what, names]) => (names.length === 0 ? [] : [`${what}: ${names.join(', ')}`]));
}

/** Whether there is any difference. */
export function isSame({ upstreams, changed, needRestart }: SettingsDiff): boolean {
  return [...Object.values(upstreams), changed, needRestart].every((list) => list.length === 0);
}

/**
 * The next settings as a running gateway can take them: keys that need a restart keep their value, and what is equal stays
 * the same object. Throws a ConfigError where that makes no sense, such as no sign-in on an address that only the next
 * start would change to loopback.
 */
export function runnable(before: Settings, next: Settings): Settings {
  const kept = leavesOf(SETTINGS)
    .filter(({ fixed }) => fixed)
    .reduce((settings, { path }) => withValue(settings, path, at(before, path)), next);
  const settings = reusing(before, kept);
  const problems: Problem[] = [];
  check(settings, (path: Path, message: string) => {
    problems.push({ path: pathText(path), line: 0, column: 0, message });
  });
  if (problems.length > 0) {
    throw new ConfigError(problems, 'with the values that need a restart as they are now');
  }
  return Object.freeze(settings);
}

export interface Leaf {
  readonly path: readonly string[];
  /** It keeps its value while the gateway runs. */
  readonly fixed: boolean;
}

/** The keys outside of upstreams that have a value of their own. */
export function leavesOf(section: TObject, before: readonly string[] = []): readonly Leaf[] {
  return Object.entries<TSchema>(section.properties).flatMap(([key, child]) => {
    const path = [...before, key];
    if (path.join() === 'upstreams') {
      return [];
    }
    return Type.IsObject(child) ? leavesOf(child, path) : [{ path, fixed: rulesOf(child).restart === true }];
  });
}

export function at(settings: Settings, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Record<string, unknown> | undefined)?.[key],
    settings,
  );
}

function withValue<T extends object>(holder: T, [key = '', ...rest]: readonly string[], value: unknown): T {
  if (rest.length > 0) {
    const inner = (holder as Record<string, object>)[key];
    return { ...holder, [key]: withValue(inner ?? {}, rest, value) };
  }
  if (value === undefined) {
    const { [key]: _gone, ...others } = holder as Record<string, unknown>;
    return others as T;
  }
  return { ...holder, [key]: value };
}

/** Sections and upstreams that say the same stay the same objects: whoever keeps something by them need not notice. */
function reusing(before: Settings, next: Settings): Settings {
  const same = <T>(old: T, now: T): T => (isDeepStrictEqual(old, now) ? old : now);
  if (isDeepStrictEqual(before.access, next.access)) {
    keepLines(before.access, next.access);
  }
  const upstreams: Record<string, UpstreamSettings> = Object.create(null);
  for (const [id, now] of Object.entries(next.upstreams)) {
    upstreams[id] = same(before.upstreams[id] ?? now, now);
  }
  const sections = Object.entries(next).map(([key, now]) => [key, same(at(before, [key]), now)]);
  return { ...next, ...Object.fromEntries(sections), upstreams: Object.freeze(upstreams) };
}
