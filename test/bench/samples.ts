import { caseOf } from './cases.ts';
import type { Measured } from './measure.ts';

/** One target in one case in one round. */
export interface Sample {
  readonly name: string;
  readonly target: string;
  readonly round: number;
  readonly measured: Measured;
  /** The machine was quiet enough, so it counts. */
  readonly counts: boolean;
}

/** A target that could not be had, or that failed. */
export interface Gap {
  readonly target: string;
  /** Undefined: in every case. */
  readonly name: string | undefined;
  readonly reason: string;
}

export interface Ratio {
  readonly perSecond: number;
  /** Of processor time for a request; absent in a cold start. */
  readonly cpu?: number;
}

/** Ratios to the floor in the same round, by case and target. */
export type Ratios = Readonly<Record<string, Readonly<Record<string, Ratio>>>>;

/** How much worse than its level a ratio may be. */
const TOLERANCE = 0.1;

export function median(numbers: readonly number[]): number | undefined {
  const sorted = numbers.filter(Number.isFinite).toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  const lower = sorted[middle - 1];
  return sorted.length % 2 === 1 || upper === undefined || lower === undefined ? upper : (upper + lower) / 2;
}

/** Names in the order in which they came. */
export function namesOf(samples: readonly Sample[], key: 'name' | 'target'): readonly string[] {
  return [...new Set(samples.map((sample) => sample[key]))];
}

/** Medians of the ratios within a round, of the rounds that count. */
export function ratiosOf(samples: readonly Sample[], to?: string): Ratios {
  const counting = samples.filter(({ counts, measured }) => counts && measured.perSecond > 0);
  const ratios: Record<string, Record<string, Ratio>> = {};
  for (const name of namesOf(counting, 'name')) {
    for (const target of namesOf(counting, 'target')) {
      const pairs = counting.filter((each) => each.name === name && each.target === target);
      const found = pairs.flatMap(({ round, measured }) => {
        const floor = floorOf(counting, { name, target, round }, to);
        return floor === undefined ? [] : [ratioOf(measured, floor)];
      });
      const perSecond = median(found.map((ratio) => ratio.perSecond));
      const cpu = median(found.flatMap((ratio) => ratio.cpu ?? []));
      if (perSecond !== undefined) {
        const of: Ratio = {
          perSecond: rounded(perSecond),
          ...(cpu === undefined ? {} : { cpu: rounded(cpu) }),
        };
        ratios[name] = { ...ratios[name], [target]: of };
      }
    }
  }
  return ratios;
}

function ratioOf(measured: Measured, floor: Measured): Ratio {
  const perSecond = measured.perSecond / floor.perSecond;
  return floor.cpu > 0 && measured.cpu > 0 ? { perSecond, cpu: measured.cpu / floor.cpu } : { perSecond };
}

/** The proxy that looks at nothing, in the same era if that was measured. */
function floorOf(
  samples: readonly Sample[],
  { name, target, round }: { readonly name: string; readonly target: string; readonly round: number },
  to: string | undefined,
): Measured | undefined {
  const era = target.split(':')[1];
  const { floor } = caseOf(name);
  const id = to ?? floor?.target ?? 'bare';
  const inCase = to === undefined && floor !== undefined ? floor.name : name;
  const find = (wanted: string) =>
    samples.find((each) => each.name === inCase && each.round === round && each.target === wanted);
  return (find(era === undefined ? id : `${id}:${era}`) ?? find(id))?.measured;
}

const rounded = (value: number) => Math.round(value * 100) / 100;

/**
 * What is worse than its level by more than the tolerance. Processor time is the steadier judge: too much of it is worse by
 * itself, while fewer requests are worse only where the processor time does not contradict.
 */
export function regressions(ratios: Ratios, levels: Ratios): readonly string[] {
  return Object.entries(levels).flatMap(([name, targets]) =>
    Object.entries(targets).flatMap(([target, level]) => {
      const now = ratios[name]?.[target];
      if (now === undefined) {
        return [];
      }
      const slower = now.perSecond < level.perSecond * (1 - TOLERANCE);
      const known = now.cpu !== undefined && level.cpu !== undefined;
      const dearer = known && now.cpu > level.cpu * (1 + TOLERANCE);
      const contradicted = known && now.cpu <= level.cpu;
      return dearer || (slower && !contradicted)
        ? [`${name} ${target}: ${said(now)}; the level is ${said(level)}`]
        : [];
    }),
  );
}

function said({ perSecond, cpu }: Ratio): string {
  return cpu === undefined ? `${perSecond} × the floor` : `${perSecond} × the floor at ${cpu} × its CPU`;
}
