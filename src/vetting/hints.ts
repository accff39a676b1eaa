import { objectAt } from '../base/json.ts';
import type { Item } from '../protocol/model.ts';
import { finding, several, type VettingFinding } from './finding.ts';
import { wordsOf } from './names.ts';

export const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;
type Hint = (typeof HINTS)[number];

/** What one tool says of itself: missing and `false` are different answers. */
export type Hints = Readonly<Record<Hint, boolean | 'missing'>>;

export function hintsOf(tool: Item): Hints {
  const stated = objectAt(tool, 'annotations') ?? {};
  const value = (hint: Hint) => {
    const given = stated[hint];
    return typeof given === 'boolean' ? given : 'missing';
  };
  return {
    readOnlyHint: value('readOnlyHint'),
    destructiveHint: value('destructiveHint'),
    idempotentHint: value('idempotentHint'),
    openWorldHint: value('openWorldHint'),
  };
}

/** First words of names that leave no doubt. Words such as `set`, `add` or `run` mean too many things. */
const WRITES = new Set(
  (
    'delete remove drop destroy erase purge truncate wipe write insert update upsert overwrite replace edit ' +
    'create rename move upload publish send kill uninstall install revoke cancel archive merge commit'
  ).split(' '),
);
const READS = new Set('get list read search find show describe view count lookup peek stat'.split(' '));

/** One finding for all tools of a server that leave something open: most servers leave it open for most. */
export function openHints(upstream: string, tools: readonly Item[]): readonly VettingFinding[] {
  const open = tools.filter((tool) => {
    const { readOnlyHint, destructiveHint } = hintsOf(tool);
    return readOnlyHint === 'missing' || (readOnlyHint === false && destructiveHint === 'missing');
  });
  const names = open.map((tool) => String(tool['name']));
  const about = { upstream, kind: 'tools', item: '', place: '/annotations' } as const;
  const reason = `${names.length} of ${tools.length} tools do not state readOnlyHint, or not destructiveHint where they write: ${several(names)}.`;
  return names.length === 0 ? [] : [finding('hint.missing', about, reason)];
}

const MORE_WRITES = new Set('add give post record report save set start store submit'.split(' '));

/** "Sends feedback": the name begins with a noun then, as `search_feedback` does. */
function saysItWrites({ description }: Item): boolean {
  const [first = ''] = typeof description === 'string' ? description.trim().toLowerCase().split(/\W/, 1) : [];
  const verb = first.replace(/s$/, '');
  return WRITES.has(verb) || MORE_WRITES.has(verb);
}

/** What the hints of one tool say against each other, or against its name. `prefix`: what all names there begin with. */
export function contradictions(upstream: string, tool: Item, prefix: string): readonly VettingFinding[] {
  const name = String(tool['name']);
  const { readOnlyHint, destructiveHint } = hintsOf(tool);
  const about = { upstream, kind: 'tools', item: name, place: '/annotations' } as const;
  const words = wordsOf(name);
  const [verb = '', ...rest] = words[0] === prefix ? words.slice(1) : words;
  const found: VettingFinding[] = [];
  if (readOnlyHint === true && destructiveHint === true) {
    found.push(finding('hint.contradiction', about, 'readOnlyHint and destructiveHint are both true.'));
  }
  if (readOnlyHint === true && WRITES.has(verb)) {
    const reason = `The name begins with "${verb}", and readOnlyHint is true.`;
    found.push(finding('hint.name-writes', about, reason));
  }
  // `get_or_create`, `read_and_delete`: the name says both.
  const isSaid = rest.some((word) => WRITES.has(word)) || saysItWrites(tool);
  if (READS.has(verb) && readOnlyHint !== true && !isSaid) {
    if (destructiveHint === true || readOnlyHint === false) {
      const hint = destructiveHint === true ? 'destructiveHint is true' : 'readOnlyHint is false';
      found.push(finding('hint.name-reads', about, `The name begins with "${verb}", and ${hint}.`));
    }
  }
  return found;
}
