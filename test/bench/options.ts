import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CASES, caseOf } from './cases.ts';
import { chosen } from './measure.ts';
import { GROUPS, TARGETS } from './targets.ts';

/** What a run does: one measures targets side by side, the others are about Patchbay alone. */
export const COMMANDS = ['cluster', 'compare', 'growth', 'micro', 'profile', 'scale'] as const;

export const USAGE = `npm run bench -- [compare|cluster|growth|micro|profile|scale] [options]

  compare   (the default) targets side by side on this machine, over loopback
  cluster   1, 2 and 3 replicas behind nginx with a Redis server: processor time of each part for one request
  growth    what one tool, server, user and session hold in memory, and entries of the shared state there
  micro     hot pure functions, ns for one call
  profile   where one target spends its time in one case, by room and by function
  scale     10,000 sessions and streams of each era, and two changes of 2,000 tools told to 1,000 listeners

  --targets LIST     ${Object.keys(TARGETS).join(',')};
                     NAME:ERA for another era than its first (modern, legacy, sse);
                     groups: ${Object.keys(GROUPS).join(', ')}, all (default: own)
  --cases LIST       ${Object.keys(CASES).join(',')}, or all (default: all)
  --rounds N         rounds, each with every target started anew (default 3)
  --duration S       measured seconds of each run (default 4)
  --warm-up S        seconds before it under the same load (default 1.5); from 5 on --write writes the section of what
                     targets cost once they are warm, and no levels
  --quiet CORES      while other processes use more than this a run is repeated, and in the end does not count (default 0.3)
  --retries N        how often it is repeated (default 3)
  --main FILE        another build of Patchbay to measure (default dist/main.js)
  --count N          of scale and growth: how many of each (default 10000)
  --check            fail where a ratio to bare is worse than that in test/bench/levels.json by more than 10 %
  --write            write test/bench/levels.json and the tables of docs/performance.md from this run; of cluster and
                     growth those of docs/cluster.md
  --json             print what was measured as JSON
  --help             this text

BENCH_VERBOSE=1 in the environment shows what the targets write to stderr. Peers are installed on demand, into the folder
for temporary files. Processor time for a request is steadier than requests a second: look at that first.
`;

export interface Options {
  readonly command: (typeof COMMANDS)[number];
  readonly targets: readonly string[];
  readonly cases: readonly string[];
  readonly rounds: number;
  readonly duration: number;
  readonly warmUp: number;
  readonly quiet: number;
  readonly retries: number;
  readonly main: string;
  readonly count: number;
  readonly check: boolean;
  readonly write: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

/** Throws what names the mistake where a word means nothing. */
export function optionsFrom(words: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      targets: { type: 'string', default: 'own' },
      cases: { type: 'string', default: 'all' },
      rounds: { type: 'string', default: '3' },
      duration: { type: 'string', default: '4' },
      'warm-up': { type: 'string', default: '1.5' },
      quiet: { type: 'string', default: '0.3' },
      retries: { type: 'string', default: '3' },
      main: { type: 'string', default: join(import.meta.dirname, '../../dist/main.js') },
      count: { type: 'string', default: '10000' },
      check: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const [word = 'compare'] = positionals;
  const command = COMMANDS.find((each) => each === word);
  if (command === undefined) {
    throw new Error(`no command ${word}: there are ${COMMANDS.join(', ')}`);
  }
  const cases = values.cases === 'all' ? Object.keys(CASES) : values.cases.split(',');
  const targets = [...new Set(values.targets.split(',').flatMap(membersOf))];
  for (const name of cases) {
    caseOf(name);
  }
  for (const target of targets) {
    chosen(target);
  }
  return {
    ...values,
    command,
    targets,
    cases,
    rounds: Number(values.rounds),
    duration: Number(values.duration),
    warmUp: Number(values['warm-up']),
    quiet: Number(values.quiet),
    retries: Number(values.retries),
    count: Number(values.count),
  };
}

/** The targets that one word of `--targets` stands for. */
function membersOf(word: string): readonly string[] {
  if (word === 'all') {
    return [...new Set(Object.values(GROUPS).flat())];
  }
  return Object.hasOwn(GROUPS, word) ? (GROUPS[word] ?? []) : [word];
}
