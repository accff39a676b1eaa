import type { Subject } from './patterns.ts';
import { type Access, EVERYTHING } from './policy.ts';
import { CompiledRule, Judge, type Rule, type Ruling } from './rules.ts';

/** What belongs to a view, whoever asks: what of it somebody may use is for their Access to say. */
export interface ViewFilter extends Pick<Access, 'key' | 'shows' | 'sees'> {
  /** What `shows` says, with its reason. denied: `exclude` names it; unnamed: `include` does not. */
  ruling(subject: Subject): Pick<Ruling<Rule>, 'allowed' | 'because'>;
}

type ViewPatterns = { readonly include: readonly string[]; readonly exclude: readonly string[] };

const made = new WeakMap<ViewPatterns, ViewFilter>();

/** The filter of a view of the configuration, made once for each. `exclude` is read before `include`. */
export function viewFilter(view: ViewPatterns): ViewFilter {
  const filter = made.get(view) ?? createFilter(view);
  made.set(view, filter);
  return filter;
}

function createFilter({ include, exclude }: ViewPatterns): ViewFilter {
  if (exclude.length === 0 && include.includes('*')) {
    return EVERYTHING;
  }
  const rule: Rule = { allow: include, deny: exclude };
  const judge = new Judge([new CompiledRule(rule)], () => 'missing');
  return {
    key: JSON.stringify([include, exclude]),
    shows: (subject) => judge.allowedBy(subject) !== undefined,
    sees: (upstream) => judge.sees(upstream),
    ruling: (subject) => judge.ruling(subject),
  };
}
