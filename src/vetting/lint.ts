import { type Item, KIND_FACTS } from '../protocol/model.ts';
import { descriptionFindings, LONGEST_TEXT } from './descriptions.ts';
import { finding, type Offered, type VettingFinding } from './finding.ts';
import { hintFindings } from './hints.ts';
import { likening } from './likeness.ts';
import { mannerFindings, type Surroundings } from './manner.ts';
import { nameFindings, prefixOf, wordsOf } from './names.ts';
import { schemaFindings } from './schema-rules.ts';
import { textsOf } from './texts.ts';

const KINDS_OF_TEXT = ['tools', 'prompts', 'templates'] as const;
type KindOfText = (typeof KINDS_OF_TEXT)[number];

/** Which servers have a tool of a name, in lower case. */
type Owners = ReadonlyMap<string, ReadonlySet<string>>;

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

/** What was found about single items by one run, for the next one: most of them say the same then. */
export class Judged {
  #found = new WeakMap<Item, ItemFindings>();
  #names = '';

  /** Texts are judged by whose tools they name, and by which words: where there are others now, all are judged anew. */
  among(owners: Owners, own: readonly ReadonlySet<string>[]): void {
    const names = JSON.stringify([
      [...owners].map(([name, servers]) => [name, [...servers]]),
      own.map((words) => [...words]),
    ]);
    if (names !== this.#names) {
      this.#names = names;
      this.#found = new WeakMap();
    }
  }

  /** Equal items of two servers may be one object. */
  of(upstream: string, item: Item): ItemFindings | undefined {
    const known = this.#found.get(item);
    return known?.upstream === upstream ? known : undefined;
  }

  keep(item: Item, found: ItemFindings): ItemFindings {
    this.#found.set(item, found);
    return found;
  }
}

/** What was found about one item, by what was looked at. */
interface ItemFindings {
  readonly upstream: string;
  readonly schemas: readonly VettingFinding[];
  readonly description: readonly VettingFinding[];
  readonly manner: readonly VettingFinding[];
}

/** The same as {@link lint}, in pieces of less than a millisecond for items of an ordinary size. */
export function* linting(
  offers: readonly Offered[],
  judged: Judged,
): Generator<undefined, readonly VettingFinding[]> {
  const owners = ownersOf(offers);
  const around = offers.map((offered) => surroundings(offered, owners));
  judged.among(
    owners,
    around.map(({ own }) => own),
  );
  const found: VettingFinding[][] = [];
  for (const [at, offered] of offers.entries()) {
    found.push(yield* lintingOne(offered, around[at], judged));
  }
  const alike = yield* likening(offers);
  return offers.flatMap(({ upstream }, at) => [
    ...(found[at] ?? []),
    ...alike.filter((each) => each.upstream === upstream),
  ]);
}

function* lintingOne(
  { upstream, instructions, lists }: Offered,
  around: Surroundings | undefined,
  judged: Judged,
): Generator<undefined, VettingFinding[]> {
  const tools = lists.tools ?? [];
  const found = [
    ...instructionFindings(upstream, instructions, around),
    ...hintFindings(upstream, tools),
    ...nameFindings(upstream, tools),
  ];
  const items: ItemFindings[] = [];
  for (const kind of KINDS_OF_TEXT) {
    for (const item of lists[kind] ?? []) {
      yield;
      const known = judged.of(upstream, item);
      items.push(known ?? judged.keep(item, itemFindings(upstream, kind, item, around)));
    }
  }
  return [
    ...found,
    ...items.flatMap(({ schemas }) => schemas),
    ...items.flatMap(({ description }) => description),
    ...items.flatMap(({ manner }) => manner),
  ];
}

function itemFindings(
  upstream: string,
  kind: KindOfText,
  item: Item,
  around: Surroundings | undefined,
): ItemFindings {
  const about = { upstream, kind, item: String(item[KIND_FACTS[kind].key]) };
  return {
    upstream,
    schemas: kind === 'tools' ? schemaFindings(upstream, [item]) : [],
    description: descriptionFindings(upstream, kind, [item]),
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

/** A server speaks of its own tools by its id, or by what all their names begin with. */
function surroundings({ upstream, lists }: Offered, owners: Owners): Surroundings {
  const prefix = prefixOf(lists.tools ?? []);
  return {
    foreign: (words) =>
      words.filter((word) => {
        const known = owners.get(word);
        return known !== undefined && !known.has(upstream);
      }),
    own: new Set([...wordsOf(upstream), ...(prefix === '' ? [] : [prefix])]),
  };
}
