import MiniSearch from 'minisearch';
import { stringAt } from '../../src/base/json.ts';
import { searchTools } from '../../src/catalog/search.ts';
import { buildCatalog, type Catalog } from '../../src/catalog/snapshot.ts';
import { type View, viewOf } from '../../src/catalog/view.ts';
import type { Item } from '../../src/protocol/model.ts';
import type { MadeServer, Question } from './definitions.ts';

/** How well a way of searching finds what was meant. */
export interface Scores {
  readonly at1: number;
  readonly at5: number;
  readonly at10: number;
  /** Mean of one over the position of the first right answer. */
  readonly reciprocal: number;
}

/** From a question to the keys of tools, the best first. */
export type Ranking = (asked: string) => Promise<readonly string[]>;

export interface ServerTools {
  readonly id: string;
  readonly tools: readonly { readonly key: string; readonly definition: Item }[];
}

export async function scoresOf(
  ranking: Ranking,
  questions: readonly Question[],
): Promise<Scores & { readonly missed: readonly Question[] }> {
  const positions: number[] = [];
  const missed: Question[] = [];
  for (const question of questions) {
    const ranked = await ranking(question.asked);
    const at = ranked.findIndex((key) => question.right.includes(key));
    positions.push(at === -1 ? Number.POSITIVE_INFINITY : at + 1);
    if (at === -1 || at >= 5) {
      missed.push(question);
    }
  }
  const within = (most: number) => positions.filter((position) => position <= most).length / positions.length;
  return {
    at1: within(1),
    at5: within(5),
    at10: within(10),
    reciprocal: positions.reduce((sum, position) => sum + 1 / position, 0) / positions.length,
    missed,
  };
}

/** The catalog that a gateway has with these servers. */
export function catalogOf(servers: readonly (MadeServer | ServerTools)[]): Catalog {
  const parts = servers.map(({ id, tools }) => ({
    upstream: id,
    namespace: id,
    stale: false,
    lists: {
      tools: {
        items: tools.map(({ definition }) => definition),
        findings: [],
        hints: { ttlMs: undefined, scope: undefined },
        readAt: 0,
      },
    },
  }));
  return buildCatalog(parts, { separator: '.', maxLength: 128 });
}

/** The ranking of search mode. */
export function ours(servers: readonly (MadeServer | ServerTools)[]): {
  readonly view: View;
  readonly ranking: Ranking;
} {
  const view = viewOf(catalogOf(servers), { style: 'dotted' });
  const keys = new Map(
    servers.flatMap(({ id, tools }) =>
      tools.map(({ key, definition }) => [JSON.stringify([id, definition['name']]), key]),
    ),
  );
  const ranking: Ranking = async (asked) => {
    const found = await searchTools(view, { question: asked });
    return found.map(({ entry }) => keys.get(JSON.stringify([entry.upstream, entry.original])) ?? '');
  };
  return { view, ranking };
}

const flat = (servers: readonly (MadeServer | ServerTools)[]) =>
  servers.flatMap(({ id, tools }) =>
    tools.map(({ key, definition }) => ({
      key,
      server: id,
      name: `${id}.${String(definition['name'])}`,
      description: stringAt(definition, 'description') ?? '',
    })),
  );

/** What is found without any ranking to speak of: how many words of a question are somewhere in name or description. */
export function substrings(servers: readonly (MadeServer | ServerTools)[]): Ranking {
  const all = flat(servers).map(({ key, name, description }) => ({
    key,
    text: `${name} ${description}`.toLowerCase(),
  }));
  return async (asked) => {
    const words = asked.toLowerCase().split(/\W+/).filter(Boolean);
    return all
      .map(({ key, text }) => ({ key, count: words.filter((word) => text.includes(word)).length }))
      .filter(({ count }) => count > 0)
      .toSorted((one, other) => other.count - one.count)
      .map(({ key }) => key);
  };
}

/** BM25 as a library has it, with its own settings: what other gateways use. */
export function library(servers: readonly (MadeServer | ServerTools)[]): Ranking {
  const documents = flat(servers).map((each, id) => ({ id, ...each }));
  const index = new MiniSearch({
    fields: ['name', 'description', 'server'],
    tokenize: (text) => text.split(/[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])/),
    searchOptions: { boost: { name: 2 }, fuzzy: 0.2, prefix: true },
  });
  index.addAll(documents);
  return async (asked) => index.search(asked).map(({ id }) => documents[Number(id)]?.key ?? '');
}
