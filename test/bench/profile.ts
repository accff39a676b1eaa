import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measure } from './measure.ts';
import type { Options } from './options.ts';

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** What V8 writes with `--cpu-prof`, as far as it is read. */
export interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  /** Id of the node on top at each sample, and µs since the one before. */
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const FUNCTIONS = 30;
/** What no function of a program is. */
const IDLE = new Set(['(idle)', '(program)', '(root)']);

/**
 * Where the first target that is Patchbay spends its time in each case, without its start. Keeps the profiles: any viewer of
 * `.cpuprofile` draws the flames.
 */
export async function profile(options: Options): Promise<number> {
  const [target = 'patchbay'] = options.targets.filter((name) => name.startsWith('patchbay'));
  for (const name of options.cases) {
    const folder = mkdtempSync(join(tmpdir(), 'patchbay-profile-'));
    const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=500'];
    const { perSecond } = await measure(target, name, { ...options, flags });
    const [file] = existsSync(folder) ? readdirSync(folder) : [];
    if (file === undefined) {
      rmSync(folder, { recursive: true, force: true });
      process.stderr.write(`${target}, ${name}: it left no profile\n`);
      return 1;
    }
    const path = join(folder, file);
    const read = JSON.parse(readFileSync(path, 'utf8')) as CpuProfile;
    process.stdout.write(
      `${target}, ${name}: ${perSecond.toFixed(0)} req/s, ${path}\n\n${profiled(read, options.duration)}\n`,
    );
  }
  return 0;
}

/** Self time by room and by function in the last so many seconds, as tables, in percent of the time that was not idle. */
export function profiled({ nodes, samples, timeDeltas }: CpuProfile, seconds: number): string {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const rooms = new Map<string, number>();
  const functions = new Map<string, number>();
  let left = timeDeltas.reduce((sum, time) => sum + time, 0);
  let busy = 0;
  for (const [at, id] of samples.entries()) {
    const frame = frames.get(id);
    const time = timeDeltas[at] ?? 0;
    const isLate = left <= seconds * 1e6;
    left -= time;
    if (frame !== undefined && isLate && !IDLE.has(frame.functionName)) {
      busy += time;
      const room = roomOf(frame);
      const name = `\`${frame.functionName || '(anonymous)'}\` ${fileOf(frame)}`;
      rooms.set(room, (rooms.get(room) ?? 0) + time);
      functions.set(name, (functions.get(name) ?? 0) + time);
    }
  }
  const table = (title: string, times: ReadonlyMap<string, number>, most: number) =>
    [
      `| ${title} | % |`,
      '| --- | --- |',
      ...[...times]
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, most)
        .map(([name, time]) => `| ${name} | ${((time / busy) * 100).toFixed(1)} |`),
    ].join('\n');
  return `${table('room', rooms, rooms.size)}\n\n${table('function', functions, FUNCTIONS)}\n`;
}

/** A room of ours, a package, a module of Node, or what V8 and Node do inside. */
function roomOf({ url, functionName }: CallFrame): string {
  if (functionName === '(garbage collector)') {
    return 'garbage collection';
  }
  const [, dependency] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
  const [, ours] = /\/(?:src|dist)\/(?:(\w+)\/)?[^/]+$/.exec(url) ?? [];
  if (dependency !== undefined) {
    return dependency;
  }
  if (url.startsWith('node:')) {
    return url.replace(/^node:internal\/([^/]+).*/, 'node:$1');
  }
  return url === '' ? 'native code' : `src/${ours ?? ''}`;
}

function fileOf({ url, lineNumber }: CallFrame): string {
  const short = url.replace(/.*\/node_modules\//, '').replace(/.*\/(?:src|dist)\//, 'src/');
  return short === '' ? '' : `${short}:${lineNumber + 1}`;
}
