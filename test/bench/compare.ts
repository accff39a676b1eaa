import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureSafely } from './apart.ts';
import { writeSection } from './document.ts';
import { kindFor, type Measured } from './measure.ts';
import type { Options } from './options.ts';
import { type Gap, type Ratios, ratiosOf, regressions, type Sample } from './samples.ts';
import { report } from './tables.ts';
import { Absent } from './target.ts';
import { GROUPS } from './targets.ts';

const LEVELS = join(import.meta.dirname, 'levels.json');

/** Measures targets side by side; resolves with the exit code. */
export async function compare(options: Options): Promise<number> {
  const { targets, cases, rounds, quiet } = options;
  const samples: Sample[] = [];
  const gaps: Gap[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const name of cases) {
      const able = targets.filter((target) => kindFor(target, name) !== undefined);
      for (const target of round % 2 === 0 ? able : able.toReversed()) {
        if (gaps.some((gap) => gap.target === target && (gap.name ?? name) === name)) {
          continue;
        }
        try {
          const measured = await quietly(target, name, options);
          samples.push({ name, target, round, measured, counts: measured.others <= quiet });
          process.stderr.write(progressOf(round, name, target, measured, quiet));
        } catch (thrown) {
          const isAbsent = thrown instanceof Absent;
          const reason = thrown instanceof Error ? thrown.message : String(thrown);
          gaps.push({ target, name: isAbsent ? undefined : name, reason });
          process.stderr.write(`${target}, ${name}: ${reason}\n`);
        }
      }
    }
  }
  // In the order in which they were asked for, whichever round began with whom.
  samples.sort((one, other) => targets.indexOf(one.target) - targets.indexOf(other.target));
  const ratios = ratiosOf(samples);
  const text = report(samples, gaps, quiet);
  process.stdout.write(options.json ? `${JSON.stringify({ samples, gaps, ratios })}\n` : `${text}\n`);
  if (options.write) {
    write(options, ratios, text);
  }
  return judged(options, samples, gaps, ratios);
}

/** Once more while other processes take too much of the machine; the quietest try is the one that is kept. */
async function quietly(target: string, name: string, options: Options): Promise<Measured> {
  let best = await measureSafely(target, name, options);
  for (let again = 0; again < options.retries && best.others > options.quiet; again += 1) {
    const measured = await measureSafely(target, name, options);
    best = measured.others < best.others ? measured : best;
  }
  return best;
}

function progressOf(round: number, name: string, target: string, measured: Measured, quiet: number): string {
  const { perSecond, cpu, p50, errors, firstError = '', others } = measured;
  const loud = others > quiet ? `, does not count: others used ${others.toFixed(2)} cores` : '';
  const wrong = errors > 0 ? `, ${errors} errors: ${firstError}` : '';
  return `round ${round + 1}, ${name}, ${target}: ${perSecond.toFixed(0)} req/s, ${cpu.toFixed(3)} ms CPU, p50 ${p50.toFixed(2)} ms${loud}${wrong}\n`;
}

/** Seconds of warm-up from which a run tells what targets cost once they are warm. */
const WARM = 5;

/** A run of the group `features` is a section of its own, and so is one of warm targets; neither sets a level. */
function write({ targets, rounds, duration, warmUp }: Options, ratios: Ratios, text: string): void {
  const measured =
    rounds === 1 ? `one round of ${duration} s` : `medians of ${rounds} rounds of ${duration} s`;
  const about = `${measured} after ${warmUp} s under the same load`;
  if (targets.join() === GROUPS['features']?.join()) {
    writeSection('features', about, text);
    return;
  }
  writeSection(warmUp < WARM ? 'compare' : 'warm', about, text);
  if (warmUp >= WARM) {
    return;
  }
  const own = Object.entries(ratios).map(([name, of]) => {
    const entries = Object.entries(of).filter(([target]) => target.startsWith('patchbay'));
    return [name, Object.fromEntries(entries)];
  });
  writeFileSync(LEVELS, `${JSON.stringify(Object.fromEntries(own), null, 2)}\n`);
}

function judged(
  { check }: Options,
  samples: readonly Sample[],
  gaps: readonly Gap[],
  ratios: Ratios,
): number {
  const mine = (target: string) => target.startsWith('patchbay');
  const wrong = samples.some(({ target, measured }) => mine(target) && measured.errors > 0);
  const missing = gaps.some(({ target }) => mine(target));
  if (!check) {
    return wrong || missing ? 1 : 0;
  }
  const levels = JSON.parse(readFileSync(LEVELS, 'utf8')) as Ratios;
  const worse = regressions(ratios, levels);
  const isUnjudged = !Object.values(ratios).some((of) => Object.keys(of).some(mine));
  process.stderr.write(worse.map((line) => `worse: ${line}\n`).join(''));
  process.stderr.write(isUnjudged ? 'nothing could be judged: no round of Patchbay and bare counts\n' : '');
  return worse.length > 0 || wrong || missing || isUnjudged ? 1 : 0;
}
