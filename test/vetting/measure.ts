import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Item } from '../../src/protocol/model.ts';
import type { Offered } from '../../src/vetting/finding.ts';
import { lint } from '../../src/vetting/lint.ts';

/**
 * How well the rules about definitions judge: `npm run vetting` runs them over the corpus and prints precision and recall
 * for each finding, and every false alarm and every miss. With `-- --servers` it looks at published servers instead.
 */

interface Server {
  readonly upstream: string;
  readonly instructions?: string;
  readonly tools?: readonly Item[];
  readonly prompts?: readonly Item[];
  readonly templates?: readonly Item[];
}

/** Servers that are looked at together, and what a person who knows says about them: `id upstream item`. */
interface Case {
  readonly servers: readonly Server[];
  readonly expected: readonly string[];
}

export interface Score {
  readonly right: number;
  readonly alarms: number;
  readonly misses: number;
  /** Of what was found, the share that is there; 1 where nothing was found. */
  readonly precision: number;
  /** Of what is there, the share that was found; 1 where nothing is there. */
  readonly recall: number;
}

export interface Measured {
  readonly cases: number;
  readonly tools: number;
  /** Cases with a text that is not good, and those of them in which anything was found about a text. */
  readonly poisoned: number;
  readonly caught: number;
  /** By the id of a finding. */
  readonly scores: ReadonlyMap<string, Score>;
  /** `file#case: id upstream item`. */
  readonly alarms: readonly string[];
  readonly misses: readonly string[];
}

const CORPUS = join(import.meta.dirname, 'corpus');

/**
 * known: what the rules were made with. first: cases that were written before the rules of the first version, and tuned with
 * since. second: cases that were written, of other ways to attack and of good texts that look like them, before the rules of
 * the second version.
 */
export type CorpusPart = 'known' | 'first' | 'second';

function partOf(name: string): CorpusPart {
  return name.includes('held-out-second') ? 'second' : name.includes('held-out') ? 'first' : 'known';
}

export function measure(part: CorpusPart): Measured {
  const right: string[] = [];
  const alarms: string[] = [];
  const misses: string[] = [];
  const all = ['good', 'faulty', 'poisoned'].flatMap(casesOf);
  const cases = all.filter(({ name }) => partOf(name) === part);
  let [poisoned, caught] = [0, 0];
  for (const { name, servers, expected } of cases) {
    const found = [
      ...new Set(
        lint(servers.map(offered)).map(({ id, upstream, item }) => `${id} ${upstream} ${item}`.trim()),
      ),
    ];
    const isText = (each: string) => each.startsWith('text.');
    poisoned += expected.some(isText) ? 1 : 0;
    caught += expected.some(isText) && found.some(isText) ? 1 : 0;
    right.push(...found.filter((each) => expected.includes(each)));
    alarms.push(...found.filter((each) => !expected.includes(each)).map((each) => `${name}: ${each}`));
    misses.push(...expected.filter((each) => !found.includes(each)).map((each) => `${name}: ${each}`));
  }
  const idOf = (told: string) => told.replace(/^[^ ]*: /, '').split(' ')[0] ?? '';
  const ids = [...new Set([...right, ...alarms, ...misses].map(idOf))].toSorted();
  const count = (all: readonly string[], id: string) => all.filter((each) => idOf(each) === id).length;
  const scores = ids.map(
    (id) => [id, scoreOf(count(right, id), count(alarms, id), count(misses, id))] as const,
  );
  const tools = cases.flatMap(({ servers }) => servers.flatMap((server) => server.tools ?? [])).length;
  return { cases: cases.length, tools, poisoned, caught, scores: new Map(scores), alarms, misses };
}

function scoreOf(right: number, alarms: number, misses: number): Score {
  const share = (of: number) => (of === 0 ? 1 : right / of);
  return { right, alarms, misses, precision: share(right + alarms), recall: share(right + misses) };
}

function casesOf(kind: string): readonly (Case & { readonly name: string })[] {
  const folder = join(CORPUS, kind);
  return readdirSync(folder)
    .toSorted()
    .flatMap((file) => {
      const cases = JSON.parse(readFileSync(join(folder, file), 'utf8')) as readonly Case[];
      return cases.map((each, at) => ({ ...each, name: `${kind}/${basename(file, '.json')}#${at}` }));
    });
}

function offered({ upstream, instructions, ...lists }: Server): Offered {
  return { upstream, instructions, lists };
}

function report({ cases, tools, poisoned, caught, scores, alarms, misses }: Measured): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`.padStart(10);
  const rows = [...scores].map(([id, { right, alarms: false_, misses: missed, precision, recall }]) =>
    [
      id.padEnd(28),
      String(right).padStart(6),
      String(false_).padStart(8),
      String(missed).padStart(8),
      percent(precision),
      percent(recall),
    ].join(''),
  );
  return [
    `${cases} cases, ${tools} tools; something found in ${caught} of ${poisoned} poisoned ones`,
    '',
    [
      'finding'.padEnd(28),
      'right'.padStart(6),
      'alarms'.padStart(8),
      'missed'.padStart(8),
      'precision'.padStart(10),
      'recall'.padStart(10),
    ].join(''),
    ...rows,
    '',
    'false alarms:',
    ...alarms.map((each) => `  ${each}`),
    'missed:',
    ...misses.map((each) => `  ${each}`),
    '',
  ].join('\n');
}

if (import.meta.main && process.argv.includes('--servers')) {
  const { servers } = await import('./servers.ts');
  process.exitCode = (await servers((text) => process.stdout.write(text))) === 0 ? 0 : 1;
} else if (import.meta.main) {
  process.stdout.write(`The corpus that the rules were made with\n${report(measure('known'))}`);
  process.stdout.write(`\nThe first cases that were held out, tuned with since\n${report(measure('first'))}`);
  process.stdout.write(
    `\nThe second ones, written before the rules were changed\n${report(measure('second'))}`,
  );
}
