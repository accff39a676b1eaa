import { objectAt } from '../../src/base/json.ts';
import { searchTools } from '../../src/catalog/search.ts';
import { viewOf } from '../../src/catalog/view.ts';
import { tokenizer } from '../../src/relay/find-tokens.ts';
import { GATEWAY_TOOLS } from '../../src/relay/find-tools.ts';
import { everythingStdio, filesystemStdio, memoryStdio } from '../kit/real-servers.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { catalogOf, library, ours, type Ranking, type ServerTools, scoresOf, substrings } from './bench.ts';
import { madeServers, type Question, questions } from './definitions.ts';

/**
 * How well search finds tools, how fast, and what it saves: `node test/search/measure.ts`. Over the made-up servers and
 * those that are installed for tests, which are asked for their tools.
 */

const REAL = { everything: everythingStdio(), files: filesystemStdio('/tmp'), memory: memoryStdio() };
/** Servers that were made up after real ones: an answer of theirs is right where that of the other is. */
const AFTER: Readonly<Record<string, string>> = { 'filesystem-remote': 'files', 'memory-graph': 'memory' };

const say = (line = '') => process.stdout.write(`${line}\n`);

async function realServers(): Promise<readonly ServerTools[]> {
  await using gateway = await startGateway({ upstreams: REAL });
  await gateway.gateway.settled();
  const { tools } = gateway.gateway.store.current.entries;
  return Object.keys(REAL).map((id) => ({
    id,
    tools: tools
      .filter(({ upstream }) => upstream === id)
      .map(({ original, item }) => ({ key: `${id}.${original}`, definition: item })),
  }));
}

function withReal({ asked, right }: Question): Question {
  const more = right.flatMap((key) => {
    const [server = '', tool = ''] = key.split('.');
    return AFTER[server] === undefined ? [] : [`${AFTER[server]}.${tool}`];
  });
  return { asked, right: [...right, ...more] };
}

/** Processor time in ms: what else runs on the machine does not count. */
async function spent(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function quality(servers: readonly ServerTools[]): Promise<void> {
  const { tuned, more, heldOut, agents } = questions();
  const rankings: readonly (readonly [string, Ranking])[] = [
    ['search mode', ours(servers).ranking],
    ['MiniSearch', library(servers)],
    ['substrings', substrings(servers)],
  ];
  for (const [title, asked] of [
    ['tuned by', tuned],
    ['tuned by in a second round', more],
    ['held out', heldOut],
    ['as a model puts them', agents],
  ] as const) {
    say(`${asked.length} questions, ${title}`);
    for (const [name, ranking] of rankings) {
      const { at1, at5, at10, reciprocal } = await scoresOf(ranking, asked.map(withReal));
      const numbers = [at1, at5, at10, reciprocal].map((value) => value.toFixed(3)).join('  ');
      say(`  ${name.padEnd(12)} recall@1, @5, @10, MRR: ${numbers}`);
    }
  }
}

async function speed(servers: readonly ServerTools[]): Promise<void> {
  const twice = servers.map(({ id, tools }) => ({ id: `${id}-b`, tools: structuredClone(tools) }));
  const many = [...servers, ...twice];
  const catalog = catalogOf(many);
  const { length } = catalog.entries.tools;
  const sight = (key: string) => viewOf(catalog, { style: 'dotted' }, { key, shows: () => true });
  const question = { question: 'file a bug about the login crash' };
  const first = await spent(() => searchTools(sight('first'), question));
  const again: number[] = [];
  for (let at = 0; at < 10; at += 1) {
    again.push(await spent(() => searchTools(sight(`again ${at}`), question)));
  }
  const view = sight('asked');
  const each: number[] = [];
  for (const { asked } of [...questions().tuned, ...questions().more]) {
    each.push(await spent(() => searchTools(view, { question: asked })));
  }
  // The first one makes the index.
  const asked = each.slice(1).toSorted((one, other) => one - other);
  const at = (share: number) => (asked[Math.floor(asked.length * share)] ?? 0).toFixed(2);
  const median = again.toSorted((one, other) => one - other)[5] ?? 0;
  say(`${length} tools, processor time`);
  say(`  first index, words taken for the first time  ${first.toFixed(0)} ms`);
  say(`  index for another sight or a new catalog     ${median.toFixed(1)} ms`);
  say(`  one question, median and 95th percentile     ${at(0.5)} ms, ${at(0.95)} ms`);
}

async function context(servers: readonly ServerTools[]): Promise<void> {
  const count = await tokenizer();
  const sum = (items: readonly unknown[]) =>
    items.reduce<number>((total, item) => total + count(JSON.stringify(item)), 0);
  const twenty = servers.slice(0, 20);
  const whole = twenty.flatMap(({ tools }) => tools.map(({ definition }) => definition));
  const { view } = ours(twenty);
  const found = (await searchTools(view, { question: 'file a bug about the login crash' })).slice(0, 10);
  const short = found.map(({ entry, item }) => ({
    name: item['name'],
    server: entry.upstream,
    description: item['description'],
    arguments: Object.keys(objectAt(objectAt(item, 'inputSchema'), 'properties') ?? {}),
  }));
  say(`${twenty.length} servers, ${whole.length} tools, tokens (o200k_base)`);
  say(`  list of all of them       ${sum(whole)}`);
  say(`  list in search mode       ${sum(GATEWAY_TOOLS)}`);
  say(`  one answer of ten tools   about ${sum(short)}`);
  say(`  one whole definition      about ${Math.round(sum(whole) / whole.length)}`);
}

const real = await realServers();
const servers = [...real, ...madeServers()];
say(
  `${servers.length} servers, ${servers.reduce((sum, { tools }) => sum + tools.length, 0)} tools, ${real.length} servers of them real`,
);
await quality(servers);
await speed(servers);
await context(servers);
