import { type Item, KIND_FACTS } from '../protocol/model.ts';
import { descriptionFindings, LONGEST_TEXT } from './descriptions.ts';
import { finding, type Offered, type VettingFinding } from './finding.ts';
import { contradictions, openHints } from './hints.ts';
import { type Around, type ItemFindings, Judged, type Owners } from './judged.ts';
import { likening } from './likeness.ts';
import { mannerFindings, type Surroundings } from './manner.ts';
import { nameFindings, prefixOf, wordsOf } from './names.ts';
import { schemaFindings } from './schema-rules.ts';
import { textsOf } from './texts.ts';

const KINDS_OF_TEXT = ['tools', 'prompts', 'templates'] as const;
type KindOfText = (typeof KINDS_OF_TEXT)[number];

/**
 * Everything odd in what these servers say of themselves, by server in the order given. Pure, in time that grows with the
 * length of what they say. Findings have stable ids and reasons: the same offers lead to the same findings.
 */
export function lint(offers: readonly Offered[]): readonly VettingFinding[] {
  const run = linting(offers, new Judged());
  let step = run.next();
  while (step.done !== true) {
    step = run.next();
  }
  return step.value;
}

/** The same as {@link lint}, in pieces of less than a millisecond for items of an ordinary size. */
export function* linting(
  offers: readonly Offered[],
  judged: Judged,
): Generator<undefined, readonly VettingFinding[]> {
  const owners = ownersOf(offers);
  const around = offers.map((offered) => surroundings(offered, owners));
  judged.among(owners, around);
  const found: VettingFinding[][] = [];
  for (const [at, offered] of offers.entries()) {
    found.push(yield* lintingOne(offered, around[at], judged));
  }
  const alike = yield* likening(offers, judged.bands);
  return offers.flatMap(({ upstream }, at) => [
    ...(found[at] ?? []),
    ...alike.filter((each) => each.upstream === upstream),
  ]);
}

function* lintingOne(
  { upstream, instructions, lists }: Offered,
  around: Around | undefined,
  judged: Judged,
): Generator<undefined, VettingFinding[]> {
  const tools = lists.tools ?? [];
  const found = [...instructionFindings(upstream, instructions, around), ...openHints(upstream, tools)];
  const since = judged.since(upstream);
  const items: ItemFindings[] = [];
  for (const kind of KINDS_OF_TEXT) {
    for (const item of lists[kind] ?? []) {
      yield;
      const known = judged.of(upstream, item);
      items.push(
        known?.since === since
          ? known
          : judged.keep(item, itemFindings(kind, item, { upstream, since, around, known })),
      );
    }
  }
  return [
    ...found,
    ...items.flatMap(({ hints }) => hints),
    ...items.flatMap(({ names }) => names),
    ...items.flatMap(({ schemas }) => schemas),
    ...items.flatMap(({ description }) => description),
    ...items.flatMap(({ manner }) => manner),
  ];
}

/** `known`: what was found when others were around. */
function itemFindings(
  kind: KindOfText,
  item: Item,
  {
    upstream,
    since,
    around,
    known,
  }: {
    readonly upstream: string;
    readonly since: number;
    readonly around: Around | undefined;
    readonly known: ItemFindings | undefined;
  },
): ItemFindings {
  const about = { upstream, kind, item: String(item[KIND_FACTS[kind].key]) };
  const isTool = kind === 'tools';
  return {
    upstream,
    since,
    hints: isTool ? contradictions(upstream, item, around?.prefix ?? '') : [],
    names: known?.names ?? (isTool ? nameFindings(upstream, [item]) : []),
    schemas: known?.schemas ?? (isTool ? schemaFindings(upstream, [item]) : []),
    description: known?.description ?? descriptionFindings(upstream, kind, [item]),
    manner: mannerFindings(about, textsOf(item), around),
  };
}

function instructionFindings(
  upstream: string,
  instructions: string | undefined,
  around: Surroundings | undefined,
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
    ...mannerFindings(about, [{ place: '/instructions', text: instructions }], around),
  ];
}

/** Names of one plain word are words of any text. */
function ownersOf(offers: readonly Offered[]): Owners {
  const owners = new Map<string, ReadonlySet<string>>();
  for (const { upstream, lists } of offers) {
    // Nearly all have one owner: no set for each of them.
    const alone = new Set([upstream]);
    for (const tool of lists.tools ?? []) {
      const name = String(tool['name']);
      if (/[A-Za-z0-9][_-][A-Za-z0-9]|[a-z][A-Z]/.test(name) && name.length >= 6) {
        const known = owners.get(name.toLowerCase());
        owners.set(name.toLowerCase(), known === undefined ? alone : new Set([...known, upstream]));
      }
    }
  }
  return owners;
}

/** A server speaks of its own tools by its id, or by what all their names begin with. */
function surroundings({ upstream, lists }: Offered, owners: Owners): Around {
  const prefix = prefixOf(lists.tools ?? []);
  return {
    upstream,
    prefix,
    foreign: (words) =>
      words.filter((word) => {
        const known = owners.get(word);
        return known !== undefined && !known.has(upstream);
      }),
    own: new Set([...wordsOf(upstream), ...(prefix === '' ? [] : [prefix])]),
  };
}
