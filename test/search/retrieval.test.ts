import { describe, expect, it } from 'vitest';
import { searchTools } from '../../src/catalog/search.ts';
import { viewOf } from '../../src/catalog/view.ts';
import { catalogOf, library, ours, scoresOf, substrings } from './bench.ts';
import { madeServers, questions } from './definitions.ts';

const servers = madeServers();
const { tuned, more, heldOut, agents } = questions();
const all = [...tuned, ...more, ...heldOut, ...agents];

describe('search over a thousand tools', () => {
  it('is measured over enough tools and questions, whose answers are all there', () => {
    const keys = new Set(servers.flatMap(({ tools }) => tools.map(({ key }) => key)));
    expect(keys.size).toBeGreaterThanOrEqual(1_000);
    expect(servers.length).toBeGreaterThanOrEqual(40);
    expect(heldOut.length).toBeGreaterThanOrEqual(100);
    expect(agents.length).toBeGreaterThanOrEqual(60);
    expect(all.flatMap(({ right }) => right.filter((key) => !keys.has(key)))).toEqual([]);
    const asked = all.map((question) => question.asked);
    expect(new Set(asked).size).toBe(asked.length);
  });

  // The floors are a little under what is measured: `node test/search/measure.ts` prints the figures of docs/search.md.
  it('finds what a user means, also where nothing was tuned by the questions', async () => {
    const { ranking } = ours(servers);
    const [known, fresh] = [await scoresOf(ranking, [...tuned, ...more]), await scoresOf(ranking, heldOut)];
    expect(known.at5).toBeGreaterThan(0.89);
    expect(fresh.at5).toBeGreaterThan(0.9);
    expect(fresh.at10).toBeGreaterThan(0.92);
  });

  it('finds what a model means, mostly at the first place', async () => {
    const { at1, at5 } = await scoresOf(ours(servers).ranking, agents);
    expect(at5).toBeGreaterThan(0.97);
    expect(at1).toBeGreaterThan(0.78);
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

  const made = (...tools: readonly (readonly [string, string, string])[]) =>
    viewOf(
      catalogOf(
        [...new Set(tools.map(([id]) => id))].map((id) => ({
          id,
          tools: tools
            .filter(([server]) => server === id)
            .map(([, name, description]) => ({
              key: name,
              definition: { name, description, inputSchema: {} },
            })),
        })),
      ),
      { style: 'dotted' },
    );

  it('takes a verb and its particle as one, with words in between', async () => {
    const view = made(
      ['x', 'record_visit', 'Records a visit.'],
      ['x', 'postpone_visit', 'Postpones a visit.'],
      ['x', 'cancel_visit', 'Cancels a visit.'],
    );
    expect((await ask(view, 'put the visit at the dentist off'))[0]).toBe('x.postpone_visit');
    expect((await ask(view, 'I’d like to call it off, that visit'))[0]).toBe('x.cancel_visit');
    expect((await ask(view, 'put down the visit'))[0]).toBe('x.record_visit');
  });

  it('puts first the tool whose name is asked for whole', async () => {
    const view = made(['x', 'create_report_template', 'Report.'], ['x', 'create_report', 'Report.']);
    expect(await ask(view, 'create report')).toEqual(['x.create_report', 'x.create_report_template']);
    expect((await ask(view, 'create report template'))[0]).toBe('x.create_report_template');
  });

  it('knows a server by a part of its name, and whether something is to be done or told', async () => {
    const both = made(
      ['planner', 'create_entry', 'Create an entry.'],
      ['gcalendar', 'create_entry', 'Create an entry.'],
      ['gcalendar', 'list_entries', 'Entry.'],
    );
    expect((await ask(both, 'new entry in the calendar'))[0]).toBe('gcalendar.create_entry');
    expect((await ask(both, 'which entries has the calendar'))[0]).toBe('gcalendar.list_entries');
    const others = made(
      ['wiki', 'create_entry', 'Create an entry of a page.'],
      ['wiki-private', 'create_entry', 'Create an entry.'],
      ['pagerduty', 'create_entry', 'Create an entry of a page.'],
    );
    expect((await ask(others, 'new entry of a page'))[0]).toBe('wiki.create_entry');
    expect((await ask(others, 'new entry in the wiki')).slice(0, 2).toSorted()).toEqual([
      'wiki-private.create_entry',
      'wiki.create_entry',
    ]);
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
