import { describe, expect, it } from 'vitest';
import { textOf } from '../gates/repository.ts';
import { CASES } from './cases.ts';
import { replaced } from './document.ts';
import type { Measured } from './measure.ts';
import { optionsFrom, USAGE } from './options.ts';
import { profiled } from './profile.ts';
import { type Ratios, ratiosOf, regressions, type Sample } from './samples.ts';
import { report } from './tables.ts';
import { GROUPS, TARGETS } from './targets.ts';

const SHARES = [0.5, 0.9, 0.6];

function sample(target: string, perSecond: number, cpu: number, more: Partial<Sample> = {}): Sample {
  const measured: Measured = {
    ...{ perSecond, cpu, p50: 1, p99: 2, worst: 3, rss: 100, idle: 90, client: 0, errors: 0, others: 0 },
  };
  return { name: 'c16', target, round: 0, measured, counts: true, ...more };
}

describe('ratios', () => {
  it('are medians of those within a round, in the same era', () => {
    const rounds = [0, 1, 2].flatMap((round) => [
      sample('bare', 1_000 * (round + 1), 0.2, { round }),
      sample('patchbay', 1_000 * (round + 1) * (SHARES[round] ?? 0), 0.3, { round }),
      sample('bare:legacy', 500, 0.2, { round }),
      sample('patchbay:legacy', 250, 0.4, { round }),
    ]);
    expect(ratiosOf(rounds)['c16']).toMatchObject({
      bare: { perSecond: 1, cpu: 1 },
      patchbay: { perSecond: 0.6, cpu: 1.5 },
      'patchbay:legacy': { perSecond: 0.5, cpu: 2 },
    });
  });

  it('leave out rounds in which the machine was not quiet, and the report says so', () => {
    const samples = [
      sample('bare', 1_000, 0.2),
      sample('patchbay', 600, 0.3),
      sample('bare', 1_000, 0.2, { round: 1 }),
      sample('patchbay', 10, 9, { round: 1, counts: false }),
    ];
    expect(ratiosOf(samples)['c16']?.['patchbay']).toEqual({ perSecond: 0.6, cpu: 1.5 });
    expect(report(samples, [], 0.3)).toContain('1 of 4 measurements do not count');
    expect(report([sample('patchbay', 1, 1, { counts: false })], [], 0.3)).toContain('not quiet');
  });

  it('of stdio servers are those to the bare proxy over HTTP, of a cold start those to the servers alone', () => {
    const ratios = ratiosOf([
      sample('bare', 1_000, 0.2),
      sample('patchbay', 900, 0.1, { name: 'stdio' }),
      sample('direct', 4, 0, { name: 'cold' }),
      sample('patchbay', 2, 500, { name: 'cold' }),
    ]);
    expect(ratios['stdio']).toEqual({ patchbay: { perSecond: 0.9, cpu: 0.5 } });
    expect(ratios['cold']?.['patchbay']).toEqual({ perSecond: 0.5 });
  });
});

describe('--check', () => {
  const levels: Ratios = { c16: { patchbay: { perSecond: 0.8, cpu: 1.2 } } };

  it.each([
    ['as it was', 0.8, 1.2, 0],
    ['a little worse', 0.73, 1.3, 0],
    ['slower at no more processor time: the machine was', 0.5, 1.2, 0],
    ['slower, and a little dearer', 0.7, 1.25, 1],
    ['dearer', 0.8, 1.4, 1],
  ])('%s', (_what, perSecond, cpu, worse) => {
    expect(regressions({ c16: { patchbay: { perSecond, cpu } } }, levels)).toHaveLength(worse);
  });

  it('says nothing of what was not measured', () => {
    expect(regressions({}, levels)).toEqual([]);
  });
});

it('names a target that is absent, and one that failed, under the tables', () => {
  const gaps = [
    { target: 'nginx', name: undefined, reason: 'nginx is not installed' },
    { target: 'sdk1', name: '1m', reason: 'it has ended' },
  ];
  const text = report([sample('bare', 1, 1)], gaps, 0.3);
  expect(text).toContain('nginx is absent: nginx is not installed.');
  expect(text).toContain('sdk1 failed in 1m: it has ended.');
});

it('sums a profile up by room and by function, without the time that nothing ran', () => {
  const frame = (id: number, functionName: string, url: string) => ({
    id,
    callFrame: { functionName, url, lineNumber: 9 },
  });
  const text = profiled(
    {
      nodes: [
        frame(1, '(idle)', ''),
        frame(2, 'handle', 'file:///x/dist/relay/relay.js'),
        frame(3, 'write', 'file:///x/node_modules/undici/lib/api.js'),
      ],
      samples: [2, 1, 2, 3],
      timeDeltas: [5e6, 700_000, 200_000, 99_999],
    },
    1,
  );
  expect(text).toContain('| src/relay | 66.7 |');
  expect(text).toContain('| undici | 33.3 |');
  expect(text).toContain('| `handle` src/relay/relay.js:10 | 66.7 |');
});

describe('docs/performance.md', () => {
  const document = textOf('docs/performance.md');

  it.each(['compare', 'warm', 'features', 'micro', 'scale'] as const)('has a place for %s', (section) => {
    const once = replaced(document, section, 'text');
    expect(replaced(once, section, 'text')).toBe(once);
    expect(() => replaced('', section, 'text')).toThrow(section);
  });

  it('names commands that there are', () => {
    const commands = [...document.matchAll(/^npm run bench(?: -- (.*))?$/gm)].map(([, words = '']) => words);
    expect(commands.length).toBeGreaterThan(4);
    for (const words of commands) {
      expect(() => optionsFrom(words.replace(/ #.*/, '').split(' ').filter(Boolean))).not.toThrow();
    }
  });

  it('explains every target and every case', () => {
    const explained = new Set([...document.matchAll(/`([\w+-]+)`/g)].map(([, name = '']) => name));
    expect([...Object.keys(TARGETS), ...Object.keys(CASES)].filter((name) => !explained.has(name))).toEqual(
      [],
    );
  });
});

describe('options', () => {
  it('are all in the help', () => {
    const names = [...USAGE.matchAll(/--([a-z-]+)/g)].map(([, name]) => name);
    expect(names).toEqual(
      expect.arrayContaining(['targets', 'cases', 'rounds', 'check', 'write', 'json', 'main']),
    );
    expect(optionsFrom(['--targets', 'all']).targets).toEqual(
      expect.arrayContaining([...(GROUPS['peers'] ?? [])]),
    );
  });

  it.each([[['fast']], [['--cases', 'c17']], [['--targets', 'apache']], [['--targets', 'nginx:sse']]])(
    '%j is refused',
    (words) => {
      expect(() => optionsFrom(words)).toThrow(/no command|no case|no target|does not speak/);
    },
  );

  it('levels are about cases and targets that there are', () => {
    const levels = JSON.parse(textOf('test/bench/levels.json')) as Ratios;
    for (const [name, of] of Object.entries(levels)) {
      const targets = Object.keys(of).join();
      expect(() => optionsFrom(['--cases', name, '--targets', targets])).not.toThrow();
    }
  });
});
