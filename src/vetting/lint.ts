import { KIND_FACTS } from '../protocol/model.ts';
import { descriptionFindings, LONGEST_TEXT } from './descriptions.ts';
import { finding, type Offered, type VettingFinding } from './finding.ts';
import { hintFindings } from './hints.ts';
import { likenessFindings } from './likeness.ts';
import { type Foreign, mannerFindings } from './manner.ts';
import { nameFindings } from './names.ts';
import { schemaFindings } from './schema-rules.ts';
import { textsOf } from './texts.ts';

const KINDS_OF_TEXT = ['tools', 'prompts', 'templates'] as const;

/**
 * Everything odd in what these servers say of themselves, by server in the order given. Pure, in time that grows with the
 * length of what they say. Findings have stable ids and reasons: the same offers lead to the same findings.
 */
export function lint(offers: readonly Offered[]): readonly VettingFinding[] {
  const owners = ownersOf(offers);
  const alike = likenessFindings(offers);
  return offers.flatMap((offered) => [
    ...lintOne(offered, foreignTo(offered.upstream, owners)),
    ...alike.filter(({ upstream }) => upstream === offered.upstream),
  ]);
}

function lintOne({ upstream, instructions, lists }: Offered, foreign: Foreign): readonly VettingFinding[] {
  const tools = lists.tools ?? [];
  return [
    ...instructionFindings(upstream, instructions, foreign),
    ...hintFindings(upstream, tools),
    ...nameFindings(upstream, tools),
    ...schemaFindings(upstream, tools),
    ...KINDS_OF_TEXT.flatMap((kind) => descriptionFindings(upstream, kind, lists[kind] ?? [])),
    ...KINDS_OF_TEXT.flatMap((kind) =>
      (lists[kind] ?? []).flatMap((item) =>
        mannerFindings({ upstream, kind, item: String(item[KIND_FACTS[kind].key]) }, textsOf(item), foreign),
      ),
    ),
  ];
}

function instructionFindings(
  upstream: string,
  instructions: string | undefined,
  foreign: Foreign,
): readonly VettingFinding[] {
  if (instructions === undefined) {
    return [];
  }
  const about = { upstream, kind: 'server', item: '', place: '/instructions' } as const;
  const { length } = instructions.trim();
  return [
    ...(length > LONGEST_TEXT
      ? [finding('instructions.long', about, `They have ${length} characters.`)]
      : []),
    ...mannerFindings(about, [{ place: '/instructions', text: instructions }], foreign),
  ];
}

/** Which servers have a tool of this name, in lower case. Names of one plain word are words of any text. */
function ownersOf(offers: readonly Offered[]): ReadonlyMap<string, ReadonlySet<string>> {
  const owners = new Map<string, Set<string>>();
  for (const { upstream, lists } of offers) {
    for (const tool of lists.tools ?? []) {
      const name = String(tool['name']);
      if (/[A-Za-z0-9][_-][A-Za-z0-9]|[a-z][A-Z]/.test(name) && name.length >= 6) {
        const known = owners.get(name.toLowerCase()) ?? new Set();
        owners.set(name.toLowerCase(), known.add(upstream));
      }
    }
  }
  return owners;
}

function foreignTo(upstream: string, owners: ReadonlyMap<string, ReadonlySet<string>>): Foreign {
  return (words) =>
    words.filter((word) => {
      const known = owners.get(word);
      return known !== undefined && !known.has(upstream);
    });
}
