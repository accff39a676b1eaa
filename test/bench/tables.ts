import { CASES } from './cases.ts';
import { type Gap, median, namesOf, type Ratio, type Ratios, ratiosOf, type Sample } from './samples.ts';

/** Tables in Markdown; a row for each target. */

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function matrix(
  samples: readonly Sample[],
  first: string,
  cell: (name: string, target: string) => string,
): string {
  const names = Object.keys(CASES).filter((name) => samples.some((sample) => sample.name === name));
  const heads = [first, ...names.map((name) => CASES[name]?.title ?? name)];
  return [
    row(heads),
    row(heads.map(() => '---')),
    ...namesOf(samples, 'target').map((target) => row([target, ...names.map((name) => cell(name, target))])),
  ].join('\n');
}

/** Requests a second; a start in ms. */
function figures(samples: readonly Sample[]): string {
  return matrix(samples, 'req/s', (name, target) => {
    const of = samples.filter((each) => each.name === name && each.target === target);
    const counting = of.filter(({ counts }) => counts);
    const isCold = CASES[name]?.cold === true;
    const value = median(counting.map(({ measured }) => (isCold ? measured.p50 : measured.perSecond)));
    if (value !== undefined) {
      return value === 0 ? 'refused' : value.toFixed(0);
    }
    return of.length > 0 ? 'not quiet' : '';
  });
}

function ratioTable(samples: readonly Sample[], first: string, ratios: Ratios, key: keyof Ratio): string {
  return matrix(samples, first, (name, target) => ratios[name]?.[target]?.[key]?.toFixed(2) ?? '');
}

function details(samples: readonly Sample[]): string {
  const heads = [
    'case',
    'target',
    'p50 ms',
    'p99 ms',
    'longest pause ms',
    'CPU ms a request',
    'RSS idle, loaded MiB',
    'errors',
    'rounds',
    'others, cores',
  ];
  const rows = namesOf(samples, 'name').flatMap((name) =>
    namesOf(samples, 'target').flatMap((target) => {
      const of = samples.filter((each) => each.name === name && each.target === target);
      const counting = of.filter(({ counts }) => counts);
      if (of.length === 0) {
        return [];
      }
      const mid = (key: 'p50' | 'p99' | 'pause' | 'cpu' | 'idle' | 'rss' | 'others', digits: number) =>
        median(counting.map(({ measured }) => measured[key] ?? Number.NaN))?.toFixed(digits) ?? '';
      const cells = [mid('p50', 2), mid('p99', 2), mid('pause', 0), mid('cpu', 3)];
      const memory = counting.length === 0 ? '' : `${mid('idle', 0)}, ${mid('rss', 0)}`;
      const errors = of.reduce((sum, { measured }) => sum + measured.errors, 0);
      const rounds = `${counting.length} of ${of.length}`;
      return [row([name, target, ...cells, memory, String(errors), rounds, mid('others', 2)])];
    }),
  );
  return [row(heads), row(heads.map(() => '---')), ...rows].join('\n');
}

/** What was measured, with what does not count and what could not be had. */
export function report(samples: readonly Sample[], gaps: readonly Gap[], quiet: number): string {
  const loud = samples.filter(({ counts }) => !counts);
  const notes = [
    ...(loud.length === 0
      ? []
      : [
          `${loud.length} of ${samples.length} measurements do not count: other processes used more than ${quiet} cores meanwhile.`,
        ]),
    ...gaps.map(({ target, name, reason }) =>
      name === undefined ? `${target} is absent: ${reason}.` : `${target} failed in ${name}: ${reason}.`,
    ),
  ];
  const ratios = ratiosOf(samples);
  return [
    figures(samples),
    ratioTable(samples, '× bare', ratios, 'perSecond'),
    ratioTable(samples, 'CPU a request, × bare', ratios, 'cpu'),
    ...(samples.some(({ target }) => target === 'direct')
      ? [ratioTable(samples, '× direct', ratiosOf(samples, 'direct'), 'perSecond')]
      : []),
    details(samples),
    ...(notes.length === 0 ? [] : [notes.join('\n\n')]),
  ].join('\n\n');
}
