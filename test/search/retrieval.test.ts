import { describe, expect, it } from 'vitest';
import { searchTools } from '../../src/catalog/search.ts';
import { viewOf } from '../../src/catalog/view.ts';
import { catalogOf, library, ours, scoresOf, substrings } from './bench.ts';
import { madeServers, questions } from './definitions.ts';

const servers = madeServers();
const { tuned, heldOut } = questions();

describe('search over a thousand tools', () => {
  it('is measured over enough tools and questions, whose answers are all there', () => {
    const keys = new Set(servers.flatMap(({ tools }) => tools.map(({ key }) => key)));
    expect(keys.size).toBeGreaterThanOrEqual(1_000);
    expect(servers.length).toBeGreaterThanOrEqual(40);
    expect(tuned.length + heldOut.length).toBeGreaterThanOrEqual(150);
    expect([...tuned, ...heldOut].flatMap(({ right }) => right.filter((key) => !keys.has(key)))).toEqual([]);
    const asked = [...tuned, ...heldOut].map((question) => question.asked);
    expect(new Set(asked).size).toBe(asked.length);
  });

  // The floors are a little under what is measured: `node test/search/measure.ts` prints the figures of docs/search.md.
  it('finds what a user means, also where nothing was tuned by the questions', async () => {
    const { ranking } = ours(servers);
    const [known, fresh] = [await scoresOf(ranking, tuned), await scoresOf(ranking, heldOut)];
    expect(known.at5).toBeGreaterThan(0.9);
    expect(fresh.at5).toBeGreaterThan(0.78);
    expect(fresh.at10).toBeGreaterThan(0.88);
  });

  it('finds more than a library as it comes, and that more than substrings', async () => {
    const [mine, plain, least] = await Promise.all(
      [ours(servers).ranking, library(servers), substrings(servers)].map((ranking) =>
        scoresOf(ranking, heldOut),
      ),
    );
    expect(mine!.at5).toBeGreaterThan(plain!.at5 + 0.1);
    expect(plain!.at5).toBeGreaterThan(least!.at5);
  });
});

describe('an index', () => {
  const catalog = catalogOf(servers.slice(0, 6));
  const at = (key: string, shows: (upstream: string) => boolean) =>
    viewOf(catalog, { style: 'dotted' }, { key, shows: ({ upstream }) => shows(upstream) });
  const ask = async (view: ReturnType<typeof at>, question: string) =>
    (await searchTools(view, { question })).map(({ item }) => item['name']);

  it('holds nothing but what is seen, and ranks as if nothing else were there', async () => {
    const github = at('github', (upstream) => upstream === 'github');
    const alone = viewOf(catalogOf(servers.filter(({ id }) => id === 'github')), { style: 'dotted' });
    for (const { asked } of tuned.slice(0, 40)) {
      expect(await ask(github, asked)).toEqual(await ask(alone, asked));
    }
    expect(await ask(github, 'slack message reaction')).not.toContain('slack.add_reaction');
  });

  it('finds everything in the order of the list where no word says anything', async () => {
    const view = at('jira', (upstream) => upstream === 'jira');
    const names = view.list('tools').map(({ item }) => item['name']);
    expect(await ask(view, '')).toEqual(names);
    expect(await ask(view, 'please could you')).toEqual(names);
  });

  it('reads names of several parts, other scripts, and signs that are no words', async () => {
    const tool = (name: string, description: string) => ({
      key: name,
      definition: { name, description, inputSchema: {} },
    });
    const view = viewOf(
      catalogOf([
        {
          id: 'x',
          tools: [
            tool('getHTTPResponseBody', 'Text.'),
            tool('b', '検索エンジンで調べる'),
            tool('c', 'Café menüs'),
            tool('d', '\u0000 \ud800 {}[]*+?^$'),
          ],
        },
      ]),
      { style: 'dotted' },
    );
    expect((await ask(view, 'http response'))[0]).toBe('x.getHTTPResponseBody');
    expect((await ask(view, '検索'))[0]).toBe('x.b');
    expect((await ask(view, 'cafe menu'))[0]).toBe('x.c');
    expect(await ask(view, `${'a'.repeat(5_000)} \ud800 (?:`)).toBeInstanceOf(Array);
  });
});
