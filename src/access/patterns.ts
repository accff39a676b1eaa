import { type Reach, reachOf, type Wildcard, wildcard } from '../base/wildcard.ts';
import type { Item, Kind } from '../protocol/model.ts';

/** What a rule is asked about: an item under the name or URI that its upstream has for it. */
export interface Subject {
  /** `methods`: a method of an extension, which only patterns without a prefix name. */
  readonly kind: Kind | 'methods';
  readonly upstream: string;
  readonly original: string;
  /** Where its definition is known: `where` looks at its hints. */
  readonly item?: Item;
}

/** What a pattern can be narrowed to; templates count as resources. Methods of extensions have no prefix of their own. */
export type Aspect = 'tool' | 'prompt' | 'resource' | 'method';

export const ASPECTS = ['tool', 'prompt', 'resource', 'method'] as const satisfies readonly Aspect[];

const ASPECT_OF: Readonly<Record<Subject['kind'], Aspect>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  templates: 'resource',
  methods: 'method',
};

export function aspectOf({ kind }: Subject): Aspect {
  return ASPECT_OF[kind];
}

/** The text that patterns are about: `<upstream>.<original>`. No upstream id holds a dot, so it stands for one pair only. */
export function identityText({ upstream, original }: Subject): string {
  return `${upstream}.${original}`;
}

/** A list of patterns, as far as it concerns one aspect of one upstream. */
export interface Patterns {
  readonly reach: Reach;
  /** Takes an {@link identityText} of that upstream. */
  readonly match: Wildcard;
}

const NOTHING: Patterns = { reach: 'none', match: () => false };
const EVERYTHING_THERE: Patterns = { reach: 'all', match: () => true };

/** Only the patterns that can match anything there are kept, so that a long list of rules stays cheap for each item. */
export function patternsFor(texts: readonly string[], upstream: string, aspect: Aspect): Patterns {
  const near = texts.flatMap((text) => {
    const { only, pattern } = parsed(text);
    const reach = only === undefined || only === aspect ? reachOf(pattern, `${upstream}.`) : 'none';
    return reach === 'none' ? [] : [{ pattern, reach }];
  });
  if (near.length === 0) {
    return NOTHING;
  }
  if (near.some(({ reach }) => reach === 'all')) {
    return EVERYTHING_THERE;
  }
  const tests = near.map(({ pattern }) => wildcard(pattern));
  return { reach: 'some', match: (text) => tests.some((test) => test(text)) };
}

/** No upstream id holds a colon, so a prefix is never the beginning of an id. */
function parsed(text: string): { readonly only: Aspect | undefined; readonly pattern: string } {
  const only = (['tool', 'prompt', 'resource'] as const).find((prefix) => text.startsWith(`${prefix}:`));
  return { only, pattern: only === undefined ? text : text.slice(only.length + 1) };
}
