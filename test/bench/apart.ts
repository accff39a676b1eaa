import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { installed } from './install.ts';
import { type Measured, type MeasureOptions, measure } from './measure.ts';
import { Absent } from './target.ts';
import { targetOf } from './targets.ts';

/** What `node apart.ts JSON` prints. */
type Outcome = { readonly measured: Measured } | { readonly absent: string } | { readonly failed: string };

/** As {@link measure}; a target that talks to the internet by itself, with all that it needs, where there is none. */
export async function measureSafely(
  name: string,
  caseName: string,
  options: MeasureOptions,
): Promise<Measured> {
  const { apart } = targetOf(name.split(':')[0] ?? '');
  if (apart === undefined) {
    return measure(name, caseName, options);
  }
  await installed(apart.name, apart.version);
  const outcome = await inNamespace(name, caseName, options);
  if ('absent' in outcome) {
    throw new Absent(outcome.absent);
  }
  if ('failed' in outcome) {
    throw new Error(outcome.failed);
  }
  return outcome.measured;
}

/** In a network namespace that has its own loopback and nothing else (Linux). */
async function inNamespace(...asked: Parameters<typeof measure>): Promise<Outcome> {
  const words = [process.execPath, import.meta.filename, JSON.stringify(asked)];
  const inside = ['sh', '-c', 'ip link set lo up && exec "$0" "$@"', ...words];
  const kind = process.getuid?.() === 0 ? '-n' : '-rn';
  const child = spawn('unshare', [kind, ...inside], { stdio: ['ignore', 'pipe', 'inherit'] });
  const fault = new Promise<string | undefined>((resolve) => {
    child.once('error', ({ message }) => resolve(message));
    child.once('close', (code) => resolve(code === 0 ? undefined : `unshare ended with ${code}`));
  });
  const [printed, failed] = await Promise.all([text(child.stdout), fault]);
  return failed === undefined
    ? (JSON.parse(printed) as Outcome)
    : { absent: `there is no network namespace for it: ${failed}` };
}

async function outcomeOf(asked: Parameters<typeof measure>): Promise<Outcome> {
  try {
    return { measured: await measure(...asked) };
  } catch (thrown) {
    return thrown instanceof Absent ? { absent: thrown.message } : { failed: String(thrown) };
  }
}

if (process.argv[1] === import.meta.filename) {
  const asked = JSON.parse(process.argv[2] ?? '[]') as Parameters<typeof measure>;
  process.stdout.write(JSON.stringify(await outcomeOf(asked)));
}
